"""What is mapped where in each address space, as the kernel told of it: of mappings that end nobody
tells, so each is there until another takes its place."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from exhume.derive.sets import is_in
from exhume.model.arrays import I64, U64, Bool
from exhume.perf.asof import last_before
from exhume.perf.joins import FAILED, contiguous, library
from exhume.perf.records import Mappings


class Maps(Struct):
    """What is mapped where, of each address space."""

    space: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    start: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    end: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    offset: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    file: U64 = field(default_factory=lambda: np.empty(0, np.uint64))

    def extend(self, space: I64, mappings: Mappings) -> None:
        self.space = np.concatenate([self.space, space])
        self.start = np.concatenate([self.start, mappings.start])
        self.end = np.concatenate([self.end, mappings.start + mappings.length])
        self.offset = np.concatenate([self.offset, mappings.file_offset])
        self.file = np.concatenate([self.file, mappings.file_hash])

    def at(self, space: I64, address: U64) -> tuple[U64, U64]:
        """The mapped file (its hash, 0 for none) and the offset in it at each address."""
        # As signed numbers, like C: else all that lies below the first mapping of a process would
        # be in the one at the very end, which is the kernel's [vsyscall].
        asked, end = address.view(np.int64), self.end.view(np.int64)
        row = last_before(self.space, self.start.view(np.int64), space, asked)
        if not len(self.space):
            return np.zeros(len(address), np.uint64), address
        at = np.maximum(row, 0)
        inside = (row >= 0) & (asked < end[at])
        offset = address - self.start[at] + self.offset[at]
        return np.where(inside, self.file[at], np.uint64(0)), np.where(inside, offset, address)

    def of(self, spaces: I64) -> Maps:
        return self._some(is_in(self.space, spaces))

    def newest(self, count: int) -> Maps:
        return self._some(slice(max(0, len(self.space) - count), None))

    def _some(self, rows: Bool | slice) -> Maps:
        return Maps(
            self.space[rows], self.start[rows], self.end[rows], self.offset[rows], self.file[rows]
        )

    def with_remains(self) -> Maps:
        """Also what is left of a mapping above another that lies in it, as perf keeps it.

        A page of a library that is made writable to be patched is told as a mapping of its own, and
        so is code that is moved to huge pages, or a JIT's in its arena. `at` would find the inner
        one for all that lies above it.
        """
        start, end = self.start.view(np.int64), self.end.view(np.int64)
        order = np.lexsort((start, self.space))
        space, start, end = (column[order] for column in (self.space, start, end))
        if not ((space[1:] == space[:-1]) & (start[1:] < end[:-1])).any():
            return self
        held = contiguous([space, start, end])
        columns = [np.empty(2 * len(order), np.int64) for _ in held]
        count = library().xh_pieces(
            *(column.ctypes.data for column in held),
            len(order),
            *(column.ctypes.data for column in columns),
        )
        if count == FAILED:
            raise MemoryError("no memory for what is mapped in what")
        row, start, end = (column[:count] for column in columns)
        row = order[row]
        begin = start.view(np.uint64)
        return Maps(
            self.space[row],
            begin,
            end.view(np.uint64),
            self.offset[row] + (begin - self.start[row]),
            self.file[row],
        )
