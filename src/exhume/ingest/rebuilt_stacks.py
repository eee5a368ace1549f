"""Stacks of an epoch, put together anew of what was recorded of them here and there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive.runs import positions
from exhume.model.arrays import I64, U64
from exhume.perf.dataorder import Epoch

USER = np.uint64(2**64 - 512)
"""PERF_CONTEXT_USER: addresses of a program follow."""


class Stretches(Struct, frozen=True):
    """Of each stack words[start[i] : start[i] + count[i]]."""

    words: U64
    start: I64
    count: I64


def rebuilt(epoch: Epoch, which: I64, parts: Sequence[Stretches]) -> Epoch:
    """`which`: the stack of each sample, which is its stretches of all parts, one after another."""
    count = sum((part.count for part in parts), np.zeros(len(parts[0].count), np.int64))
    begin = np.cumsum(count) - count
    made, at = np.empty(int(count.sum()), np.uint64), begin.copy()
    for part in parts:
        made[positions(at, part.count)] = part.words[positions(part.start, part.count)]
        at += part.count
    return replace(epoch, stack=which, words=(made,), word_start=begin, word_count=count)
