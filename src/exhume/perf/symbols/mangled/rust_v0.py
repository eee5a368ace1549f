"""Rust names of the newer kind, `_RNvCs…_4demo4main` (RFC 2603), without hashes.

A name may refer back into itself, so a short one can stand for an endless text: output is capped,
and so is the work, counted in parts of the grammar that were read.
"""

from __future__ import annotations

from collections.abc import Callable

from exhume.perf.symbols.mangled.rust_v0_words import BASIC, Cursor, UnmangledError, identifier

_MAX_CHARS = 2048
_MAX_STEPS = 20_000
_CLOSURES = {"C": "closure", "S": "shim"}


def demangle(name: str) -> str | None:
    """None where it isn't such a name."""
    if not name.startswith("_R"):
        return None
    text = name[2:].partition(".")[0]
    if not text or not text.isascii() or not text[0].isupper():
        return None
    printer = _Printer(text)
    try:
        printer.path(in_value=True)
    except _FullError:
        return "".join(printer.out)[: _MAX_CHARS - 3] + "..."
    except (UnmangledError, RecursionError):
        return None
    return "".join(printer.out)


class _FullError(Exception):
    """The text is long enough."""


class _Printer(Cursor):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.out: list[str] = []
        self.out_chars = 0
        self.steps = 0
        self.lifetimes = 0

    def put(self, text: str) -> None:
        self.out.append(text)
        self.out_chars += len(text)
        if self.out_chars > _MAX_CHARS:
            raise _FullError

    def _tag(self) -> str:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise _FullError
        return self.take()

    def path(self, in_value: bool) -> None:
        tag = self._tag()
        if tag == "C":
            self.disambiguator()
            self.put(identifier(self))
        elif tag == "M":
            self._impl_path()
            self.put("<")
            self.type()
            self.put(">")
        elif tag in ("X", "Y"):
            if tag == "X":
                self._impl_path()
            self.put("<")
            self.type()
            self.put(" as ")
            self.path(in_value=False)
            self.put(">")
        elif tag == "N":
            self._nested(in_value)
        elif tag == "I":
            self.path(in_value)
            self.put("::<" if in_value else "<")
            self._list(self._argument)
            self.put(">")
        elif tag == "B":
            with self.back():
                self.path(in_value)
        else:
            raise UnmangledError

    def _impl_path(self) -> None:
        """Where the impl block stands: not part of what is printed."""
        self.disambiguator()
        kept, chars = len(self.out), self.out_chars
        self.path(in_value=False)
        del self.out[kept:]
        self.out_chars = chars

    def _nested(self, in_value: bool) -> None:
        namespace = self.take()
        self.path(in_value)
        number = self.disambiguator()
        name = identifier(self)
        if namespace.isupper():
            kind = _CLOSURES.get(namespace, namespace)
            self.put(f"::{{{kind}{':' if name else ''}{name}#{number}}}")
        elif name:
            self.put(f"::{name}")

    def _list(self, item: Callable[[], None]) -> int:
        count = 0
        while not self.skip("E"):
            if count:
                self.put(", ")
            item()
            count += 1
        return count

    def _argument(self) -> None:
        if self.skip("L"):
            self._lifetime(self.base62())
        elif self.skip("K"):
            self.const()
        else:
            self.type()

    def _lifetime(self, index: int) -> None:
        if index == 0:
            self.put("'_")
            return
        depth = self.lifetimes - index
        if depth < 0:
            raise UnmangledError
        self.put(f"'{chr(ord('a') + depth)}" if depth < 26 else f"'_{depth}")

    def _binder(self) -> None:
        """`for<'a, 'b>`; the caller takes the lifetimes back."""
        count = self.base62() + 1 if self.skip("G") else 0
        if count > 64:
            raise UnmangledError
        if count:
            self.put("for<")
            for index in range(count):
                self.lifetimes += 1
                self.put(", " if index else "")
                self._lifetime(1)
            self.put("> ")

    def type(self) -> None:
        tag = self._tag()
        if tag in BASIC:
            self.put(BASIC[tag])
        elif tag in ("R", "Q"):
            self.put("&")
            if self.skip("L") and (index := self.base62()):
                self._lifetime(index)
                self.put(" ")
            self.put("mut " if tag == "Q" else "")
            self.type()
        elif tag in ("P", "O"):
            self.put("*const " if tag == "P" else "*mut ")
            self.type()
        elif tag in ("A", "S"):
            self.put("[")
            self.type()
            if tag == "A":
                self.put("; ")
                self.const()
            self.put("]")
        elif tag == "T":
            self.put("(")
            self.put(",)" if self._list(self.type) == 1 else ")")
        elif tag in ("F", "D"):
            outer = self.lifetimes
            self._function() if tag == "F" else self._dyn()
            self.lifetimes = outer
        elif tag == "B":
            with self.back():
                self.type()
        else:
            self.untake()
            self.path(in_value=False)

    def _function(self) -> None:
        self._binder()
        self.put("unsafe " if self.skip("U") else "")
        if self.skip("K"):
            abi = "C" if self.skip("C") else identifier(self).replace("_", "-")
            self.put(f'extern "{abi}" ')
        self.put("fn(")
        self._list(self.type)
        self.put(")")
        if not self.skip("u"):
            self.put(" -> ")
            self.type()

    def _dyn(self) -> None:
        self.put("dyn ")
        self._binder()
        first = True
        while not self.skip("E"):
            self.put("" if first else " + ")
            self._dyn_trait()
            first = False
        self.expect("L")
        if index := self.base62():
            self.put(" + ")
            self._lifetime(index)

    def _dyn_trait(self) -> None:
        is_open = self._open_path()
        while self.skip("p"):
            self.put(", " if is_open else "<")
            is_open = True
            self.put(identifier(self) + " = ")
            self.type()
        self.put(">" if is_open else "")

    def _open_path(self) -> bool:
        """A path whose `<…` stays open for the associated types of a `dyn Trait`."""
        if self.skip("B"):
            with self.back():
                return self._open_path()
        if not self.skip("I"):
            self.path(in_value=False)
            return False
        self.path(in_value=False)
        self.put("<")
        self._list(self._argument)
        return True

    def const(self) -> None:
        tag = self._tag()
        if tag == "B":
            with self.back():
                self.const()
        elif tag == "p":
            self.put("_")
        elif tag in "hjmoytsaxilnbc":
            self.put(self.constant(tag))
        else:
            raise UnmangledError
