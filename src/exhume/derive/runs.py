"""Stretches of arrays."""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import I64, Bool


def positions(start: I64, count: I64) -> I64:
    """All positions in start[i] : start[i] + count[i], of one stretch after the other."""
    inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(start, count) + inside


def where_true(flags: Bool) -> list[tuple[int, int]]:
    """Where consecutive ones begin, and where they end (not included)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
