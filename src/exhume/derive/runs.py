"""Stretches of arrays."""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import I64


def positions(start: I64, count: I64) -> I64:
    """All positions in start[i] : start[i] + count[i], of one stretch after the other."""
    inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(start, count) + inside
