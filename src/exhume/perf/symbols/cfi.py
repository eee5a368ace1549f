"""`.eh_frame`: how to find the caller of a function, at each of its instructions.

It is there for exceptions, in programs without frame pointers too, and stripping leaves it. An
entry (FDE) describes one function by a small program, which says where the frame begins (the CFA:
the stack pointer as it was before the call) and where registers were saved; what entries have in
common is in another (CIE). DWARF 5, 6.4, and the Linux Standard Base, 10.6.

Only what is asked for is read: a capture is in some thousand of a program's functions.
"""

from __future__ import annotations

import struct
from bisect import bisect_right

import numpy as np
from msgspec import Struct

from exhume.errors import ParseError
from exhume.model.arrays import I64
from exhume.perf.symbols import elf
from exhume.perf.symbols.cfi_rules import NO_RULE, RETURN_ADDRESS, Common, Reader, Rule, Run, Stub
from exhume.perf.symbols.ehframe import entries_of
from exhume.perf.symbols.image import Image
from exhume.perf.symbols.table import LoadSegment

MAX_BYTES = 64 << 20
"""Of one program's entries: the largest browsers have 20 MiB of them."""
_MAX_PROGRAM_BYTES = 1 << 16
"""Of one entry: those of the largest functions are some hundred bytes."""
_X86_64 = 62
_BROKEN = (IndexError, KeyError, ValueError, struct.error, ParseError)
"""What reading an entry ends with that is damaged, or written as no compiler does."""


class Cfi:
    """Of one program."""

    def __init__(
        self, begin: I64, entry: I64, data: bytes, address: int, loads: tuple[LoadSegment, ...]
    ) -> None:
        """`begin`: of functions, in order; `entry`: their entries' addresses. `data` is the
        section, at `address`."""
        self._begin = begin
        self._entry = entry
        self._data = data
        self._address = address
        self.load_segments = loads
        self._functions: dict[int, _Function | None] = {}
        self._common: dict[int, Common] = {}

    @property
    def size_bytes(self) -> int:
        return len(self._data) + self._begin.nbytes + self._entry.nbytes

    def rule(self, vaddr: int) -> Rule:
        """Of the instruction at that address of the file."""
        at = int(np.searchsorted(self._begin, vaddr, "right")) - 1
        if at < 0:
            return NO_RULE
        if at not in self._functions:
            try:
                self._functions[at] = self._function(int(self._entry[at]) - self._address)
            except _BROKEN:
                self._functions[at] = None
        function = self._functions[at]
        if function is None or not function.begin <= vaddr < function.end:
            return NO_RULE
        found = function.rules[bisect_right(function.starts, vaddr) - 1]
        return found.at(vaddr) if isinstance(found, Stub) else found

    def _function(self, at: int) -> _Function:
        length, back = self._u32(at), self._u32(at + 4)
        if not back or length >= 0xFFFF_FFF0:
            raise ParseError(".eh_frame", f"offset {at}", "an entry of a function")
        common = self._common_at(at + 4 - back)
        reader = Reader(self._data, at + 8, at + 4 + length)
        begin = reader.pointer(common.encoding, self._address)
        size = reader.pointer(common.encoding & 0x0F, 0)
        if common.has_sizes:
            reader.block()
        if reader.end - reader.at > _MAX_PROGRAM_BYTES:
            raise ParseError(".eh_frame", f"offset {at}", "a short program")
        run = Run(common, begin)
        run.all(reader)
        return _Function(begin, begin + size, run.starts, run.rules)

    def _common_at(self, at: int) -> Common:
        if at not in self._common:
            self._common[at] = self._read_common(at)
        return self._common[at]

    def _read_common(self, at: int) -> Common:
        length, kind = self._u32(at), self._u32(at + 4)
        if kind or length >= 0xFFFF_FFF0:
            raise ParseError(".eh_frame", f"offset {at}", "what entries have in common")
        reader = Reader(self._data, at + 8, at + 4 + length)
        version = reader.u8()
        augmentation = reader.text()
        code_step, data_step = reader.uleb(), reader.sleb()
        register = reader.u8() if version == 1 else reader.uleb()
        encoding = 0
        is_signal = "S" in augmentation
        has_sizes = augmentation.startswith("z")
        if has_sizes:
            size = reader.uleb()
            after = reader.at + size
            for letter in augmentation[1:]:
                if letter == "R":
                    encoding = reader.u8()
                elif letter == "L":
                    reader.u8()
                elif letter == "P":
                    reader.pointer(reader.u8() & 0x0F, 0)
                elif letter not in "SB":
                    break
            reader.at = after
        elif augmentation:
            raise ParseError(".eh_frame", f"offset {at}", "augmentations that are known")
        if register != RETURN_ADDRESS:
            raise ParseError(".eh_frame", f"offset {at}", "registers of x86-64")
        start = reader.at
        if reader.end - start > _MAX_PROGRAM_BYTES:
            raise ParseError(".eh_frame", f"offset {at}", "a short program")
        return Common(
            code_step, data_step, encoding, has_sizes, is_signal, self._data[start : reader.end]
        )

    def _u32(self, at: int) -> int:
        if at < 0:
            raise IndexError(at)
        found: int = struct.unpack_from("<I", self._data, at)[0]
        return found


def read(image: Image, path: str) -> Cfi | None:
    """None where it has none, or is not of x86-64. ParseError where it is no sound ELF."""
    program = elf.read_outline(image, path)
    section = program.section(".eh_frame")
    if program.machine != _X86_64 or program.bits != 64 or section is None:
        return None
    found = entries_of(image, program.byte_order, program.section(".eh_frame_hdr"), path)
    if found is None or section.size_bytes > MAX_BYTES:
        return None
    begin, entry = found
    order = np.argsort(begin, kind="stable")
    data = image.read(section.offset, section.size_bytes)
    return Cfi(begin[order], entry[order], data, section.address, program.load_segments)


class _Function(Struct, frozen=True):
    begin: int
    end: int
    starts: list[int]
    rules: list[Rule | Stub]
