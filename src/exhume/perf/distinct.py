"""Equal rows of several columns, told by hashing instead of sorting."""

from __future__ import annotations

import ctypes

import numpy as np

from exhume.model.arrays import I64, U32
from exhume.perf.native import library

_FAILED = 0xFFFF_FFFF


def distinct_rows(*columns: I64) -> tuple[U32, U32]:
    """Of each distinct row its first index, and for each row which distinct one it is."""
    count = len(columns[0])
    held = [np.ascontiguousarray(column, np.int64) for column in columns]
    if any(len(column) != count for column in held):
        raise ValueError("the columns are of different lengths")
    pointers = (ctypes.c_void_p * len(held))(*(column.ctypes.data for column in held))
    which, first = np.empty(count, np.uint32), np.empty(count, np.uint32)
    found = library().xh_distinct(pointers, len(held), count, which.ctypes.data, first.ctypes.data)
    if found == _FAILED:
        raise MemoryError("no memory to compare rows")
    return first[:found].copy(), which
