"""Raw symbols from any reader → one `SymbolTable`: ordered, one name an address, all sized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from exhume.model.arrays import I64, U8, U16, U32, U64, Bool
from exhume.perf.symbols.names import MAX_NAME_BYTES, gather
from exhume.perf.symbols.table import NOWHERE, LoadSegment, SymbolTable

Scalar = TypeVar("Scalar", bound=np.generic)

MAX_SYMBOLS = 2_000_000
MAX_NAMES_BYTES = 64 << 20

# `Symbols.rank`: of several names for one address the lowest wins.
GLOBAL, WEAK, LOCAL = 0, 1, 2
NOTYPE = 4
"""Added to the binding of a label that does not say it is a function."""
UNKNOWN_SIZE_BYTES = 4096
"""How far a symbol without a size may reach where nothing else says."""


class Symbols(Struct, frozen=True):
    """What a reader found, in any order, with names where they lie: nothing is copied yet."""

    start: U64
    size: U64
    """0 where not known: the symbol then extends to the next, but not beyond `limit`."""
    limit: U64
    """The end of what it lies in (section, segment)."""
    rank: U8
    name_start: I64
    name_end: I64
    blob: bytes
    module: U16 | None = None

    def __len__(self) -> int:
        return len(self.start)

    def where(self, mask: Bool) -> Symbols:
        return replace(
            self,
            start=self.start[mask],
            size=self.size[mask],
            limit=self.limit[mask],
            rank=self.rank[mask],
            name_start=self.name_start[mask],
            name_end=self.name_end[mask],
            module=None if self.module is None else self.module[mask],
        )


def build(
    pieces: Sequence[Symbols],
    load_segments: Sequence[LoadSegment] = (),
    modules: Sequence[str] = ("",),
) -> SymbolTable:
    """Earlier pieces win where two names are equally good."""
    pieces = list(_bounded(pieces))
    count = sum(map(len, pieces))
    if not count:
        none = np.zeros(0, np.uint64)
        empty = (none, none, np.zeros(1, np.uint32), b"", np.zeros(0, np.uint16))
        return SymbolTable(*empty, tuple(modules), tuple(load_segments))
    start = _joined([p.start for p in pieces])
    size = _joined([p.size for p in pieces])
    limit = _joined([p.limit for p in pieces])
    rows: I64 | slice = slice(None)
    longest = size
    if not (start[1:] > start[:-1]).all():
        order = np.argsort(start, kind="stable")
        rows, group = _one_per_start(start, _preference(pieces, size), order)
        # Aliases of different length: the code belongs to that start up to the longest end.
        longest = np.maximum.reduceat(size[order], group)
    inside = _labels_inside_functions(start[rows], longest)
    if inside.any():
        rows, longest = np.arange(count)[rows][~inside], longest[~inside]
    names, name_offset = _gather(pieces, rows)
    return SymbolTable(
        start=start[rows],
        end=_ends(start[rows], longest, limit[rows]),
        name_offset=name_offset,
        names=names,
        module=_joined([_modules_of(p) for p in pieces])[rows],
        modules=tuple(modules),
        load_segments=tuple(load_segments),
    )


def _joined(columns: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    """One after the other; of one alone no copy is made."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def raw(table: SymbolTable) -> Symbols:
    """A finished table as one of the pieces of another."""
    count = len(table)
    return Symbols(
        start=table.start,
        size=table.end - table.start,
        limit=table.end,
        rank=np.zeros(count, np.uint8),
        name_start=table.name_offset[:-1].astype(np.int64),
        name_end=table.name_offset[1:].astype(np.int64),
        blob=table.names,
        module=table.module,
    )


def of_rows(
    rows: Sequence[tuple[int, int, str]], rank: int = GLOBAL, module: U16 | None = None
) -> Symbols:
    """Symbols from (start, size, name), for readers whose input is small text."""
    encoded = [name.encode("utf-8", "replace")[:MAX_NAME_BYTES] for _, _, name in rows]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    start = np.array([row[0] for row in rows], np.uint64)
    size = np.array([row[1] for row in rows], np.uint64)
    return Symbols(
        start=start,
        size=size,
        limit=start + np.maximum(size, np.uint64(UNKNOWN_SIZE_BYTES)),
        rank=np.full(len(rows), rank, np.uint8),
        name_start=ends - np.array([len(name) for name in encoded], np.int64),
        name_end=ends,
        blob=b"".join(encoded),
        module=module,
    )


