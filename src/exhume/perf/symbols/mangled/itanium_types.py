"""Types and template arguments of mangled C++ names."""

from __future__ import annotations

from exhume.perf.symbols.mangled.itanium_cursor import Cursor, Part
from exhume.perf.symbols.mangled.itanium_words import (
    BUILTIN,
    BUILTIN_D,
    STANDARD,
    UnmangledError,
    cut,
)

_QUALIFIERS = {"r": " restrict", "V": " volatile", "K": " const"}


class Types(Cursor):
    def name(self, of_function: bool = False) -> str:
        raise NotImplementedError

    def expression(self) -> str:
        raise NotImplementedError

    def literal(self) -> str:
        raise NotImplementedError

    def type_text(self) -> str:
        return self.type().text()

    def type(self) -> Part:
        first = self.peek(1)
        if first in BUILTIN:
            self.at += 1
            return Part(BUILTIN[first])
        if first in _QUALIFIERS:
            part = self._qualified()
        elif first == "P":
            part = self._after("P").wrapped("*")
        elif first in ("R", "O"):
            part = self._reference(first)
        elif first in ("C", "G"):
            part = Part(cut(self._after(first).text() + (" _Complex" if first == "C" else " imag")))
        elif first == "F" or self.peek(2) in ("Do", "DO", "Dw", "Dx"):
            part = self._function()
        elif first == "A":
            part = self._array()
        elif first == "M":
            part = self._member_pointer()
        elif first == "T" and self.peek(2) not in ("Ts", "Tu", "Te"):
            part = self.template_parameter()
            if self.peek(1) == "I":
                self.push(part)
                part = Part(self.with_arguments(part.text()))
        elif first == "S" and self.peek(2) != "St":
            part = self.substituted()
            if self.peek(1) != "I":
                return part
            part = Part(self.with_arguments(part.text()))
        elif first == "D":
            return self._d_type()
        elif first == "U":
            self.at += 1
            vendor = self.source_name() + (self.arguments_text() if self.peek(1) == "I" else "")
            part = Part(cut(f"{self.type().text()} {vendor}"))
        elif self.skip("u"):
            part = Part(self.source_name() + (self.arguments_text() if self.peek(1) == "I" else ""))
        else:
            if first == "T":
                self.at += 2  # struct, union or enum, said aloud
            part = Part(self.name())
        self.push(part)
        return part

    def _after(self, token: str) -> Part:
        self.expect(token)
        return self.type()

    def _qualified(self) -> Part:
        words = ""
        while self.peek(1) in _QUALIFIERS:
            words = _QUALIFIERS[self.peek(1)] + words
            self.at += 1
        if self.peek(1) == "F" or self.peek(2) in ("Do", "DO", "Dw", "Dx"):
            part = self._function()
            return Part(part.left, cut(part.right + words))
        part = self.type()
        return Part(cut(part.left + words), part.right)

    def _reference(self, kind: str) -> Part:
        part = self._after(kind)
        if part.left.endswith("&&"):
            return Part(part.left[:-1], part.right) if kind == "R" else part
        if part.left.endswith("&"):
            return part
        return part.wrapped("&" if kind == "R" else "&&")

    def _function(self) -> Part:
        suffix = ""
        if self.skip("Do"):
            suffix = " noexcept"
        elif self.skip("DO"):
            suffix = f" noexcept({self.expression()})"
            self.expect("E")
        elif self.skip("Dw"):
            suffix = f" throw({', '.join(self.until_end(self.type_text))})"
        self.skip("Dx")
        self.expect("F")
        self.skip("Y")
        result = self.type()
        types = []
        while not self.skip("E"):
            if self.peek(2) in ("RE", "OE"):
                suffix = (" &" if self.skip("R") else " &&" if self.skip("O") else "") + suffix
                continue
            types.append(self.type_text())
        parameters = "" if types == ["void"] else ", ".join(types)
        return Part(cut(f"{result.left} "), cut(f"({parameters}){suffix}{result.right}"))

    def _array(self) -> Part:
        self.expect("A")
        if self.peek(1).isdecimal():
            bound = self.digits()
        else:
            bound = "" if self.peek(1) == "_" else self.expression()
        self.expect("_")
        part = self.type()
        inner = part.right.removeprefix(" ")
        return Part(part.left, cut(f" [{bound}]{inner}"))

    def _member_pointer(self) -> Part:
        self.expect("M")
        owner = self.type().text()
        member = self.type()
        if member.right:
            return member.wrapped(f"{owner}::*")
        return Part(cut(f"{member.left} {owner}::*"))

    def _d_type(self) -> Part:
        code = self.peek(2)
        if code in BUILTIN_D:
            self.at += 2
            return Part(BUILTIN_D[code])
        if self.skip("DF"):
            bits = self.number()
            if self.skip("b"):
                return Part("std::bfloat16_t")
            self.skip("x")
            self.expect("_")
            return Part(f"_Float{bits}")
        if code in ("DB", "DU"):
            self.at += 2
            bits_text = str(self.number()) if self.peek(1).isdecimal() else self.expression()
            self.expect("_")
            return Part(f"{'unsigned ' if code == 'DU' else ''}_BitInt({bits_text})")
        if code in ("Dt", "DT"):
            part = Part(self.decltype())
        elif self.skip("Dp"):
            part = self.type()
            if self.scope is None:
                part = Part(cut(part.text() + "..."))
        elif self.skip("Dv"):
            size = str(self.number()) if self.peek(1).isdecimal() else self.expression()
            self.expect("_")
            part = Part(cut(f"{self.type().text()} __vector({size})"))
        else:
            raise UnmangledError
        self.push(part)
        return part

    def decltype(self) -> str:
        if not (self.skip("Dt") or self.skip("DT")):
            raise UnmangledError
        text = cut(f"decltype ({self.expression()})")
        self.expect("E")
        return text

    def substituted(self) -> Part:
        code = self.peek(2)
        if code in STANDARD and code != "St":
            self.at += 2
            return Part(STANDARD[code])
        self.expect("S")
        index = self.sequence()
        if index >= len(self.subs):
            raise UnmangledError
        return self.subs[index]

    def template_parameter(self) -> Part:
        self.expect("T")
        if self.skip("L"):  # of an outer template
            self.number()
            self.expect("_")
        index = self.sequence()
        if self.scope is None:
            return Part(f"auto:{index + 1}")
        # A conversion operator names its template's parameter before the arguments are known.
        return self.scope[index] if index < len(self.scope) else Part("auto")

    def with_arguments(self, text: str, of_function: bool = False) -> str:
        parts = self._arguments()
        if of_function:
            self.scope = parts
        space = " " if text.endswith("<") else ""
        return cut(text + space + _bracketed(parts))

    def arguments_text(self) -> str:
        return _bracketed(self._arguments())

    def _arguments(self) -> list[Part]:
        self.expect("I")
        found: list[Part] = []
        while not self.skip("E"):
            found.append(self._argument())
        return found

    def _argument(self) -> Part:
        first = self.peek(1)
        if first == "J":
            self.at += 1
            pack = []
            while not self.skip("E"):
                pack.append(self._argument().text())
            return Part(cut(", ".join(filter(None, pack))))
        if first == "X":
            self.at += 1
            text = self.expression()
            self.expect("E")
            return Part(text)
        if first == "L":
            return Part(self.literal())
        if self.peek(2) in ("Ty", "Tn", "Tt", "Tp"):
            raise UnmangledError
        return self.type()


def _bracketed(parts: list[Part]) -> str:
    inner = cut(", ".join(text for part in parts if (text := part.text())))
    return f"<{inner} >" if inner.endswith(">") else f"<{inner}>"
