"""`.eh_frame`: how to find the caller of a function, at each of its instructions.

It is there for exceptions, in programs without frame pointers too, and stripping leaves it. An
entry (FDE) describes one function by a small program, which says where the frame begins (the CFA:
the stack pointer as it was before the call) and where registers were saved; what entries have in
common is in another (CIE). DWARF 5, 6.4, and the Linux Standard Base, 10.6.

Only what is asked for is read: a capture is in some thousand of a program's functions.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from enum import IntEnum

import numpy as np
from msgspec import Struct

from exhume.errors import ParseError
from exhume.model.arrays import I64
from exhume.perf.symbols import elf
from exhume.perf.symbols.ehframe import entries_of
from exhume.perf.symbols.image import Image
from exhume.perf.symbols.table import LoadSegment

MAX_BYTES = 64 << 20
"""Of one program's entries: the largest browsers have 20 MiB of them."""
_MAX_ROWS = 100_000
_X86_64 = 62
_FRAME_POINTER, _STACK_POINTER, _RETURN_ADDRESS = 6, 7, 16
"""As DWARF numbers the registers of x86-64."""


_BROKEN = (IndexError, KeyError, ValueError, struct.error, ParseError)
"""What reading an entry ends with that is damaged, or written as no compiler does."""
_FARTHEST = 1 << 31
"""No frame is as large."""


class Base(IntEnum):
    """What the CFA is counted from."""

    STACK_POINTER = 0
    FRAME_POINTER = 1
    NOTHING = 2
    """It can't be told, or there is no caller."""


class Rule(Struct, frozen=True):
    """How to get from a function to its caller."""

    base: Base
    cfa: int = 0
    """Bytes from the base."""
    return_address: int = 0
    """Where it was saved, from the CFA."""
    frame_pointer: int = 0
    """Likewise; 0: it still has the caller's value."""
    is_outermost: bool = False
    """It says that it has no caller."""


