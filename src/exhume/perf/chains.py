"""Stacks of addresses, where they lie: C goes from one to the next by where its words begin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64, U64
from exhume.perf.joins import library


class Chains(Struct, frozen=True):
    """Stack i is count[i] words from the address at[i] on, leaf first, with perf's markers."""

    at: U64
    count: I64
    words: tuple[U64, ...]
    """So that they stay where they are."""

    def __len__(self) -> int:
        return len(self.count)

    def lone_user_words(self, stacks: I64) -> U64:
        """Of each of these the program's address, where the kernel was entered from it and nothing
        is known of its callers; else 0."""
        numbers = np.ascontiguousarray(stacks, np.int64)
        found = np.empty(len(numbers), np.uint64)
        library().xh_lone_user_words(
            self.at.ctypes.data, self.count.ctypes.data, numbers.ctypes.data, len(numbers),
            found.ctypes.data,
        )  # fmt: skip
        return found


def chains_of(words: Sequence[U64], start: I64, count: I64) -> Chains:
    """Stack i is words[start[i] : start[i] + count[i]].

    The words may come in parts: `start` counts through them all, and no stack is in two.
    """
    held = tuple(np.ascontiguousarray(part, np.uint64) for part in words)
    borders = np.cumsum([0, *map(len, held)])
    part = np.searchsorted(borders[1:-1], start, "right")
    if len(start) and (
        min(int(start.min()), int(count.min())) < 0 or (start > borders[part + 1] - count).any()
    ):
        raise ValueError("a stack reaches beyond the words")
    # Where the first word of all would lie, were each part as long as from the beginning.
    base = (
        np.array([one.ctypes.data for one in held] or [0], np.int64) - 8 * borders[: len(held) or 1]
    )
    at = base.take(part) + 8 * start
    return Chains(at.view(np.uint64), np.ascontiguousarray(count, np.int64), held)
