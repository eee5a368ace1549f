"""C++ names (`_Z…`, the Itanium ABI) as `perf report` prints them: without result and parameters.

Every part of the output is capped as it is made, and nothing is read twice: a name that doubles
itself with each substitution stays as cheap as it is long.
"""

from __future__ import annotations

import re

from exhume.perf.symbols.mangled.itanium_expressions import Expressions
from exhume.perf.symbols.mangled.itanium_words import (
    OPERATORS,
    STANDARD_FULL,
    UnmangledError,
    cut,
)

_SPECIAL_NAME = {
    "TH": "TLS init function for ",
    "TW": "TLS wrapper function for ",
    "GV": "guard variable for ",
    "GR": "reference temporary for ",
}
_SPECIAL_TYPE = {
    "TV": "vtable for ",
    "TT": "VTT for ",
    "TI": "typeinfo for ",
    "TS": "typeinfo name for ",
}
_MAX_PLAIN_CHARS = 500
"""Whatever is cut is longer."""
_NESTED = re.compile(r"_ZNK?(?=[1-9])")
_LENGTH = re.compile(r"[1-9][0-9]*")
_NESTED_END = re.compile(r"(?:([CD])[012345])?E")
_GOES_ON = ("I", "B")
"""Template arguments, a tag."""
_CLONES = {"GTt": "transaction clone for ", "GTn": "non-transaction clone for "}


def demangle(name: str) -> str | None:
    """None where it is no C++ name, or one with a part of the grammar that is not read here."""
    if not name.startswith("_Z"):
        return None
    return plain(name) or by_grammar(name)


def by_grammar(name: str) -> str | None:
    try:
        return _Names(name, 2).encoding()
    except (UnmangledError, RecursionError):
        return None


def plain(name: str) -> str | None:
    """Most names are nothing but words, one inside the other, and maybe a constructor: no grammar.

    None where there is more to it.
    """
    if len(name) > _MAX_PLAIN_CHARS or "_GLOBAL_" in name:
        return None
    found = _NESTED.match(name)
    parts: list[str] = []
    at = found.end() if found else 3 if name.startswith("L", 2) else 2
    while (number := _LENGTH.match(name, at)) is not None and (found or not parts):
        at = number.end() + int(number[0])
        if at > len(name):
            return None
        parts.append(name[number.end() : at])
    if not parts:
        return None
    if not found:
        return None if name.startswith(_GOES_ON, at) else parts[0]
    if (end := _NESTED_END.match(name, at)) is None:
        return None
    if end[1]:
        parts.append(parts[-1] if end[1] == "C" else f"~{parts[-1]}")
    return "::".join(parts)


