"""`.gopclntab`: the table Go keeps for its own stack traces, so even a stripped binary has names.

Layouts as in Go's debug/gosym and runtime/symtab.go: a header whose magic is the version, a table
of (pc, offset of the function's record) pairs, and records that begin with entry and name.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from exhume.errors import ParseError
from exhume.model.arrays import I64, U8, U64
from exhume.perf.symbols.build import GLOBAL, MAX_SYMBOLS, Symbols
from exhume.perf.symbols.elf import PCLNTAB_SECTIONS, Elf
from exhume.perf.symbols.elfsymbols import name_ends
from exhume.perf.symbols.image import Image

GO_1_2, GO_1_16, GO_1_18, GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_MAGICS = (GO_1_2, GO_1_16, GO_1_18, GO_1_20)
_GO_SECTIONS = (".go.buildinfo", ".note.go.buildid")
_MAX_TABLE_BYTES = 256 << 20
_SEARCH_BYTES = 128 << 20
_CHUNK_BYTES = 1 << 22
_MAX_CANDIDATES = 64
_MAX_RELOCATIONS_BYTES = 64 << 20
# pcHeader.textStart, and runtime.moduledata.text behind a pointer, six slices and three words.
_HEADER_TEXT_AT = 8 + 2 * 8
_MODULE_TEXT_AT = (1 + 6 * 3 + 3) * 8


@dataclass(frozen=True, slots=True)
class _Layout:
    version: int
    byte_order: str
    pointer_bytes: int
    count: int
    text_start: int
    """Added to each pc; those of Go before 1.18 are whole addresses already."""
    names_at: int
    functions_at: int
    """Where the pairs are; the offsets in them count from here (from 0 before 1.16)."""
    records_base: int
    pair_code: str


def read(image: Image, elf: Elf, path: str) -> Symbols | None:
    """The functions of a Go program; None where the file is no such thing."""
    place = elf.section(*PCLNTAB_SECTIONS)
    if place is not None:
        offset, length = place.offset, place.size_bytes
    elif elf.sections and elf.section(*_GO_SECTIONS) is None:
        return None
    else:
        # Section headers are gone (sstrip, packers), or a C linker merged the section into
        # .data.rel.ro (cgo with -buildmode=pie): the magic gives the table away.
        offset, length = _search(image, elf), _MAX_TABLE_BYTES
        if offset < 0:
            return None
    table = image.read(offset, min(length, _MAX_TABLE_BYTES))
    return parse(table, path, text_start=_text_start(image, elf, offset))


def parse(table: bytes, path: str, text_start: int = 0) -> Symbols:
    """`text_start` counts where the table itself says 0: position-independent programs."""
    layout = _layout(table, path, text_start)
    if layout.names_at > len(table):
        raise ParseError(path, f"offset {layout.names_at} of pclntab", "names inside the table")
    pairs = _words(table, layout.functions_at, 2 * layout.count + 1, layout, layout.pair_code, path)
    pc, record = pairs[:-1:2], pairs[1::2].astype(np.int64) + layout.records_base
    pc = pc + np.uint64(layout.text_start)
    last_end = pairs[-1:] + np.uint64(layout.text_start)
    # The record repeats the entry (a pointer, or 4 bytes since 1.18); the name's offset follows.
    name_field = record + (4 if layout.pair_code == "u4" else layout.pointer_bytes)
    sound = (record >= 0) & (record < len(table)) & (name_field + 4 <= len(table))
    name_start = np.full(len(record), -1, np.int64)
    name_start[sound] = _u32_at(table, name_field[sound], layout.byte_order) + layout.names_at
    ends = np.concatenate((pc[1:], last_end))
    sound &= (name_start >= layout.names_at) & (name_start < len(table)) & (ends > pc)
    if layout.count and not sound.any():
        raise ParseError(path, f"offset {layout.functions_at} of pclntab", "one sound function")
    return _symbols(table, pc[sound], ends[sound], name_start[sound])


def _symbols(table: bytes, pc: U64, ends: U64, name_start: I64) -> Symbols:
    return Symbols(
        start=pc,
        size=ends - pc,
        limit=ends,
        rank=np.full(len(pc), GLOBAL, np.uint8),
        name_start=name_start,
        name_end=name_ends(table, name_start),
        blob=table,
    )


def _layout(table: bytes, path: str, fallback_text_start: int) -> _Layout:
    found = _identify(table[:8])
    if found is None:
        raise ParseError(path, "offset 0 of pclntab", "a Go function table of a known version")
    version, byte_order, pointer = found
    code = byte_order + ("Q" if pointer == 8 else "I")

    def word(index: int) -> int:
        at = 8 + index * pointer
        if at + pointer > len(table):
            raise ParseError(path, f"offset {at} of pclntab", "the rest of the header")
        return int(struct.unpack_from(code, table, at)[0])

    count = word(0)
    if count > MAX_SYMBOLS:
        raise ParseError(path, "offset 8 of pclntab", f"at most {MAX_SYMBOLS} functions")
    pointer_code = f"u{pointer}"
    common = (version, byte_order, pointer, count)
    if version == GO_1_2:
        return _Layout(*common, 0, 0, 8 + pointer, 0, pointer_code)
    if version == GO_1_16:
        return _Layout(*common, 0, word(2), word(6), word(6), pointer_code)
    return _Layout(*common, word(2) or fallback_text_start, word(3), word(7), word(7), "u4")


def _identify(head: bytes) -> tuple[int, str, int] | None:
    """Version, byte order and pointer size, where the first eight bytes are those of a table."""
    if len(head) < 8 or head[4:6] != b"\0\0" or head[6] not in (1, 2, 4) or head[7] not in (4, 8):
        return None
    for byte_order in "<>":
        version = struct.unpack_from(byte_order + "I", head)[0]
        if version in _MAGICS:
            return version, byte_order, head[7]
    return None


def _words(table: bytes, at: int, count: int, layout: _Layout, code: str, path: str) -> U64:
    dtype = np.dtype(layout.byte_order + code)
    if at + count * dtype.itemsize > len(table):
        raise ParseError(path, f"offset {at} of pclntab", f"{layout.count} functions")
    return np.frombuffer(table, dtype, count, at).astype(np.uint64)


def _u32_at(table: bytes, at: I64, byte_order: str) -> I64:
    data: U8 = np.frombuffer(table, np.uint8)
    four = np.stack([data[at + index] for index in range(4)], axis=1)
    return np.ascontiguousarray(four).view(byte_order + "u4").reshape(-1).astype(np.int64)


def _search(image: Image, elf: Elf) -> int:
    """File offset of the first plausible table in the loaded segments, -1 where there is none."""
    left, candidates = _SEARCH_BYTES, 0
    patterns = [struct.pack(elf.byte_order + "I", magic) + b"\0\0" for magic in _MAGICS]
    for segment in reversed(elf.load_segments):  # code comes first, and it isn't there
        at, end = segment.offset, segment.offset + min(segment.size_bytes, left)
        left -= end - at
        while at < end and (data := image.read(at, min(_CHUNK_BYTES, end - at))):
            for pattern in patterns:
                found = data.find(pattern)
                while found >= 0 and candidates < _MAX_CANDIDATES:
                    candidates += 1
                    if _is_table(image, at + found):
                        return at + found
                    found = data.find(pattern, found + 1)
            at += max(len(data) - 8, 1) if len(data) > 8 else len(data)
    return -1


def _is_table(image: Image, offset: int) -> bool:
    """A whole header whose function count and table offset make sense."""
    head = image.read(offset, 8 + 8 * 8)
    try:
        layout = _layout(head, "", 0)
    except ParseError:
        return False
    return layout.count > 0 and offset + layout.functions_at < image.size_bytes


def _text_start(image: Image, elf: Elf, table_offset: int) -> int:
    """What the header's text_start would say where it is 0.

    In a position-independent program the loader fills it in, so its relocation knows. Since Go 1.26
    it is always 0, and runtime.moduledata, now a section of its own, has it.
    """
    text = elf.section(".text")
    module = elf.section(".go.module")
    if elf.bits == 64:
        places = [] if module is None else [module.offset + _MODULE_TEXT_AT]
        for offset in (*places, table_offset + _HEADER_TEXT_AT):
            found = _word(image, elf, offset) or _relocated(image, elf, offset)
            if found:
                return found
    return text.address if text else 0


def _word(image: Image, elf: Elf, offset: int) -> int:
    data = image.read(offset, 8)
    return int(struct.unpack(elf.byte_order + "Q", data)[0]) if len(data) == 8 else 0


def _relocated(image: Image, elf: Elf, offset: int) -> int:
    rela = elf.section(".rela.dyn", ".rela")
    segments = (s for s in elf.load_segments if s.offset <= offset < s.offset + s.size_bytes)
    segment = next(segments, None)
    if rela is None or segment is None:
        return 0
    dtype = np.dtype([(n, elf.byte_order + "u8") for n in ("offset", "info", "addend")])
    data = image.read(rela.offset, min(rela.size_bytes, _MAX_RELOCATIONS_BYTES))
    rows = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
    vaddr = np.uint64((segment.vaddr + offset - segment.offset) % (1 << 64))
    hits = np.flatnonzero(rows["offset"] == vaddr)
    return int(rows["addend"][hits[0]]) if len(hits) else 0
