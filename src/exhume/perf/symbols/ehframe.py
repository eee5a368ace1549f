"""`.eh_frame_hdr`: where functions begin and end, which stripping does not take away.

Without it each address of a stripped program would be a frame of its own, and a function that has
a core for itself thousands of them. The table is there for exceptions to be unwound: pairs of
(begin of the function, its entry in `.eh_frame`), and an entry says how long the function is.
Layout as in the Linux Standard Base, 10.6; programs may have it for some of their functions only.
"""

from __future__ import annotations

import numpy as np

from exhume.errors import ParseError
from exhume.model.arrays import I64, U64
from exhume.perf.symbols.build import LOCAL, MAX_SYMBOLS, NOTYPE, Symbols
from exhume.perf.symbols.elf import Elf
from exhume.perf.symbols.elfsymbols import Section, code_end
from exhume.perf.symbols.image import Image

_HEAD_BYTES = 12
# Version; how the address of .eh_frame, the count and the pairs are written. All linkers do it so:
# relative to where it stands, four bytes; four bytes; relative to the section, four bytes each.
_VERSION, _ADDRESS, _COUNT, _PAIRS = 1, 0x1B, 0x03, 0x3B
_PAIR_BYTES = 8
_ENTRY_BYTES = 16
"""What is looked at of an entry: length, kind, where its function begins, how long that is."""
_BEGIN_AT = 8
_CHUNK_BYTES = 1 << 20
_ADDRESSES = (1 << 62) - 1
"""No sum of two of these is more than fits."""


def read(image: Image, program: Elf, path: str) -> Symbols | None:
    """Functions without names, as far as the table tells."""
    entries = program.section(".eh_frame")
    found = entries_of(image, program.byte_order, program.section(".eh_frame_hdr"), path)
    if found is None or entries is None:
        return None
    begin, entry = found
    length = _lengths(image, program.byte_order, entries, begin, entry)
    known = (begin > 0) & (length > 0)
    start: U64 = begin[known].view(np.uint64)
    end = start + length[known].view(np.uint64)
    limit = np.minimum(end, code_end(program.sections, start))
    inside = limit > start
    none = np.zeros(int(inside.sum()), np.int64)
    return Symbols(
        start=start[inside],
        # No size: within a function that has a name it is a part of that.
        size=none.view(np.uint64),
        limit=limit[inside],
        rank=np.full(len(none), LOCAL + NOTYPE, np.uint8),
        name_start=none,
        name_end=none,
        blob=b"",
    )


def entries_of(
    image: Image, byte_order: str, table: Section | None, path: str
) -> tuple[I64, I64] | None:
    """Where functions begin, and where their entries are: addresses. `table`: .eh_frame_hdr."""
    if table is None or table.size_bytes < _HEAD_BYTES:
        return None
    data = image.read(table.offset, min(table.size_bytes, MAX_SYMBOLS * _PAIR_BYTES))
    if len(data) < _HEAD_BYTES or tuple(data[:4]) != (_VERSION, _ADDRESS, _COUNT, _PAIRS):
        return None
    count = int(np.frombuffer(data, f"{byte_order}u4", 1, 8)[0])
    if _HEAD_BYTES + count * _PAIR_BYTES > table.size_bytes:
        raise ParseError(path, f"offset {table.offset}", f"a table of {count} functions")
    count = min(count, (len(data) - _HEAD_BYTES) // _PAIR_BYTES)
    pairs = np.frombuffer(data, f"{byte_order}i4", 2 * count, _HEAD_BYTES).reshape(-1, 2)
    begin, entry = pairs.astype(np.int64).T + np.int64(table.address & _ADDRESSES)
    return begin, entry


def _lengths(image: Image, byte_order: str, entries: Section, begin: I64, entry: I64) -> I64:
    """Of each function; 0 where its entry is not written in the usual way, or not of it."""
    length = np.zeros(len(begin), np.int64)
    place = entry - np.int64(entries.address & _ADDRESSES)
    order = np.argsort(place, kind="stable")
    for at in range(0, min(entries.size_bytes, image.size_bytes), _CHUNK_BYTES):
        first, last = np.searchsorted(place[order], [at, at + _CHUNK_BYTES])
        rows = order[first:last]
        data = image.read(entries.offset + at, _CHUNK_BYTES + _ENTRY_BYTES) if len(rows) else b""
        rows = rows[place[rows] - at <= len(data) - _ENTRY_BYTES]
        if not len(rows):
            continue
        every = np.lib.stride_tricks.sliding_window_view(
            np.frombuffer(data, np.uint8), _ENTRY_BYTES
        )
        words = every[place[rows] - at].view(f"{byte_order}i4").astype(np.int64)
        is_own = entry[rows] + _BEGIN_AT + words[:, 2] == begin[rows]
        length[rows] = np.where(is_own, words[:, 3] & 0xFFFF_FFFF, 0)
    return length
