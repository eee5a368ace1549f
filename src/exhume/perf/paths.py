"""Stacks of addresses → paths of places of code, in C: what is the same place has one number."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I32, I64, U8, U32, U64
from exhume.perf.joins import contiguous, library


class PlaceKind(IntEnum):
    """As in paths.c."""

    USER = 1
    KERNEL = 2


class Places(Struct, frozen=True):
    kind: U8
    space: I32
    """The address space that a user address is of; -1 for the kernel's."""
    address: U64
    """Return addresses already one byte earlier, so that they lie in the calling function."""

    def __len__(self) -> int:
        return len(self.kind)


class Paths(Struct, frozen=True):
    """Path i is steps[start[i] : start[i] + length[i]]: numbers of places, root first."""

    places: Places
    steps: U32
    start: I64
    length: I64

    def __len__(self) -> int:
        return len(self.start)


def paths_of(words: Sequence[U64], start: I64, count: I64, space: I64) -> Paths:
    """Stack i is words[start[i] : start[i] + count[i]], leaf first, with perf's context markers.

    The words may come in parts: `start` counts through them all, and no stack is in two.
    """
    borders = np.cumsum([0, *map(len, words)])
    part_of = np.searchsorted(borders[1:-1], start, "right")
    if len(start) and (
        min(int(start.min()), int(count.min())) < 0 or (start > borders[part_of + 1] - count).any()
    ):
        raise ValueError("a stack reaches beyond the words")
    begin, length = np.cumsum(count) - count, np.empty(len(count), np.int64)
    steps = np.empty(int(count.sum()), np.uint32)
    native = library()
    handle = native.xh_places_new()
    try:
        is_done = bool(handle)
        for number, part in enumerate(words):
            rows = np.flatnonzero(part_of == number)
            held = np.ascontiguousarray(part, np.uint64)
            columns = contiguous(
                [start[rows] - borders[number], count[rows], space[rows], begin[rows]]
            )
            *stacks, to = (column.ctypes.data for column in columns)
            found = np.empty(len(rows), np.int64)
            is_done = is_done and native.xh_places_add(
                handle, held.ctypes.data, *stacks, len(rows), to, steps.ctypes.data,
                found.ctypes.data,
            )  # fmt: skip
            length[rows] = found
        if not is_done:
            raise MemoryError("no memory for places of code")
        return Paths(_places(handle), steps, begin, length)
    finally:
        native.xh_places_free(handle)


def _places(handle: int) -> Places:
    count = int(library().xh_places_count(handle))
    address, space = np.empty(count, np.uint64), np.empty(count, np.int32)
    kind = np.empty(count, np.uint8)
    library().xh_places_columns(handle, address.ctypes.data, space.ctypes.data, kind.ctypes.data)
    return Places(kind, space, address)
