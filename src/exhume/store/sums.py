"""The C side of roll-ups (sums.c): samples summed up by second, minute and place in one pass."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exhume.clibrary import C_U64, POINTER, Functions, load
from exhume.errors import ExhumeError
from exhume.model.arrays import I32, I64, U8, U32
from exhume.model.sample import Samples

ABI = 1
_FAILED = (1 << 64) - 1
_ROWS: tuple[tuple[str, type[np.generic]], ...] = (
    ("second", np.int32),
    ("core", np.uint16),
    ("process", np.int32),
    ("user", np.uint16),
    ("system", np.uint16),
    ("weight_us", np.uint32),
)
"""In the order of xr_rows in sums.c."""


class _Samples(ctypes.Structure):
    _fields_ = [
        ("n", ctypes.c_uint64),
        *((name, POINTER) for name in ("time", "core", "thread", "stack")),
    ]


class _Weights(ctypes.Structure):
    _fields_ = [("each", POINTER), ("one", ctypes.c_int64)]


class _Rows(ctypes.Structure):
    _fields_ = [(name, POINTER) for name, _ in _ROWS]


@cache
def _library() -> ctypes.CDLL:
    time = ctypes.c_int64
    functions: Functions = {
        "xr_seconds_new": (POINTER, [C_U64]),
        "xr_seconds_free": (None, [POINTER]),
        "xr_seconds_open": (C_U64, [POINTER]),
        "xr_seconds_close": (C_U64, [POINTER, POINTER, C_U64]),
        "xr_seconds_add": (
            C_U64,
            [POINTER, POINTER, time, POINTER, C_U64, POINTER, C_U64, POINTER, POINTER],
        ),
        "xr_minutes_add": (C_U64, [POINTER, time, C_U64, C_U64, POINTER, POINTER]),
        "xr_places_add": (
            C_U64,
            [POINTER, C_U64, C_U64, POINTER, C_U64, POINTER, POINTER, C_U64, POINTER],
        ),
    }
    return load("store/_sums", ("xr_abi", ABI), functions)


class Weights:
    """What each sample stands for: one by one, or the same for all."""

    def __init__(self, each: I64 | None, one: int) -> None:
        self._each = None if each is None else np.ascontiguousarray(each, np.int64)
        self.c = _Weights(None if self._each is None else self._each.ctypes.data, one)


class Piece:
    """Samples in (core, time) order, as C takes them."""

    def __init__(self, samples: Samples) -> None:
        self._columns: list[NDArray[Any]] = [
            np.ascontiguousarray(samples.time_ns, np.int64),
            np.ascontiguousarray(samples.core, np.uint16),
            np.ascontiguousarray(samples.thread, np.int32),
            np.ascontiguousarray(samples.stack, np.int32),
        ]
        self.c = _Samples(len(samples), *(column.ctypes.data for column in self._columns))

    def __len__(self) -> int:
        return len(self._columns[0])


class Seconds:
    """Rows of (core, second, process) in the making; those of the last second stay open."""

    def __init__(self, start_ns: int, process_of: I32, processes: int, mode: U8) -> None:
        self._start_ns = start_ns
        self._process_of = np.ascontiguousarray(process_of, np.int32)
        self._mode = np.ascontiguousarray(mode, np.uint8)
        self._state = _library().xr_seconds_new(processes)
        if not self._state:
            raise MemoryError("no memory to sum up processes")

    def __del__(self) -> None:
        if getattr(self, "_state", None):
            _library().xr_seconds_free(self._state)

    def add(self, piece: Piece, weights: Weights) -> list[NDArray[Any]]:
        """The rows that are closed by it, column by column: second, core, process, user, …"""
        columns, rows = self._room(len(piece))
        return _cut(
            columns,
            _library().xr_seconds_add(
                self._state, ctypes.addressof(piece.c), self._start_ns,
                self._process_of.ctypes.data, len(self._process_of), self._mode.ctypes.data,
                len(self._mode), ctypes.addressof(weights.c), ctypes.addressof(rows),
            ),
        )  # fmt: skip

    def close(self) -> list[NDArray[Any]]:
        columns, rows = self._room(0)
        return _cut(columns, _library().xr_seconds_close(self._state, ctypes.addressof(rows), 0))

    def _room(self, more: int) -> tuple[list[NDArray[Any]], _Rows]:
        count = more + _library().xr_seconds_open(self._state)
        columns = [np.empty(count, dtype) for _, dtype in _ROWS]
        return columns, _Rows(*(column.ctypes.data for column in columns))


def add_minutes(
    piece: Piece, start_ns: int, minutes: int, nodes: int, weights: Weights, counts: U32
) -> None:
    """Samples of that one weight, into counts by minute and node."""
    _checked(
        _library().xr_minutes_add(
            ctypes.addressof(piece.c), start_ns, minutes, nodes, ctypes.addressof(weights.c),
            counts.ctypes.data,
        )
    )  # fmt: skip


def add_places(
    piece: Piece, rows: tuple[int, int], edges: I64, cell: I64, mode: U8, counts: U32
) -> None:
    """Rows of one core. `cell`: where the counts of a place begin, by mode; there is one before
    each edge, and one behind the last."""
    _checked(
        _library().xr_places_add(
            ctypes.addressof(piece.c), *rows, edges.ctypes.data, len(edges), cell.ctypes.data,
            mode.ctypes.data, len(mode), counts.ctypes.data,
        )
    )  # fmt: skip


def _cut(columns: Sequence[NDArray[Any]], count: int) -> list[NDArray[Any]]:
    """Copies: what is kept of a piece is little, and there was room for all of it."""
    return [column[: _checked(count)].copy() for column in columns]


def _checked(found: int) -> int:
    if found == _FAILED:
        raise ExhumeError(
            "samples name threads or stacks that are not there",
            todo="the segment is damaged: remove it",
        )
    return found
