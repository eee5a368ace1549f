"""Go's function tables made by hand, in each of their layouts."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from msgspec import Struct

from exhume.perf.symbols.gopclntab import GO_1_2, GO_1_16

Function = tuple[int, str]
"""Entry address and name."""


class MadePclntab(Struct, frozen=True):
    functions: Sequence[Function]
    """Ordered by entry."""
    end: int
    version: int
    pointer_bytes: int = 8
    order: str = "<"
    text_start: int = 0
    states_text_start: bool = True
    """False: 0 in the header, as in position-independent programs and since Go 1.26."""

    def data(self) -> bytes:
        head = struct.pack(self.order + "IBBBB", self.version, 0, 0, 1, self.pointer_bytes)
        names, name_at = b"", []
        for _, name in self.functions:
            name_at.append(len(names))
            names += name.encode() + b"\0"
        if self.version == GO_1_2:
            return self._old(head, names, name_at)
        words = 7 if self.version == GO_1_16 else 8
        names_at = len(head) + words * self.pointer_bytes
        table_at = names_at + len(names) + (-len(names)) % 8
        text = self.text_start if self.states_text_start else 0
        offsets = [names_at, 0, 0, 0, table_at]
        middle = [0] if self.version == GO_1_16 else [0, text]
        head += self._words([len(self.functions), *middle, *offsets])
        body = self._table(name_at, 0)
        return head + names + bytes(table_at - names_at - len(names)) + body

    def _old(self, head: bytes, names: bytes, name_at: list[int]) -> bytes:
        """Go 1.2: no separate tables, every offset counts from the start."""
        head += self._words([len(self.functions)])
        pairs = (2 * len(self.functions) + 1) * self.pointer_bytes
        names_at = len(head) + pairs + len(self.functions) * (self.pointer_bytes + 4)
        body = self._table([names_at + at for at in name_at], len(head))
        return head + body + names

    def _table(self, name_at: list[int], base: int) -> bytes:
        narrow = self.version not in (GO_1_2, GO_1_16)
        word = "I" if narrow or self.pointer_bytes == 4 else "Q"
        width = struct.calcsize(self.order + word)
        origin = self.text_start if narrow else 0
        record_bytes = width + 4
        records_at = base + (2 * len(self.functions) + 1) * width
        pairs, records = b"", b""
        for index, ((entry, _), name) in enumerate(zip(self.functions, name_at, strict=True)):
            record = records_at + index * record_bytes
            pairs += struct.pack(self.order + word * 2, entry - origin, record)
            records += struct.pack(self.order + word + "I", entry - origin, name)
        return pairs + struct.pack(self.order + word, self.end - origin) + records

    def _words(self, values: list[int]) -> bytes:
        code = "Q" if self.pointer_bytes == 8 else "I"
        return struct.pack(self.order + code * len(values), *values)
