"""What held at that time: events joined with the last statement before, by whole columns."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64
from exhume.perf.joins import contiguous, library

UNKNOWN = -1


def last_before(key: I64, position: I64, asked_key: I64, asked_position: I64) -> I64:
    """For each question, the row with the same key and the greatest position not after it; or -1.

    Of rows at one position the last in order counts.
    """
    rows, questions = contiguous([key, position]), contiguous([asked_key, asked_position])
    found = np.empty(len(asked_key), np.int64)
    if not library().xh_last_before(
        *(column.ctypes.data for column in rows),
        len(key),
        *(column.ctypes.data for column in questions),
        len(found),
        found.ctypes.data,
    ):
        raise MemoryError("no memory to look up what held when")
    return found


class Statement(Struct, frozen=True):
    """From this time on, this key (a thread or process id) has this value."""

    time: I64
    key: I64
    value: I64

    def at(self, key: I64, time: I64) -> I64:
        if not len(self.value):
            return np.full(len(key), UNKNOWN, np.int64)
        row = last_before(self.key, self.time, key, time)
        return np.where(row >= 0, self.value[np.maximum(row, 0)], UNKNOWN)


_MAX_DOUBLINGS = 32
"""Generations of forks in one chunk: more than there are process ids."""


def with_inheritance(said: Statement, fork_time: I64, child: I64, parent: I64) -> Statement:
    """A child has what its parent had when it was forked, until something is said of itself.

    Of an unknown parent it has nothing, even if something was said of its id in a former life.
    """
    forks = len(child)
    # Forks first: what is said of a child at the very time of its fork overrides.
    time = np.concatenate([fork_time, said.time])
    key = np.concatenate([child, said.key])
    value = np.concatenate([np.full(forks, UNKNOWN, np.int64), said.value])
    # Which row tells of the parent: where that is a fork itself, the one that tells of its parent,
    # and so on. Following all at once reaches twice as many generations in each round.
    told_by = np.concatenate(
        [last_before(key, time, parent, fork_time), np.arange(forks, len(key))]
    )
    for _ in range(_MAX_DOUBLINGS):
        further = np.where(told_by >= 0, told_by[told_by], UNKNOWN)
        if np.array_equal(further, told_by):
            break
        told_by = further
    return Statement(time, key, np.where(told_by >= 0, value[told_by], UNKNOWN))


NOTHING_SAID = Statement(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
