"""The C joins (joins.c, paths.c): rows kept from call to call, and how the library is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np

from exhume.errors import EXIT_INTERNAL, ExhumeError
from exhume.model.arrays import I64

ABI = 3


@cache
def library() -> ctypes.CDLL:
    folder = Path(__file__).parent
    for suffix in EXTENSION_SUFFIXES:
        path = folder / f"_joins{suffix}"
        if path.exists():
            library = ctypes.CDLL(str(path))
            if library.xh_joins_abi() == ABI:
                break
    else:
        raise ExhumeError(
            "the native joins are missing or of another version",
            todo="run `make setup` (it compiles src/exhume/perf/joins.c)",
            exit_code=EXIT_INTERNAL,
        )
    pointer, u64, u32, i32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int
    signatures: Mapping[str, tuple[object, list[object]]] = {
        "xh_distinct": (u32, [pointer, u32, u32, pointer, pointer]),
        "xh_rows_new": (pointer, [u32]),
        "xh_rows_free": (None, [pointer]),
        "xh_rows_count": (u32, [pointer]),
        "xh_rows_add": (i32, [pointer, pointer, u64, pointer]),
        "xh_rows_column": (None, [pointer, u32, u32, pointer]),
        "xh_last_before": (i32, [pointer, pointer, u32, pointer, pointer, u64, pointer]),
        "xh_places_new": (pointer, []),
        "xh_places_free": (None, [pointer]),
        "xh_places_count": (u32, [pointer]),
        "xh_places_columns": (None, [pointer] * 4),
        "xh_places_add": (i32, [*[pointer] * 5, u64, *[pointer] * 3]),
        "xh_tree_new": (pointer, []),
        "xh_tree_free": (None, [pointer]),
        "xh_tree_count": (u32, [pointer]),
        "xh_tree_nodes": (pointer, [pointer]),
        "xh_tree_children": (i32, [pointer, pointer, pointer, u64, pointer]),
        "xh_tree_join": (i32, [*[pointer] * 8, u64, pointer, pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


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

    def add(self, *columns: I64) -> I64:
        """The number of each row."""
        if len(columns) != self._width:
            raise ValueError(f"rows of {self._width} columns, not of {len(columns)}")
        held = contiguous(columns)
        numbers = np.empty(len(held[0]), np.int64)
        if not self._library.xh_rows_add(
            self._handle, pointers(held), len(numbers), numbers.ctypes.data
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
