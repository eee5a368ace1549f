"""`.symtab` and `.dynsym`: the functions in them, read and sifted whole columns at a time."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.errors import ParseError
from exhume.model.arrays import I64, U8, U64, Bool
from exhume.perf.symbols.build import GLOBAL, LOCAL, MAX_SYMBOLS, NOTYPE, WEAK, Symbols
from exhume.perf.symbols.image import Image
from exhume.perf.symbols.names import name_ends

SYMBOL = {
    "32": [("name", "u4"), ("value", "u4"), ("size", "u4"), ("info", "u1"), ("other", "u1"),
           ("shndx", "u2")],
    "64": [("name", "u4"), ("info", "u1"), ("other", "u1"), ("shndx", "u2"), ("value", "u8"),
           ("size", "u8")],
}  # fmt: skip

_STT_NOTYPE, _STT_FUNC, _STT_GNU_IFUNC = 0, 2, 10
_STB_GLOBAL, _STB_WEAK = 1, 2
_SHF_EXECINSTR = 4
_SHN_UNDEFINED, _SHN_ABSOLUTE, _SHN_XINDEX = 0, 0xFFF1, 0xFFFF
EM_386, EM_ARM, EM_X86_64, EM_AARCH64, EM_RISCV = 3, 40, 62, 183, 243
# `$x`, `$d`, `$a`, `$t` mark code and data on these, they name nothing.
_HAVE_MAPPING_SYMBOLS = (EM_ARM, EM_AARCH64, EM_RISCV)

_CHUNK_ROWS = 1 << 16
_MAX_TABLE_ROWS = 8 * MAX_SYMBOLS
_MAX_STRINGS_BYTES = 128 << 20


class Section(Struct, frozen=True):
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size_bytes: int
    link: int
    entry_bytes: int


def symbol_dtype(shape: str) -> np.dtype[np.void]:
    """`shape` is byte order and bits: `<64`."""
    return np.dtype([(name, shape[0] + code) for name, code in SYMBOL[shape[1:]]])


def read_symbols(
    image: Image,
    path: str,
    table: Section,
    sections: tuple[Section, ...],
    shape: str,
    machine: int,
) -> Symbols:
    """The functions of one symbol table. `shape` as in `symbol_dtype`."""
    dtype = symbol_dtype(shape)
    if table.offset + table.size_bytes > image.size_bytes:
        raise ParseError(path, f"offset {table.offset}", "a symbol table inside the file")
    if not 0 < table.link < len(sections):
        raise ParseError(path, f"offset {table.offset}", "a symbol table with a string table")
    places = _Places.of(sections)
    count = min(table.size_bytes // dtype.itemsize, _MAX_TABLE_ROWS)
    chunks: list[NDArray[np.void]] = []
    found = 0
    for first in range(0, count, _CHUNK_ROWS):
        length = min(_CHUNK_ROWS, count - first) * dtype.itemsize
        data = image.read(table.offset + first * dtype.itemsize, length)
        rows = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
        rows = rows[_is_function(rows, places)]
        chunks.append(rows)
        found += len(rows)
        if found >= MAX_SYMBOLS or len(data) < length:
            break
    rows = np.concatenate(chunks)[:MAX_SYMBOLS] if chunks else np.zeros(0, dtype)
    strings = sections[table.link]
    blob = image.read(strings.offset, min(strings.size_bytes, _MAX_STRINGS_BYTES))
    return _with_names(rows, blob, places, machine)


class _Places(Struct, frozen=True):
    """Section by section, with one more at the end for indexes that mean no section."""

    start: U64
    end: U64
    executable: Bool

    @staticmethod
    def of(sections: tuple[Section, ...]) -> _Places:
        top = (1 << 64) - 1
        starts = [min(s.address, top) for s in sections]
        ends = [min(s.address + s.size_bytes, top) for s in sections]
        return _Places(
            start=np.array([*starts, 0], np.uint64),
            end=np.array([*ends, 0], np.uint64),
            executable=np.array([*(bool(s.flags & _SHF_EXECINSTR) for s in sections), False]),
        )

    def index(self, shndx: NDArray[np.integer]) -> I64:
        return np.minimum(shndx.astype(np.int64), len(self.end) - 1)


def code_end(sections: tuple[Section, ...], addresses: U64) -> U64:
    """The end of the section of code that each address lies in; 0 where it lies in none."""
    places = _Places.of(sections)
    order = np.flatnonzero(places.executable)
    order = order[np.argsort(places.start[order], kind="stable")]
    ends = np.concatenate([places.end[order], np.zeros(1, np.uint64)])
    found = ends[np.searchsorted(places.start[order], addresses, "right") - 1]
    return np.where(addresses < found, found, np.uint64(0))


def _is_function(rows: NDArray[np.void], places: _Places) -> Bool:
    kind = rows["info"] & 15
    section = rows["shndx"]
    executable = places.executable[places.index(section)]
    # A function whose section index did not fit is still one; a label must prove it is in code.
    function = (kind == _STT_FUNC) | (kind == _STT_GNU_IFUNC)
    label = (kind == _STT_NOTYPE) & executable & (section != _SHN_XINDEX)
    defined = (section != _SHN_UNDEFINED) & (section != _SHN_ABSOLUTE)
    chosen: Bool = (function | label) & defined & (rows["name"] != 0)
    return chosen


def _with_names(rows: NDArray[np.void], blob: bytes, places: _Places, machine: int) -> Symbols:
    rows = rows[rows["name"] < len(blob)]
    text: U8 = np.frombuffer(blob, np.uint8)
    name_start = rows["name"].astype(np.int64)
    first, second = text[name_start], text[np.minimum(name_start + 1, len(blob) - 1)]
    label = (rows["info"] & 15) == _STT_NOTYPE
    # Local labels of the assembler that a linker script kept: `.L12`.
    drop = (first == 0) | (label & (first == ord(".")) & (second == ord("L")))
    if machine in _HAVE_MAPPING_SYMBOLS:
        drop |= (first == ord("$")) & np.isin(second, np.frombuffer(b"xdat", np.uint8))
    rows, name_start = rows[~drop], name_start[~drop]

    start = rows["value"].astype(np.uint64)
    if machine == EM_ARM:
        start &= ~np.uint64(1)  # the lowest bit says Thumb, it is not part of the address
    size = rows["size"].astype(np.uint64)
    place = places.index(rows["shndx"])
    inside = (start >= places.start[place]) & (start < places.end[place])
    limit = np.where(inside, places.end[place], np.uint64(0))
    binding = rows["info"] >> 4
    rank = np.select([binding == _STB_GLOBAL, binding == _STB_WEAK], [GLOBAL, WEAK], LOCAL)
    rank = rank + np.where((rows["info"] & 15) == _STT_NOTYPE, NOTYPE, 0)
    return Symbols(
        start=start,
        # A size that runs out of its section is a lie.
        size=np.where(inside, np.minimum(size, limit - start), size),
        limit=limit,
        rank=rank.astype(np.uint8),
        name_start=name_start,
        name_end=name_ends(blob, name_start),
        blob=blob,
    )
