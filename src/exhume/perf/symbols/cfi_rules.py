"""The programs of `.eh_frame`: what they say, instruction by instruction, about the caller."""

from __future__ import annotations

import re
import struct
from enum import IntEnum

from msgspec import Struct

from exhume.errors import ParseError

_MAX_ROWS = 100_000
_FRAME_POINTER, _STACK_POINTER, RETURN_ADDRESS = 6, 7, 16
"""As DWARF numbers the registers of x86-64."""
_LONGEST_BITS = 70
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


class Stub(Struct, frozen=True):
    """The PLT: stubs of 16 bytes, one like the other, which push a number at some point."""

    pushed_from: int

    def at(self, vaddr: int) -> Rule:
        cfa = 16 if vaddr & 15 >= self.pushed_from else 8
        return Rule(Base.STACK_POINTER, cfa, -8)


class Common(Struct, frozen=True):
    code_step: int
    data_step: int
    encoding: int
    """Of pointers to code."""
    has_sizes: bool
    is_signal: bool
    """It is the frame of a signal: registers are in the kernel's own layout."""
    program: bytes


class Reader:
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
        value, _ = self._leb()
        return value & (1 << 64) - 1

    def sleb(self) -> int:
        value, bits = self._leb()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _leb(self) -> tuple[int, int]:
        """A number, seven bits a byte, and how many bits that are."""
        value = bits = 0
        while bits <= _LONGEST_BITS:
            byte = self.u8()
            value |= (byte & 0x7F) << bits
            bits += 7
            if byte < 0x80:
                return value, bits
        raise ParseError(".eh_frame", f"offset {self.at}", "a number of 64 bits")

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

    def rule(self) -> Rule | Stub:
        if self.base == _OF_STUB:
            return Stub(self.cfa)
        bases = {_STACK_POINTER: Base.STACK_POINTER, _FRAME_POINTER: Base.FRAME_POINTER}
        base = bases.get(self.base, Base.NOTHING)
        returns = self.saved.get(RETURN_ADDRESS)
        frame = self.saved.get(_FRAME_POINTER, 0)
        if returns is None and RETURN_ADDRESS in self.undefined:
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


class Run:
    """Runs the program of an entry: a rule for each stretch of its function."""

    def __init__(self, common: Common, begin: int) -> None:
        self._common = common
        self._state = _State()
        self._kept: list[_State] = []
        self._at = begin
        self.starts: list[int] = []
        self.rules: list[Rule | Stub] = []
        self._initial = _State()
        self.all(Reader(common.program, 0, len(common.program)), is_common=True)
        self._initial = self._state.copy()

    def all(self, reader: Reader, *, is_common: bool = False) -> None:
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

    def _step(self, reader: Reader) -> None:
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
