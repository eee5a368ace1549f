"""Threads whose name perf does not know, in its text: `:812`, or `:-1` of one that is gone already.

They have their process's name, where another thread of it, or an earlier line, tells that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from exhume.model.arrays import I64, Bool

_NO_NAME = re.compile(r":-?\d{1,10}")


def is_none(name: str) -> bool:
    return _NO_NAME.fullmatch(name) is not None


def named(rows: Sequence[I64], known: Sequence[I64], has_no_name: Bool) -> I64:
    """Of `rows` (process, thread, number of its name) the names; `known`: the same of those that
    came before. `has_no_name`: of each number of a name, whether it is none."""
    pid, _, comm = rows
    unknown = has_no_name[comm]
    pids, tids, comms = (np.concatenate(both) for both in zip(known, rows, strict=True))
    found = comm.copy()
    for process in np.unique(pid[unknown]).tolist():
        own = np.flatnonzero((pids == process) & ~has_no_name[comms])
        if process > 0 and len(own):
            first = own[np.argmax(tids[own] == process)]
            found[unknown & (pid == process)] = comms[first]
    return found
