"""Sums over a prefix tree of stacks: one sweep over its levels, never stack by stack."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from exhume.model.arrays import I32, I64, Bool


def level_starts(parent: I32) -> list[int]:
    """Where each level of a breadth-first tree begins; the last entry is its length."""
    count = len(parent)
    starts = [0, min(1, count)]
    while starts[-1] < count:
        begin = starts[-1]
        later = parent[begin + 1 :]  # in order: breadth first
        starts.append(begin + 1 + int(np.searchsorted(later, parent.dtype.type(begin))))
    return starts


def sum_up(parent: I32, own: I64, starts: list[int]) -> I64:
    """What each node and everything below it holds."""
    total = own.astype(np.int64, copy=True)
    for above, (begin, end) in reversed(list(zip(starts, pairwise(starts[1:]), strict=False))):
        under = parent[begin:end] - above
        # Weights are whole nanoseconds far below 2**53, so float sums are exact.
        sums = np.bincount(under, total[begin:end], minlength=begin - above)
        total[above:begin] += sums.astype(np.int64)
    return total


def carried_down(parent: I32, values: I32, starts: list[int], from_level: int) -> I32:
    """Every node's value of its ancestor on one level: the process of each stack, with level 1."""
    out = values.copy()
    for begin, end in list(pairwise(starts))[from_level + 1 :]:
        out[begin:end] = out[parent[begin:end]]
    return out


def outermost(parent: I32, frame: I32) -> Bool:
    """Nodes with no ancestor of the same frame: sums over these count recursion once."""
    first = np.ones(len(parent), np.bool_)
    nodes = np.arange(1, len(parent), dtype=np.int32)
    ancestors = parent[1:]
    while len(nodes):
        same = frame[ancestors] == frame[nodes]
        first[nodes[same]] = False
        going_on = ~same & (ancestors > 0)
        nodes, ancestors = nodes[going_on], parent[ancestors[going_on]]
    return first
