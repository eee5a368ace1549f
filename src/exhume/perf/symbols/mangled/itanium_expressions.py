"""Expressions in mangled C++ names: literals, and what templates compute with them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from exhume.perf.symbols.mangled.itanium_types import Types
from exhume.perf.symbols.mangled.itanium_words import (
    BINARY,
    LITERAL_SUFFIX,
    OPERATORS,
    UNARY,
    UnmangledError,
    cut,
)

_CASTS = {"dc": "dynamic_cast", "sc": "static_cast", "cc": "const_cast", "rc": "reinterpret_cast"}
_OF_TYPE = {"st": "sizeof ", "at": "alignof ", "ti": "typeid "}
_OF_VALUE = {"sz": "sizeof ", "az": "alignof ", "te": "typeid ", "nx": "noexcept ", "tw": "throw "}


class Expressions(Types, ABC):
    """Names are within expressions, and expressions within names: those come in `itanium`."""

    @abstractmethod
    def encoding(self) -> str: ...

    @abstractmethod
    def unqualified(self, scope: str) -> str: ...

    def literal(self) -> str:
        """`Lb1E` is true, `Lj5E` 5u, `LN3foo4kindE2E` (foo::kind)2, `L_Z3barvE` bar."""
        self.expect("L")
        if self.skip("_Z") or self.skip("Z"):
            text = self.encoding()
            while not self.skip("E"):
                self.type()
            return text
        code = self.peek(1)
        kind = self.type_text()
        negative = "-" if self.skip("n") else ""
        value = negative + self.digits()
        self.expect("E")
        if code == "b" and value in ("0", "1"):
            return "true" if value == "1" else "false"
        if code in LITERAL_SUFFIX:
            return value + LITERAL_SUFFIX[code]
        if code in ("f", "d", "e"):
            return f"({kind})[{value}]"
        return cut(f"({kind}){value}")

    def expression(self) -> str:
        return cut(self._expression())

    def _expression(self) -> str:
        first, code = self.peek(1), self.peek(2)
        if first == "L":
            return self.literal()
        if first == "T":
            return self.template_parameter().text()
        if code in ("fp", "fL"):
            return self._function_parameter()
        if first.isdecimal() or code in ("on", "sr", "dn", "gs"):
            return self._unresolved_name()
        self.at += 2
        if code in UNARY:
            if code in ("pp", "mm"):
                self.skip("_")
            operand = self.expression()
            return f"{OPERATORS[code]}{operand if code == 'ad' else f'({operand})'}"
        if code in BINARY:
            left, right = self.expression(), self.expression()
            inner = f"({left}){OPERATORS[code]}({right})"
            return f"({inner})" if code == "gt" else inner
        if code == "qu":
            return f"({self.expression()})?({self.expression()}) : ({self.expression()})"
        if code == "cl":
            return f"({self.expression()})({', '.join(self.until_end(self.expression))})"
        if code in ("cv", "tl"):
            kind = self.type_text()
            if code == "cv" and not self.skip("_"):
                return f"({kind})({self.expression()})"
            values = ", ".join(self.until_end(self.expression))
            return f"{kind}{{{values}}}" if code == "tl" else f"({kind})({values})"
        if code == "il":
            return f"{{{', '.join(self.until_end(self.expression))}}}"
        if code in _CASTS:
            return f"{_CASTS[code]}<{self.type_text()}>({self.expression()})"
        if code in _OF_TYPE:
            return f"{_OF_TYPE[code]}({self.type_text()})"
        if code in _OF_VALUE:
            return f"{_OF_VALUE[code]}({self.expression()})"
        if code in ("dt", "pt"):
            left = self.expression()
            return f"{left}{'.' if code == 'dt' else '->'}{self._unresolved_name()}"
        if code == "ix":
            return f"({self.expression()})[{self.expression()}]"
        if code in ("sZ", "sp"):
            inner = self.expression()
            return f"sizeof...({inner})" if code == "sZ" else f"{inner}..."
        raise UnmangledError

    def _function_parameter(self) -> str:
        """`fp_` the first parameter, `fpT` this."""
        if self.skip("fpT"):
            return "this"
        self.at += 1
        if self.skip("L"):
            self.number()
        self.expect("p")
        while self.peek(1) in ("r", "V", "K"):
            self.at += 1
        return f"{{parm#{self.sequence() + 1}}}"

    def _unresolved_name(self) -> str:
        prefix = "::" if self.skip("gs") else ""
        if self.skip("sr"):
            prefix += self._scope() + "::"
        return cut(prefix + self._base_name())

    def _scope(self) -> str:
        if self.peek(1).isdecimal():
            return cut("::".join(self.until_end(self._base_name)))
        nested = self.skip("N")
        parts = [self.type_text()]
        if nested:
            parts += self.until_end(self._base_name)
        return cut("::".join(parts))

    def _base_name(self) -> str:
        if self.skip("dn"):
            return "~" + (self.source_name() if self.peek(1).isdecimal() else self.type_text())
        self.skip("on")
        text = self.unqualified("")
        return self.with_arguments(text) if self.peek(1) == "I" else text
