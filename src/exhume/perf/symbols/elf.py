"""ELF files: what they are (build id), where they load, and the symbols of their functions.

Reads whole tables with numpy, in tens of milliseconds where a reader that makes an object a symbol
takes tens of seconds. Both sizes and both byte orders.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap

import numpy as np
from msgspec import Struct

from exhume.errors import ParseError
from exhume.perf.symbols.build import Symbols
from exhume.perf.symbols.elfplt import read_plt
from exhume.perf.symbols.elfsymbols import Section, read_symbols
from exhume.perf.symbols.image import BytesImage, Image
from exhume.perf.symbols.table import LoadSegment

MAX_FILE_BYTES = 4 << 30
# Far above what linkers make. Headers are the only things walked one by one here.
_MAX_SECTIONS = 20_000
_MAX_SEGMENTS = 1024
_MAX_NOTES_BYTES = 64 << 10
_MAX_SECTION_NAMES_BYTES = 1 << 20
_MAX_BUILD_ID_BYTES = 64

_PT_LOAD, _PT_NOTE = 1, 4
_PF_EXECUTE = 1
_SHT_SYMTAB, _SHT_NOTE, _SHT_NOBITS, _SHT_DYNSYM = 2, 7, 8, 11
_NT_GNU_BUILD_ID = 3
_ET_REL = 1
PCLNTAB_SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")

# After e_ident, without the flags: type, machine, entry, phoff, shoff, then the sizes and counts.
_EHDR = {32: "HHIIIIIHHHHHH", 64: "HHIQQQIHHHHHH"}
_PHDR = {
    32: [("kind", "u4"), ("offset", "u4"), ("vaddr", "u4"), ("paddr", "u4"), ("filesz", "u4"),
         ("memsz", "u4"), ("flags", "u4"), ("align", "u4")],
    64: [("kind", "u4"), ("flags", "u4"), ("offset", "u8"), ("vaddr", "u8"), ("paddr", "u8"),
         ("filesz", "u8"), ("memsz", "u8"), ("align", "u8")],
}  # fmt: skip
_SHDR = {
    bits: [("name", "u4"), ("kind", "u4"), ("flags", word), ("address", word), ("offset", word),
           ("size", word), ("link", "u4"), ("info", "u4"), ("align", word), ("entry", word)]
    for bits, word in ((32, "u4"), (64, "u8"))
}  # fmt: skip


class DebugLink(Struct, frozen=True):
    """`.gnu_debuglink`: the separate file that holds what was stripped."""

    name: str
    crc32: int


class Headers(Struct, frozen=True):
    """What can be known from a few small reads."""

    bits: int
    byte_order: str
    """`<` or `>`, as struct and numpy spell it."""
    kind: int
    machine: int
    segments: tuple[tuple[LoadSegment, int, int, int], ...]
    """Segment, its type, flags and alignment."""
    section_table: tuple[int, int, int]
    """Offset, entry size and count as the header states them."""
    section_names: int


class Outline(Struct, frozen=True):
    """What is where, without any symbols."""

    bits: int
    byte_order: str
    machine: int
    load_segments: tuple[LoadSegment, ...]
    sections: tuple[Section, ...]

    def section(self, *names: str) -> Section | None:
        return next((s for s in self.sections if s.name in names), None)


class Elf(Outline, frozen=True):
    build_id: bytes | None
    symtab: Symbols | None
    dynsym: Symbols | None
    plt: Symbols | None
    debuglink: DebugLink | None


def read_outline(image: Image, path: str) -> Outline:
    head = read_headers(image, path)
    sections = _read_sections(image, head, path)
    return Outline(head.bits, head.byte_order, head.machine, load_segments(head), sections)


def parse(data: Image | bytes | memoryview | mmap, path: str) -> Elf:
    """Pure: the same bytes give the same answer. Raises ParseError where they are no sound ELF."""
    image = data if not isinstance(data, bytes | memoryview | mmap) else BytesImage(bytes(data))
    head = read_headers(image, path)
    sections = _read_sections(image, head, path)

    shape = f"{head.byte_order}{head.bits}"
    full, dynamic = (_largest(sections, kind) for kind in (_SHT_SYMTAB, _SHT_DYNSYM))
    if full and dynamic and full.size_bytes >= dynamic.size_bytes:
        dynamic = None  # a part of the other one: reading it would only cost
    symtab, dynsym = (
        read_symbols(image, path, table, sections, shape, head.machine)
        if table and head.kind != _ET_REL
        else None
        for table in (full, dynamic)
    )
    return Elf(
        bits=head.bits,
        byte_order=head.byte_order,
        machine=head.machine,
        build_id=_build_id(image, head, sections),
        load_segments=load_segments(head),
        sections=sections,
        symtab=symtab,
        dynsym=dynsym,
        plt=read_plt(image, sections, shape, head.machine),
        debuglink=_debuglink(image, head, sections),
    )


def _largest(sections: tuple[Section, ...], kind: int) -> Section | None:
    found = [s for s in sections if s.kind == kind and s.size_bytes]
    return max(found, key=lambda section: section.size_bytes, default=None)


def read_build_id(image: Image, path: str) -> bytes | None:
    """The build id alone: headers and notes, a few KiB."""
    head = read_headers(image, path)
    found = _build_id(image, head, ())
    # A separate debug file may keep the segment's header without its bytes; sections tell.
    return found or _build_id(image, head, _read_sections(image, head, path))


def read_headers(image: Image, path: str) -> Headers:
    start = image.read(0, 64)
    if start[:4] != b"\x7fELF":
        raise ParseError(path, "offset 0", "an ELF file")
    bits = {1: 32, 2: 64}.get(start[4] if len(start) > 4 else 0)
    byte_order = {1: "<", 2: ">"}.get(start[5] if len(start) > 5 else 0)
    if bits is None or byte_order is None:
        raise ParseError(path, "offset 4", "32 or 64 bits and a known byte order")
    layout = struct.Struct(byte_order + _EHDR[bits])
    if len(start) < 16 + layout.size:
        raise ParseError(path, f"offset {len(start)}", "a whole ELF header")
    kind, machine, _, _, phoff, shoff, _, _, phsize, phnum, shsize, shnum, names = (
        layout.unpack_from(start, 16)
    )
    rows = _table(image, path, phoff, phsize, min(phnum, _MAX_SEGMENTS), byte_order, _PHDR[bits])
    segments = tuple(
        (LoadSegment(int(r["offset"]), int(r["vaddr"]), int(r["filesz"])), int(r["kind"]),
         int(r["flags"]), int(r["align"]))
        for r in rows
    )  # fmt: skip
    return Headers(bits, byte_order, kind, machine, segments, (shoff, shsize, shnum), names)


def load_segments(head: Headers) -> tuple[LoadSegment, ...]:
    """Executable ones first: where two claim a byte of the file, code is what was sampled."""
    loads = [(s, flags) for s, kind, flags, _ in head.segments if kind == _PT_LOAD and s.size_bytes]
    loads.sort(key=lambda pair: not pair[1] & _PF_EXECUTE)
    return tuple(segment for segment, _ in loads)


def _table(
    image: Image,
    path: str,
    offset: int,
    entry_bytes: int,
    count: int,
    byte_order: str,
    fields: list[tuple[str, str]],
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    dtype = np.dtype([(name, byte_order + code) for name, code in fields])
    if not count or not offset:
        return np.zeros(0, dtype)
    if entry_bytes != dtype.itemsize:
        raise ParseError(path, "its header", f"table entries of {dtype.itemsize} bytes")
    data = image.read(offset, count * entry_bytes)
    if len(data) < count * entry_bytes:
        raise ParseError(path, f"offset {offset}", f"{count} table entries, not the end")
    return np.frombuffer(data, dtype)


def _read_sections(image: Image, head: Headers, path: str) -> tuple[Section, ...]:
    offset, entry_bytes, count = head.section_table
    names_index = head.section_names
    fields = _SHDR[head.bits]
    if offset and (count == 0 or names_index == 0xFFFF):
        # More sections than the header can say: the first entry holds the true numbers.
        first = _table(image, path, offset, entry_bytes, 1, head.byte_order, fields)[0]
        count = count or int(first["size"])
        names_index = int(first["link"]) if names_index == 0xFFFF else names_index
    count = min(count, _MAX_SECTIONS)
    rows = _table(image, path, offset, entry_bytes, count, head.byte_order, fields)
    names = b""
    if names_index < len(rows):
        row = rows[names_index]
        length = min(int(row["size"]), _MAX_SECTION_NAMES_BYTES)
        names = image.read(int(row["offset"]), length)
    return tuple(
        Section(
            name=names[r[0] : max(names.find(b"\0", r[0], r[0] + 256), r[0])].decode("latin-1"),
            kind=r[1], flags=r[2], address=r[3], offset=r[4], size_bytes=r[5], link=r[6],
            entry_bytes=r[9],
        )
        for r in rows.tolist()
    )  # fmt: skip


def _build_id(image: Image, head: Headers, sections: tuple[Section, ...]) -> bytes | None:
    for offset, size_bytes, align in _notes_places(head, sections):
        data = image.read(offset, min(size_bytes, _MAX_NOTES_BYTES))
        if (found := build_id_in_notes(data, head.byte_order, align)) is not None:
            return found
    return None


def build_id_in_notes(data: bytes, byte_order: str = "=", align: int = 4) -> bytes | None:
    """Also of /sys/kernel/notes, which is the running kernel's section of notes."""
    at, pad = 0, 8 if align == 8 else 4
    while at + 12 <= len(data):
        name, body, kind = struct.unpack_from(byte_order + "III", data, at)
        body_at = at + 12 + _padded(name, pad)
        if kind == _NT_GNU_BUILD_ID and data[at + 12 : at + 12 + name] == b"GNU\0":
            found = data[body_at : body_at + body]
            if 0 < len(found) == body <= _MAX_BUILD_ID_BYTES:
                return found
        at = body_at + _padded(body, pad)
    return None


def _notes_places(head: Headers, sections: tuple[Section, ...]) -> Iterator[tuple[int, int, int]]:
    for section in sections:
        if section.kind == _SHT_NOTE and section.name == ".note.gnu.build-id":
            yield section.offset, section.size_bytes, 4
    for segment, kind, _, align in head.segments:
        if kind == _PT_NOTE:
            yield segment.offset, segment.size_bytes, align


def _padded(length: int, pad: int) -> int:
    return (length + pad - 1) // pad * pad


def _debuglink(image: Image, head: Headers, sections: tuple[Section, ...]) -> DebugLink | None:
    section = next((s for s in sections if s.name == ".gnu_debuglink"), None)
    if section is None or section.kind == _SHT_NOBITS or section.size_bytes > 4096:
        return None
    data = image.read(section.offset, section.size_bytes)
    name = data[: max(data.find(b"\0"), 0)]
    at = _padded(len(name) + 1, 4)
    if not name or b"/" in name or name in (b".", b"..") or len(data) < at + 4:
        return None
    crc32 = int(struct.unpack_from(head.byte_order + "I", data, at)[0])
    return DebugLink(name.decode("utf-8", "surrogateescape"), crc32)