def _bounded(pieces: Sequence[Symbols]) -> Iterator[Symbols]:
    """Nobody's file may cost more than these; what is beyond is left unnamed."""
    left, bytes_left = MAX_SYMBOLS, MAX_NAMES_BYTES
    for piece in pieces:
        sizes, kept = piece.name_end - piece.name_start, piece
        if len(piece) > left or int(sizes.sum()) > bytes_left:
            fits = min(left, int(np.count_nonzero(np.cumsum(sizes) <= bytes_left)))
            kept, sizes = piece.where(np.arange(len(piece)) < fits), sizes[:fits]
        left -= len(kept)
        bytes_left -= int(sizes.sum())
        if len(kept):
            yield kept


def _preference(pieces: Sequence[Symbols], size: U64) -> U8:
    """Lower is better: a size, then a function's type, then its binding, then a public name."""
    rank = _joined([p.rank for p in pieces])
    names = [_Beginnings(p) for p in pieces]
    underscores = _joined([one.underscores() for one in names])
    labels = _joined([one.are_labels() for one in names])
    unsized = (size == 0).astype(np.uint8)
    preference: U8 = (labels << 6) | (unsized << 5) | (rank << 2) | underscores
    return preference


class _Beginnings:
    """How the names of a piece begin."""

    def __init__(self, piece: Symbols) -> None:
        self._blob: U8 = np.frombuffer(piece.blob or b"\0", np.uint8)
        self._start = piece.name_start

    def underscores(self) -> U8:
        """0, 1 or 2: `malloc` rather than `__libc_malloc`. C++ and Rust names need theirs."""
        one = self._at(0) == ord("_")
        two = one & (self._at(1) == ord("_"))
        letter = np.where(two, self._at(2), self._at(1))
        is_rust = (letter == ord("R")) & (self._at(2) >= ord("A")) & (self._at(2) <= ord("Z"))
        is_mangled = (letter == ord("Z")) | (is_rust & ~two)
        counted: U8 = np.where(is_mangled, 0, one.astype(np.uint8) + two).astype(np.uint8)
        return counted

    def are_labels(self) -> U8:
        """1 for `.LTHUNK64`, which a compiler made up for itself."""
        labels: U8 = (self._at(0) == ord(".")).astype(np.uint8)
        return labels

    def _at(self, place: int) -> U8:
        """That byte of each name, or of what follows it."""
        found: U8 = self._blob[np.minimum(self._start + place, len(self._blob) - 1)]
        return found


def _one_per_start(start: U64, preference: U8, order: I64) -> tuple[I64, I64]:
    """For each distinct start the row of the best symbol, and where its group begins in `order`."""
    ordered = start[order]
    group = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    # The row number makes ties go to the earlier symbol, whatever the sort did.
    key = (preference[order].astype(np.int64) << 32) | order
    return np.minimum.reduceat(key, group) & 0xFFFF_FFFF, group


def _labels_inside_functions(start: U64, size: U64) -> Bool:
    """Unsized labels within a sized function are its parts (loops of assembler), not functions."""
    if not size.any():
        return np.zeros(len(size), np.bool_)
    ends = np.where(size > 0, _add(start, size), np.uint64(0))
    reach = np.maximum.accumulate(ends)
    before = np.concatenate((np.zeros(1, np.uint64), reach[:-1]))
    inside: Bool = (size == 0) & (start < before)
    return inside


def _ends(start: U64, size: U64, limit: U64) -> U64:
    following = np.concatenate((start[1:], limit[-1:]))
    extended = np.where(limit > start, np.minimum(following, limit), following)
    reached = np.maximum(extended, start)
    return np.where(size > 0, _add(start, size), reached) if size.any() else reached


def _add(start: U64, size: U64) -> U64:
    """Without wrapping around: a hostile size must not end before its start."""
    end: U64 = start + np.minimum(size, NOWHERE - start)
    return end


def _modules_of(piece: Symbols) -> U16:
    return np.zeros(len(piece), np.uint16) if piece.module is None else piece.module


def _gather(pieces: Sequence[Symbols], rows: I64 | slice) -> tuple[bytes, U32]:
    """The names of the chosen rows, one after the other, in the order of the rows."""
    begin = _joined([p.name_start for p in pieces])[rows]
    size = np.minimum(_joined([p.name_end for p in pieces])[rows] - begin, MAX_NAME_BYTES)
    offsets = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=offsets[1:])
    gathered: U8 = np.empty(int(offsets[-1]), np.uint8)
    first = 0
    for piece in pieces:
        mine: slice | I64 = slice(None)
        if len(pieces) > 1:
            chosen = np.arange(sum(map(len, pieces)))[rows]
            mine = np.flatnonzero((chosen >= first) & (chosen < first + len(piece)))
            first += len(piece)
        gather(piece.blob, begin[mine], size[mine], offsets[:-1][mine], gathered)
    return gathered.tobytes(), offsets.astype(np.uint32)
