"""`.gopclntab`: the table Go keeps for its own stack traces, so even a stripped binary has names.

Layouts as in Go's debug/gosym and runtime/symtab.go: a header whose magic is the version, a table
of (pc, offset of the function's record) pairs, and records that begin with entry and name.
"""

from __future__ import annotations

import struct

import numpy as np
from msgspec import Struct

from exhume.errors import ParseError
from exhume.model.arrays import I64, U8, U64
from exhume.perf.symbols.build import GLOBAL, MAX_NAMES_BYTES, MAX_SYMBOLS, Symbols
from exhume.perf.symbols.elf import PCLNTAB_SECTIONS, Elf
from exhume.perf.symbols.image import BytesImage, Image
from exhume.perf.symbols.names import name_ends

GO_1_2, GO_1_16, GO_1_18, GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_MAGICS = (GO_1_2, GO_1_16, GO_1_18, GO_1_20)
_GO_SECTIONS = (".go.buildinfo", ".note.go.buildid")
_MAX_TABLE_BYTES = 256 << 20
_SEARCH_BYTES = 128 << 20
_CHUNK_BYTES = 1 << 20
_MAX_CANDIDATES = 64
_MAX_RELOCATIONS_BYTES = 64 << 20
# pcHeader.textStart, and runtime.moduledata.text behind a pointer, six slices and three words.
_HEADER_TEXT_AT = 8 + 2 * 8
_MODULE_TEXT_AT = (1 + 6 * 3 + 3) * 8


class _Layout(Struct, frozen=True):
    byte_order: str
    count: int
    text_start: int
    """Added to each pc; those of Go before 1.18 are whole addresses already."""
    names_at: int
    names_bytes: int
    functions_at: int
    """Where the pairs are."""
    records_base: int
    """What the offsets in the pairs count from."""
    word: str
    """What the pairs are made of, as numpy spells it: `u8`, and `u4` since Go 1.18."""


class _Table(Struct, frozen=True):
    """The table within its file, read piece by piece: of its tens of MiB we need a third."""

    image: Image
    offset: int
    size_bytes: int

    def read(self, at: int, length: int) -> bytes:
        length = min(length, self.size_bytes - at)
        return self.image.read(self.offset + at, length) if at >= 0 and length > 0 else b""


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
        offset, length = _search(image, elf), image.size_bytes
        if offset < 0:
            return None
    table = _Table(image, offset, min(length, _MAX_TABLE_BYTES))
    return _read(table, path, _text_start(image, elf, offset))


def parse(table: bytes, path: str, text_start: int = 0) -> Symbols:
    """`text_start` counts where the table itself says 0: position-independent programs."""
    return _read(_Table(BytesImage(table), 0, len(table)), path, text_start)


def _read(table: _Table, path: str, text_start: int) -> Symbols:
    layout = _layout(table, path, text_start)
    word = np.dtype(layout.byte_order + layout.word)
    wanted = (2 * layout.count + 1) * word.itemsize
    data = table.read(layout.functions_at, wanted)
    if len(data) < wanted:
        where = f"offset {layout.functions_at} of pclntab"
        raise ParseError(path, where, f"{layout.count} functions")
    pairs: U64 = np.frombuffer(data, word).astype(np.uint64)
    pc = pairs[::2] + np.uint64(layout.text_start)
    pc, ends = pc[:-1], pc[1:]
    record = pairs[1::2].astype(np.int64) + layout.records_base
    # The record repeats the entry (a pointer, or 4 bytes since 1.18); the name's offset follows.
    name_start = _u32_at(table, record + word.itemsize, layout.byte_order)
    blob = table.read(layout.names_at, layout.names_bytes)
    sound = (record >= 0) & (name_start >= 0) & (name_start < len(blob)) & (ends > pc)
    if layout.count and not sound.any():
        where = f"offset {layout.functions_at} of pclntab"
        raise ParseError(path, where, "one sound function")
    pc, ends, name_start = pc[sound], ends[sound], name_start[sound]
    return Symbols(
        start=pc,
        size=ends - pc,
        limit=ends,
        rank=np.full(len(pc), GLOBAL, np.uint8),
        name_start=name_start,
        name_end=name_ends(blob, name_start),
        blob=blob,
    )


def _layout(table: _Table, path: str, fallback_text_start: int) -> _Layout:
    head = table.read(0, 8 + 8 * 8)
    found = _identify(head)
    if found is None:
        raise ParseError(path, "offset 0 of pclntab", "a Go function table of a known version")
    version, byte_order, pointer = found
    code = byte_order + ("Q" if pointer == 8 else "I")

    def field(index: int) -> int:
        at = 8 + index * pointer
        if at + pointer > len(head):
            raise ParseError(path, f"offset {at} of pclntab", "the rest of the header")
        return int(struct.unpack_from(code, head, at)[0])

    count = field(0)
    if count > MAX_SYMBOLS:
        raise ParseError(path, "offset 8 of pclntab", f"at most {MAX_SYMBOLS} functions")
    if version == GO_1_2:  # no tables of their own: every offset counts from the start
        names = (0, MAX_NAMES_BYTES, 8 + pointer, 0)
        return _Layout(byte_order, count, 0, *names, f"u{pointer}")
    # Names, compilation units, files, pcs, functions: five offsets, after text_start since 1.18.
    first = 2 if version == GO_1_16 else 3
    names_at, units_at, functions_at = field(first), field(first + 1), field(first + 4)
    length = units_at - names_at if units_at > names_at else MAX_NAMES_BYTES
    places = (names_at, min(length, MAX_NAMES_BYTES), functions_at, min(functions_at, 1 << 62))
    if version == GO_1_16:
        return _Layout(byte_order, count, 0, *places, f"u{pointer}")
    return _Layout(byte_order, count, field(2) or fallback_text_start, *places, "u4")


def _identify(head: bytes) -> tuple[int, str, int] | None:
    """Version, byte order and pointer size, where the first eight bytes are those of a table."""
    if len(head) < 8 or head[4:6] != b"\0\0" or head[6] not in (1, 2, 4) or head[7] not in (4, 8):
        return None
    for byte_order in "<>":
        version = struct.unpack_from(byte_order + "I", head)[0]
        if version in _MAGICS:
            return version, byte_order, head[7]
    return None


def _u32_at(table: _Table, at: I64, byte_order: str) -> I64:
    """Four bytes from each of these places, -1 where the table has none."""
    found = np.full(len(at), -1, np.int64)
    order = np.argsort(at, kind="stable")
    places = at[order]
    done = int(np.searchsorted(places, 0))
    while done < len(places) and places[done] < table.size_bytes:
        begin = int(places[done])
        data: U8 = np.frombuffer(table.read(begin, _CHUNK_BYTES), np.uint8)
        known = max(int(np.searchsorted(places, begin + len(data) - 3)), done + 1)
        if len(data) >= 4:
            inside = places[done:known] - begin
            four = np.stack([data[inside + index] for index in range(4)], axis=1)
            words = np.ascontiguousarray(four).view(byte_order + "u4").reshape(-1)
            found[order[done:known]] = words
        done = known
    return found


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
    try:
        layout = _layout(_Table(image, offset, _MAX_TABLE_BYTES), "", 0)
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
