"""Equal rows of several columns, told by hashing instead of sorting."""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import I64
from exhume.perf.joins import FAILED, contiguous, library, pointers


def distinct_rows(*columns: I64) -> tuple[I64, I64]:
    """Of each distinct row its first index, and for each row which distinct one it is.

    Both are meant to look up by: numpy is three times slower at that with 32-bit numbers.
    """
    held = contiguous(columns)
    count = len(held[0])
    which, first = np.empty(count, np.int64), np.empty(count, np.int64)
    found = library().xh_distinct(
        pointers(held), len(held), count, which.ctypes.data, first.ctypes.data
    )
    if found == FAILED:
        raise MemoryError("no memory to compare rows")
    return first[:found].copy(), which
