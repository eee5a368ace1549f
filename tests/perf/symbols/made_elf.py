"""ELF files made by hand: any size and byte order, with exactly the parts a test is about."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from msgspec import Struct, field

TEXT_AT = 0x1000
TEXT_VADDR = 0x401000
TEXT_BYTES = 0x1000
FUNC, NOTYPE, OBJECT, IFUNC = 2, 0, 1, 10
LOCAL, GLOBAL, WEAK = 0, 1, 2
X86_64, AARCH64, ARM = 62, 183, 40
_SHSTRTAB, _STRTAB, _PROGBITS, _SYMTAB, _NOTE, _DYNSYM = 3, 3, 1, 2, 7, 11


class Symbol(Struct, frozen=True):
    name: str
    value: int
    size: int = 0
    kind: int = FUNC
    binding: int = GLOBAL
    section: int = 1  # .text


class MadeElf(Struct, frozen=True):
    symbols: Sequence[Symbol] = ()
    dynamic: Sequence[Symbol] = ()
    build_id: bytes = b""
    bits: int = 64
    order: str = "<"
    machine: int = X86_64
    extra: dict[str, bytes] = field(default_factory=dict)
    """More sections by name, as they are."""
    at: dict[str, int] = field(default_factory=dict)
    """Addresses of those that have one."""

    def data(self) -> bytes:
        sections: list[tuple[str, int, int, int, int, bytes]] = [
            ("", 0, 0, 0, 0, b""),
            (".text", _PROGBITS, 6, TEXT_VADDR, 0, b"\x90" * TEXT_BYTES),
        ]
        if self.build_id:
            note = struct.pack(self.order + "III", 4, len(self.build_id), 3)
            sections.append((".note.gnu.build-id", _NOTE, 2, 0, 0, note + b"GNU\0" + self.build_id))
        for kind, name, strings, symbols in (
            (_SYMTAB, ".symtab", ".strtab", self.symbols),
            (_DYNSYM, ".dynsym", ".dynstr", self.dynamic),
        ):
            if symbols:
                table, text = self._symbol_table(symbols)
                sections.append((name, kind, 0, 0, len(sections) + 1, table))
                sections.append((strings, _STRTAB, 0, 0, 0, text))
        sections += [
            (name, _PROGBITS, 0, self.at.get(name, 0), 0, body) for name, body in self.extra.items()
        ]
        names = b"\0".join(s[0].encode() for s in sections) + b"\0.shstrtab\0"
        sections.append((".shstrtab", _SHSTRTAB, 0, 0, 0, names))
        return self._lay_out(sections, names)

    def _symbol_table(self, symbols: Sequence[Symbol]) -> tuple[bytes, bytes]:
        text, rows = b"\0", b"\0" * (24 if self.bits == 64 else 16)
        for s in symbols:
            name, info = len(text), s.binding << 4 | s.kind
            text += s.name.encode("utf-8", "surrogateescape") + b"\0"
            if self.bits == 64:
                row = ("IBBHQQ", name, info, 0, s.section, s.value, s.size)
            else:
                row = ("IIIBBH", name, s.value, s.size, info, 0, s.section)
            rows += struct.pack(self.order + str(row[0]), *row[1:])
        return rows, text

    def _lay_out(
        self, sections: list[tuple[str, int, int, int, int, bytes]], names: bytes
    ) -> bytes:
        wide = self.bits == 64
        head = 64 if wide else 52
        load = self._segment(1, 5, TEXT_AT, TEXT_VADDR, TEXT_BYTES)
        body, offsets = bytearray(), []
        for name, *_, content in sections:
            at = TEXT_AT + len(body) if name else 0
            offsets.append(at)
            body += content + b"\0" * (-len(content) % 16)
        note = next((i for i, s in enumerate(sections) if s[1] == _NOTE), None)
        segments = [load]
        if note is not None:
            segments.append(self._segment(4, 4, offsets[note], 0, len(sections[note][5])))
        table_at = TEXT_AT + len(body)
        entry = 64 if wide else 40
        table = b""
        for (name, kind, flags, vaddr, link, content), offset in zip(
            sections, offsets, strict=True
        ):
            at = names.index(b"\0" + name.encode() + b"\0") + 1 if name else 0
            columns = (at, kind, flags, vaddr, offset, len(content), link, 0, 0, 0)
            table += struct.pack(self.order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII"), *columns)
        start = b"\x7fELF" + bytes((2 if wide else 1, 1 if self.order == "<" else 2, 1)) + bytes(9)
        start += struct.pack(
            self.order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"),
            2, self.machine, 1, TEXT_VADDR, head, table_at, 0, head, len(load), len(segments),
            entry, len(sections), len(sections) - 1,
        )  # fmt: skip
        start += b"".join(segments)
        return start + bytes(TEXT_AT - len(start)) + bytes(body) + table

    def _segment(self, kind: int, flags: int, offset: int, vaddr: int, size: int) -> bytes:
        if self.bits == 64:
            return struct.pack(
                self.order + "IIQQQQQQ", kind, flags, offset, vaddr, vaddr, size, size, 4096
            )
        return struct.pack(
            self.order + "IIIIIIII", kind, offset, vaddr, vaddr, size, size, flags, 4096
        )