NO_RULE = Rule(Base.NOTHING)
OUTERMOST = Rule(Base.NOTHING, is_outermost=True)


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
        self._common: dict[int, _Common] = {}

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
        return found.at(vaddr) if isinstance(found, _Stub) else found

    def _function(self, at: int) -> _Function:
        length, back = self._u32(at), self._u32(at + 4)
        if not back or length >= 0xFFFF_FFF0:
            raise ParseError(".eh_frame", f"offset {at}", "an entry of a function")
        common = self._common_at(at + 4 - back)
        reader = _Reader(self._data, at + 8, at + 4 + length)
        begin = reader.pointer(common.encoding, self._address)
        size = reader.pointer(common.encoding & 0x0F, 0)
        if common.has_sizes:
            reader.block()
        run = _Run(common, begin)
        run.all(reader)
        return _Function(begin, begin + size, run.starts, run.rules)

    def _common_at(self, at: int) -> _Common:
        if at not in self._common:
            self._common[at] = self._read_common(at)
        return self._common[at]

    def _read_common(self, at: int) -> _Common:
        length, kind = self._u32(at), self._u32(at + 4)
        if kind or length >= 0xFFFF_FFF0:
            raise ParseError(".eh_frame", f"offset {at}", "what entries have in common")
        reader = _Reader(self._data, at + 8, at + 4 + length)
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
        if register != _RETURN_ADDRESS:
            raise ParseError(".eh_frame", f"offset {at}", "registers of x86-64")
        start = reader.at
        return _Common(
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


class _Stub(Struct, frozen=True):
    """The PLT: stubs of 16 bytes, one like the other, which push a number at some point."""

    pushed_from: int

    def at(self, vaddr: int) -> Rule:
        cfa = 16 if vaddr & 15 >= self.pushed_from else 8
        return Rule(Base.STACK_POINTER, cfa, -8)


class _Function(Struct, frozen=True):
    begin: int
    end: int
    starts: list[int]
    rules: list[Rule | _Stub]


class _Common(Struct, frozen=True):
    code_step: int
    data_step: int
    encoding: int
    """Of pointers to code."""
    has_sizes: bool
    is_signal: bool
    """It is the frame of a signal: registers are in the kernel's own layout."""
    program: bytes


class _Reader:
    def __init__(self, data: bytes, at: int, end: int) -> None:
        if not 0 <= at <= end <= len(data):
            raise IndexError(at)
        self._data = data
        self.at = at
        self.end = end

    def u8(self) -> int:
        if self.at >= self.end:
            raise IndexError(self.at)
        self.at += 1
        return self._data[self.at - 1]

    def number(self, code: str) -> int:
        found: int = struct.unpack_from("<" + code, self._data, self.at)[0]
        self.at += struct.calcsize(code)
        return found

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value & (1 << 64) - 1

    def sleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value

    def block(self) -> bytes:
        """It says itself how long it is."""
        length = self.uleb()
        self.at += length
        return self._data[self.at - length : self.at]

    def text(self) -> str:
        end = self._data.index(b"\0", self.at, self.end)
        found = self._data[self.at : end].decode("latin-1")
        self.at = end + 1
        return found

    def pointer(self, encoding: int, address: int) -> int:
        """`address`: of the section, for pointers that count from where they stand."""
        here = address + self.at
        code = {0x00: "Q", 0x02: "H", 0x03: "I", 0x04: "Q", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
        value = self.number(code[encoding & 0x0F])
        if encoding & 0x70 == 0x10:
            value += here
        elif encoding & 0x70:
            raise ParseError(
                ".eh_frame", f"offset {self.at}", "pointers that count from their place"
            )
        return value


class _State(Struct):
    """What holds at an instruction."""

    base: int = _STACK_POINTER
    """A register, or one of the two below 0."""
    cfa: int = 0
    """Of a stub: from which of its bytes on a number lies on the stack."""
    saved: dict[int, int | None] = {}
    """Registers, where they lie from the CFA; None: nobody can tell."""
    undefined: set[int] = set()
    """Registers that the caller has not: of the return address, there is no caller."""

    def copy(self) -> _State:
        return _State(self.base, self.cfa, dict(self.saved), set(self.undefined))

    def rule(self) -> Rule | _Stub:
        if self.base == _OF_STUB:
            return _Stub(self.cfa)
        bases = {_STACK_POINTER: Base.STACK_POINTER, _FRAME_POINTER: Base.FRAME_POINTER}
        base = bases.get(self.base, Base.NOTHING)
        returns = self.saved.get(_RETURN_ADDRESS)
        frame = self.saved.get(_FRAME_POINTER, 0)
        if returns is None and _RETURN_ADDRESS in self.undefined:
            return OUTERMOST
        if base is Base.NOTHING or returns is None:
            return NO_RULE
        if max(abs(self.cfa), abs(returns), abs(frame or 0)) >= _FARTHEST:
            return NO_RULE
        return Rule(base, self.cfa, returns, frame or 0)


_ANY, _OF_STUB = -1, -2
"""Instead of a register: the CFA follows from an expression; from that of all linkers for stubs."""
# rsp + 8 + ((rip & 15) >= n) * 8; n is the sixth byte.
_STUB = re.compile(rb"\x77\x08\x80\x00\x3f\x1a([\x30-\x3f])\x2a\x33\x24\x22", re.DOTALL)


class _Run:
    """Runs the program of an entry: a rule for each stretch of its function."""

    def __init__(self, common: _Common, begin: int) -> None:
        self._common = common
        self._state = _State()
        self._kept: list[_State] = []
        self._at = begin
        self.starts: list[int] = []
        self.rules: list[Rule | _Stub] = []
        self._initial = _State()
        self.all(_Reader(common.program, 0, len(common.program)), is_common=True)
        self._initial = self._state.copy()

    def all(self, reader: _Reader, *, is_common: bool = False) -> None:
        while reader.at < reader.end:
            self._step(reader)
        if not is_common:
            self._note()

    def _note(self) -> None:
        """What was said so far holds from here on."""
        rule = NO_RULE if self._common.is_signal else self._state.rule()
        if len(self.starts) >= _MAX_ROWS:
            raise ParseError(".eh_frame", "an entry", "fewer rows")
        if self.starts and self.starts[-1] == self._at:
            self.rules[-1] = rule
        else:
            self.starts.append(self._at)
            self.rules.append(rule)

    def _advance(self, steps: int) -> None:
        self._note()
        self._at += steps * self._common.code_step

    def _step(self, reader: _Reader) -> None:
        code = reader.u8()
        low = code & 0x3F
        state, scale = self._state, self._common.data_step
        match code & 0xC0 or code:
            case 0x40:
                self._advance(low)
            case 0x80:
                state.saved[low] = reader.uleb() * scale
            case 0xC0:
                self._restore(low)
            case 0x00:
                pass
            case 0x02:
                self._advance(reader.u8())
            case 0x03:
                self._advance(reader.number("H"))
            case 0x04:
                self._advance(reader.number("I"))
            case 0x05:
                register = reader.uleb()
                state.saved[register] = reader.uleb() * scale
            case 0x06:
                self._restore(reader.uleb())
            case 0x07:
                register = reader.uleb()
                state.saved[register] = None
                state.undefined.add(register)
            case 0x08:
                state.saved.pop(reader.uleb(), None)
            case 0x09:  # it is in another register
                state.saved[reader.uleb()] = None
                reader.uleb()
            case 0x0A:
                self._kept.append(state.copy())
            case 0x0B:
                self._state = self._kept.pop()
            case 0x0C:
                state.base, state.cfa = reader.uleb(), reader.uleb()
            case 0x0D:
                state.base = reader.uleb()
            case 0x0E:
                state.cfa = reader.uleb()
            case 0x0F:
                stub = _STUB.fullmatch(reader.block())
                state.base = _OF_STUB if stub else _ANY
                state.cfa = stub[1][0] - 0x30 if stub else 0
            case 0x10 | 0x16:
                state.saved[reader.uleb()] = None
                reader.block()
            case 0x11:
                register = reader.uleb()
                state.saved[register] = reader.sleb() * scale
            case 0x12:
                state.base, state.cfa = reader.uleb(), reader.sleb() * scale
            case 0x13:
                state.cfa = reader.sleb() * scale
            case 0x14 | 0x15:
                state.saved[reader.uleb()] = None
                reader.uleb()
            case 0x2E:
                reader.uleb()  # how much was pushed as arguments: for exceptions only
            case 0x2F:
                register = reader.uleb()
                state.saved[register] = -reader.uleb() * scale
            case _:
                raise ParseError(".eh_frame", f"offset {reader.at}", "a known instruction")

    def _restore(self, register: int) -> None:
        if register in self._initial.saved:
            self._state.saved[register] = self._initial.saved[register]
        else:
            self._state.saved.pop(register, None)
