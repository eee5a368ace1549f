"""Percentages as mpstat prints them → the jiffies that they were made of.

mpstat divides whole jiffies by their sum and rounds: with few jiffies in an interval there is only
one way to get what it printed, and that is found again. Where none fits (values that were averaged
or made up) the nearest whole jiffies are taken, so that their sums stay right.
"""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import F64, I64, Bool

_NEAR, _FURTHEST = 4, 60
"""How far from what the interval should hold the sum is looked for: ticks are lost, and made up."""
_TRIED_FIRST = 256
_MOST = 1 << 40


def jiffies(percent: I64, expected: I64, unit: int) -> tuple[I64, Bool]:
    """Whole jiffies of each mode, and for which rows none were found.

    `percent`: shape (rows, modes), in steps of one over `unit`. `expected`: shape (rows,): how many
    there should be.
    """
    found = np.zeros(percent.shape, np.int64)
    expected = np.clip(expected, 1, _MOST)
    left = _search(found, np.arange(len(percent)), percent, expected, unit, range(_NEAR + 1))
    far = range(_NEAR + 1, _FURTHEST + 1)
    # Numbers that were made up fit nowhere: a few of them tell, before all are tried everywhere.
    some, rest = left[:_TRIED_FIRST], left[_TRIED_FIRST:]
    still = _search(found, some, percent, expected, unit, far)
    if len(rest) and len(still) < len(some) / 2:
        rest = _search(found, rest, percent, expected, unit, far)
    is_left = np.zeros(len(percent), np.bool_)
    is_left[still] = is_left[rest] = True
    return found, is_left


def _search(found: I64, left: I64, percent: I64, expected: I64, unit: int, distances: range) -> I64:
    """Fills in what fits; the rows that nothing did."""
    for distance in distances:
        for sign in (1, -1) if distance else (1,):
            if not len(left):
                return left
            tried, fits = _tried(percent[left], expected[left] + sign * distance, unit)
            found[left[fits]] = tried[fits]
            left = left[~fits]
    return left


def _tried(percent: I64, total: I64, unit: int) -> tuple[I64, Bool]:
    """Whole jiffies for that sum, and whether mpstat would have printed the same for them."""
    whole = 100 * unit
    sums = np.maximum(total, 1)[:, np.newaxis]
    tried: I64 = (percent * sums + whole // 2) // whole
    # Rounded to what is printed, half a step either way; a step is 1 / unit percent.
    error = np.abs(tried * whole - percent * sums) * 2
    fits: Bool = (total > 0) & (tried.sum(axis=1) == total) & (error <= sums).all(axis=1)
    return tried, fits


def spread(percent: I64, expected: I64, unit: int, core: I64, owed: F64) -> I64:
    """The nearest whole jiffies of rows that none fit. What was cut off a row goes to the next.

    `owed`: shape (cores, modes): the fractions so far, by core; brought up to date.
    """
    found = np.zeros(percent.shape, np.int64)
    order = np.argsort(core, kind="stable")
    exact = percent[order] * (np.clip(expected, 1, _MOST)[order, np.newaxis] / (100 * unit))
    first = np.flatnonzero(np.diff(core[order], prepend=-1))
    for begin, end in zip(first.tolist(), [*first[1:].tolist(), len(order)], strict=True):
        one = int(core[order[begin]])
        sums = owed[one] + np.cumsum(exact[begin:end], axis=0)
        whole = np.floor(sums + 0.5)
        owed[one] = sums[-1] - whole[-1]
        found[order[begin:end]] = np.diff(whole, axis=0, prepend=0).astype(np.int64)
    return np.maximum(found, 0)
