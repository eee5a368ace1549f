"""C++ names (`_Z…`, the Itanium ABI) as `perf report` prints them: without return and parameters.

Our own, because the demanglers at hand (libstdc++'s, LLVM's) print a hostile name of 500 bytes as
2^40 characters. Here every part of the output is capped as it is made, and the work is counted.
Only the name is read to the end; the parameters behind it are skipped where nothing needs them.
"""

from __future__ import annotations

from exhume.perf.symbols.itanium_types import Types
from exhume.perf.symbols.itanium_words import OPERATORS, STANDARD, STANDARD_FULL, Unmangled, cut

_SPECIAL = {
    "Tc": "covariant return thunk to ",
    "TH": "TLS init function for ",
    "TW": "TLS wrapper function for ",
    "GV": "guard variable for ",
    "GR": "reference temporary for ",
    "GTt": "transaction clone for ",
    "GTn": "non-transaction clone for ",
}
_SPECIAL_TYPE = {
    "TV": "vtable for ",
    "TT": "VTT for ",
    "TI": "typeinfo for ",
    "TS": "typeinfo name for ",
}


def demangle(name: str) -> str | None:
    """None where it is no C++ name, or one beyond the parts of the grammar that are read here."""
    if not name.startswith("_Z"):
        return None
    try:
        return _Names(name, 2).encoding()
    except (Unmangled, RecursionError):
        return None


class _Names(Types):
    """The half of the grammar that is about names; `Types` is the other."""

    def encoding(self) -> str:
        if self.peek(1) in ("T", "G"):
            return self._special()
        return self.name(of_function=True)

    def _special(self) -> str:
        for code in (self.peek(3), self.peek(2)):
            if code in _SPECIAL:
                self.at += len(code)
                if code == "Tc":
                    self._call_offset()
                    self._call_offset()
                    return cut(_SPECIAL[code] + self.encoding())
                inner = self.encoding() if code.startswith("GT") else self.name()
                return cut(_SPECIAL[code] + inner)
            if code in _SPECIAL_TYPE:
                self.at += 2
                return cut(_SPECIAL_TYPE[code] + self.type_text())
        if self.peek(2) in ("Th", "Tv"):
            virtual = "virtual" if self.peek(2) == "Tv" else "non-virtual"
            self.at += 1
            self._call_offset()
            return cut(f"{virtual} thunk to {self.encoding()}")
        raise Unmangled

    def _call_offset(self) -> None:
        kind = self.take(1)
        if kind not in ("h", "v"):
            raise Unmangled
        for _ in range(1 if kind == "h" else 2):
            self.skip("n")
            self.number()
            self.expect("_")

    def name(self, of_function: bool = False) -> str:
        with self.deeper():
            first = self.peek(1)
            if first == "N":
                return self._nested(of_function)
            if first == "Z":
                return self._local()
            if first == "S" and self.peek(2) != "St":
                # A template that is a substitution: the arguments must follow.
                text = self.substitution()
                if self.peek(1) != "I":
                    raise Unmangled
                return self.with_arguments(text, of_function)
            std = self.skip("St")
            text = ("std::" if std else "") + self._unqualified("")
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
        text, fresh = "", False
        while not self.skip("E"):
            first = self.peek(1)
            fresh = True
            if first == "I":
                if not text:
                    raise Unmangled
                text = self.with_arguments(text, of_function)
            elif first == "S" and not text:
                fresh = self.peek(2) != "St"
                text, fresh = ("std", False) if self.skip("St") else (self._prefix(), False)
            elif first == "T" and not text:
                text = self.template_parameter().text()
            elif self.peek(2) in ("Dt", "DT") and not text:
                text = self.decltype()
            elif self.skip("M"):
                continue
            else:
                part = self._unqualified(text)
                text = cut(f"{text}::{part}" if text else part)
            if fresh:
                self.push(text)
        if not text:
            raise Unmangled
        if fresh:
            self.subs.pop()  # the whole is a candidate only as a type, and then `type` adds it
        return text

    def _prefix(self) -> str:
        """A substitution at the start of a nested name; before a constructor its long form."""
        code = self.peek(2)
        text = self.substitution()
        if code in STANDARD_FULL and self.peek(1) in ("C", "D") and self.peek(2) != "Dt":
            return STANDARD_FULL[code]
        return text

    def _local(self) -> str:
        """`Z encoding E name`: something inside a function."""
        self.expect("Z")
        outer = self.scope
        function = self.encoding()
        while not self.skip("E"):
            self.skip_signature_part()
        if self.skip("s"):
            self._discriminator()
            return cut(f"{function}::string literal")
        if self.skip("d"):
            if self.peek(1) != "_":
                self.number()
            self.expect("_")
        text = cut(f"{function}::{self.name()}")
        self._discriminator()
        self.scope = outer
        return text

    def _discriminator(self) -> None:
        if self.skip("__"):
            self.number()
            self.expect("_")
        elif self.peek(1) == "_" and self.peek(2)[1:].isdigit():
            self.at += 2

    def _unqualified(self, scope: str) -> str:
        self.step()
        self.skip("F")  # a friend, by the ABI's later editions
        while self.skip("W"):  # a module
            self.skip("P")
            self.source_name()
        self.skip("L")  # internal linkage
        first = self.peek(1)
        if first.isdigit():
            text = self.source_name()
        elif first == "C" or (first == "D" and self.peek(2)[1:] in tuple("012345")):
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
        if not scope:
            raise Unmangled
        kind = self.take(1)
        inherited = kind == "C" and self.skip("I")
        self.take(1)
        if inherited:
            self.type_text()
        return ("~" if kind == "D" else "") + _last_name(scope)

    def _unnamed(self) -> str:
        if self.skip("Ut"):
            return f"{{unnamed type#{self._ordinal()}}}"
        if self.skip("Ub"):
            return f"{{block#{self._ordinal()}}}"
        if not self.skip("Ul"):
            raise Unmangled
        outer, self.scope = self.scope, None  # T_ in a lambda's parameters is its `auto`
        types = self.until_end(self.lambda_parameter)
        self.scope = outer
        parameters = "" if types == ["void"] else ", ".join(filter(None, types))
        return cut(f"{{lambda({parameters})#{self._ordinal()}}}")

    def _ordinal(self) -> int:
        """`_` is the first, `0_` the second."""
        index = 1 if self.peek(1) == "_" else self.number() + 2
        self.expect("_")
        return index

    def operator(self) -> str:
        code = self.take(2)
        if code == "cv":
            return cut(f"operator {self.type_text()}")
        if code == "li":
            return f'operator"" {self.source_name()}'
        if code[0] == "v" and code[1:].isdigit():
            return f"operator {self.source_name()}"
        if code not in OPERATORS:
            raise Unmangled
        word = OPERATORS[code]
        return f"operator {word}" if word[0].isalpha() else f"operator{word}"

    def substitution(self) -> str:
        code = self.peek(2)
        if code in STANDARD:
            self.at += 2
            text = STANDARD[code]
            while self.skip("B"):
                text = f"{text}[abi:{self.source_name()}]"
                self.push(text)
            return text
        return self.substituted().text()


def _last_name(scope: str) -> str:
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


# The standard abbreviations are written here once; `Types` asks `STANDARD` for them too.
assert STANDARD