class _Names(Expressions):
    def encoding(self) -> str:
        """A function's name; what follows it, its parameters, is left unread."""
        return self._special() if self.peek(1) in ("T", "G") else self.name(of_function=True)

    def _special(self) -> str:
        two, three = self.peek(2), self.peek(3)
        self.at += 2
        if two in _SPECIAL_NAME:
            return cut(_SPECIAL_NAME[two] + self.name())
        if two in _SPECIAL_TYPE:
            return cut(_SPECIAL_TYPE[two] + self.type_text())
        if three in _CLONES:
            self.at += 1
            return cut(_CLONES[three] + self.encoding())
        if two == "Tc":
            self._call_offset()
            self._call_offset()
            return cut(f"covariant return thunk to {self.encoding()}")
        if two in ("Th", "Tv"):
            self.at -= 1
            self._call_offset()
            virtual = "virtual" if two == "Tv" else "non-virtual"
            return cut(f"{virtual} thunk to {self.encoding()}")
        raise UnmangledError

    def _call_offset(self) -> None:
        fields = {"h": 1, "v": 2}.get(self.peek(1), 0)
        self.at += 1
        if not fields:
            raise UnmangledError
        for _ in range(fields):
            self.skip("n")
            self.number()
            self.expect("_")

    def name(self, of_function: bool = False) -> str:
        first = self.peek(1)
        if first == "N":
            return self._nested(of_function)
        if first == "Z":
            return self._local(of_function)
        if first == "S" and self.peek(2) != "St":
            text = self.substituted().text()
            if self.peek(1) != "I":
                raise UnmangledError
            return self.with_arguments(text, of_function)
        std = self.skip("St")
        text = self.unqualified("")
        text = f"std::{text}" if std else text
        if self.peek(1) == "I":
            self.push(text)
            text = self.with_arguments(text, of_function)
        return text

    def _nested(self, of_function: bool) -> str:
        """`N K 3foo 3bar I…E E`: each prefix is a candidate for later substitution."""
        self.expect("N")
        self.skip("H")
        while self.peek(1) in ("r", "V", "K"):
            self.at += 1
        if self.peek(1) in ("R", "O"):
            self.at += 1
        text, pushed = "", False
        while not self.skip("E"):
            if self.skip("M"):  # of a member's initialiser
                continue
            text, pushed = self._longer(text, of_function)
            if pushed:
                self.push(text)
        if not text:
            raise UnmangledError
        if pushed:
            self.subs.pop()  # the whole is a candidate only as a type, and then `type` adds it
        return text

    def _longer(self, text: str, of_function: bool) -> tuple[str, bool]:
        """One part more, and whether that makes a new candidate."""
        first, two = self.peek(1), self.peek(2)
        if first == "I" and text:
            return self.with_arguments(text, of_function), True
        if not text and two == "St":
            self.at += 2
            return "std", False
        if not text and first == "S":
            text = self.substituted().text()
            constructor = self.peek(1) in ("C", "D")
            return (STANDARD_FULL[two] if constructor and two in STANDARD_FULL else text), False
        if not text and first == "T":
            return self.template_parameter().text(), True
        if not text and two in ("Dt", "DT"):
            return self.decltype(), True
        part = self.unqualified(text)
        return cut(f"{text}::{part}" if text else part), True

    def _local(self, of_function: bool) -> str:
        """`Z encoding E name`: something inside a function."""
        self.expect("Z")
        function = self.encoding()
        while not self.skip("E"):
            self._skip_parameter()
        if self.skip("s"):
            self._discriminator()
            return cut(f"{function}::string literal")
        if self.skip("d"):
            if self.peek(1) != "_":
                self.number()
            self.expect("_")
        text = cut(f"{function}::{self.name(of_function)}")
        self._discriminator()
        return text

    def _skip_parameter(self) -> None:
        if self.skip("Q"):
            self.expression()
        elif self.skip("."):
            raise UnmangledError
        else:
            self.type()

    def _discriminator(self) -> None:
        if self.skip("__"):
            self.number()
            self.expect("_")
        elif self.peek(1) == "_" and self.peek(2)[1:].isdecimal():
            self.at += 2

    def unqualified(self, scope: str) -> str:
        self.skip("F")  # a friend, in later editions of the ABI
        while self.skip("W"):  # a module
            self.skip("P")
            self.source_name()
        self.skip("L")  # internal linkage
        first, second = self.peek(1), self.peek(2)[1:]
        if first.isdecimal():
            text = self.source_name()
        elif scope and (first == "C" or (first == "D" and second.isdecimal())):
            text = self._constructor(scope)
        elif first == "U":
            text = self._unnamed()
        elif self.skip("DC"):
            text = f"[{', '.join(self.until_end(self.source_name))}]"
        else:
            text = self.operator()
        while self.skip("B"):
            text = cut(f"{text}[abi:{self.source_name()}]")
        return text

    def _constructor(self, scope: str) -> str:
        destructor = self.skip("D")
        inherited = not destructor and self.skip("C") and self.skip("I")
        self.at += 1
        if inherited:
            self.type()
        return ("~" if destructor else "") + last_name(scope)

    def _unnamed(self) -> str:
        if self.skip("Ut"):
            return f"{{unnamed type#{self._ordinal()}}}"
        if self.skip("Ub"):
            return f"{{block#{self._ordinal()}}}"
        self.expect("Ul")
        outer, self.scope = self.scope, None  # T_ in a lambda's parameters is its `auto`
        while self.peek(2) in ("Ty", "Tn"):
            if self.skip("Ty"):
                continue
            self.expect("Tn")
            self.type()
        types = self.until_end(self.type_text)
        self.scope = outer
        parameters = "" if types == ["void"] else ", ".join(types)
        return cut(f"{{lambda({parameters})#{self._ordinal()}}}")

    def _ordinal(self) -> int:
        """`_` is the first, `0_` the second."""
        index = 1 if self.peek(1) == "_" else self.number() + 2
        self.expect("_")
        return index

    def operator(self) -> str:
        code = self.peek(2)
        self.at += 2
        if code == "cv":
            return cut(f"operator {self.type_text()}")
        if code == "li":
            return f'operator"" {self.source_name()}'
        if code[:1] == "v" and code[1:].isdecimal():
            return f"operator {self.source_name()}"
        if code not in OPERATORS:
            raise UnmangledError
        word = OPERATORS[code]
        return f"operator {word}" if word[0].isalpha() else f"operator{word}"


def last_name(scope: str) -> str:
    """`std::vector<int, std::allocator<int> >` → `vector`."""
    depth, end = 0, len(scope)
    for at in range(len(scope) - 1, -1, -1):
        char = scope[at]
        if char in ">})]":
            depth += 1
        elif char in "<{([":
            depth -= 1
            if depth == 0 and char in "<[" and at > 0:
                end = at
        elif char == ":" and depth == 0:
            return scope[at + 1 : end]
    return scope[:end]
