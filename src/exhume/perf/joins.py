"""The C joins (joins.c, stacks.c): rows kept from call to call, and how the library is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np

from exhume.clibrary import C_I64, C_INT, C_U32, C_U64, POINTER, Functions, load
from exhume.model.arrays import I64

ABI = 8
FAILED = 0xFFFF_FFFF
"""There was no memory for an answer."""
MOST_ROWS = (1 << 32) - 3
"""Two of the numbers say why there is none."""


@cache
def library() -> ctypes.CDLL:
    functions: Functions = {
        "xh_distinct": (C_U32, [POINTER, C_U32, C_U32, POINTER, POINTER]),
        "xh_rows_new": (POINTER, [C_U32]),
        "xh_rows_free": (None, [POINTER]),
        "xh_rows_count": (C_U32, [POINTER]),
        "xh_rows_add": (C_INT, [POINTER, POINTER, C_U64, C_U32, POINTER]),
        "xh_rows_column": (None, [POINTER, C_U32, C_U32, POINTER]),
        "xh_last_before": (C_INT, [POINTER, POINTER, C_U32, POINTER, POINTER, C_U64, POINTER]),
        "xh_pieces": (C_U32, [*[POINTER] * 3, C_U32, *[POINTER] * 3]),
        "xh_places_new": (POINTER, []),
        "xh_places_free": (None, [POINTER]),
        "xh_places_count": (C_U32, [POINTER]),
        "xh_places_forget": (None, [POINTER]),
        "xh_places_cells": (None, [POINTER, C_U32, POINTER, POINTER]),
        "xh_places_name": (None, [POINTER, C_U32, POINTER]),
        "xh_tree_new": (POINTER, []),
        "xh_tree_free": (None, [POINTER]),
        "xh_tree_count": (C_U32, [POINTER]),
        "xh_tree_nodes": (POINTER, [POINTER]),
        "xh_tree_children": (C_INT, [POINTER, POINTER, POINTER, C_U64, POINTER]),
        "xh_tree_modes": (POINTER, [POINTER]),
        "xh_tree_name": (C_I64, [POINTER] * 7),
        "xh_lone_user_words": (None, [*[POINTER] * 3, C_U64, POINTER]),
    }
    return load("perf/_joins", ("xh_joins_abi", ABI), functions)


def contiguous(columns: Sequence[I64]) -> list[I64]:
    """As C takes them: 64 bits a value, one after the other, all of one length."""
    held = [np.ascontiguousarray(column, np.int64) for column in columns]
    if any(len(column) != len(held[0]) for column in held):
        raise ValueError("the columns are of different lengths")
    return held


def pointers(columns: Sequence[I64]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(columns))(*(column.ctypes.data for column in columns))


class Rows:
    """Distinct rows of whole numbers, numbered as they come first, at 8 bytes a number.

    In a dictionary the 100,000 threads of a busy segment were a large part of the closer's memory.
    """

    def __init__(self, width: int) -> None:
        self._library = library()
        self._width = width
        self._handle = self._library.xh_rows_new(width)
        if not self._handle:
            raise MemoryError("no memory for a table of rows")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.xh_rows_free(self._handle)

    def __len__(self) -> int:
        return int(self._library.xh_rows_count(self._handle))

    def add(self, *columns: I64, most: int = MOST_ROWS) -> I64:
        """The number of each row; -1 of new ones where there are `most` already."""
        if len(columns) != self._width:
            raise ValueError(f"rows of {self._width} columns, not of {len(columns)}")
        held = contiguous(columns)
        numbers = np.empty(len(held[0]), np.int64)
        if not self._library.xh_rows_add(
            self._handle, pointers(held), len(numbers), most, numbers.ctypes.data
        ):
            raise MemoryError("no memory for more rows")
        return numbers

    def column(self, index: int, begin: int = 0) -> I64:
        """One column of the rows from that number on."""
        if not 0 <= index < self._width:
            raise IndexError(index)
        found = np.empty(max(0, len(self) - begin), np.int64)
        self._library.xh_rows_column(self._handle, index, begin, found.ctypes.data)
        return found
