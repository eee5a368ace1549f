"""Where in a mangled C++ name we are, and what it may refer back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from exhume.perf.symbols.mangled.itanium_words import UnmangledError, cut

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Part(NamedTuple):
    """A type in two halves: what a pointer to it stands between. `void (` and `)(int)`."""

    left: str
    right: str = ""

    def text(self) -> str:
        return cut(self.left + self.right)

    def wrapped(self, sign: str) -> Part:
        if not self.right or self.right[0] == ")":
            return Part(cut(self.left + sign), self.right)
        space = " " if self.right[0] == " " else ""
        return Part(cut(f"{self.left}{space}({sign}"), cut(f"){self.right}"))


class Cursor:
    def __init__(self, name: str, at: int) -> None:
        self.name_text = name
        self.at = at
        self.subs: list[Part] = []
        self.scope: list[Part] | None = []
        """The template arguments T_ stands for; None inside a lambda's parameters."""

    def peek(self, count: int) -> str:
        return self.name_text[self.at : self.at + count]

    def skip(self, token: str) -> bool:
        if self.name_text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.skip(token):
            raise UnmangledError

    def number(self) -> int:
        begin = self.at
        while self.peek(1).isdecimal():
            self.at += 1
        digits = self.name_text[begin : self.at]
        if not 0 < len(digits) < 10:
            raise UnmangledError
        return int(digits)

    def digits(self) -> str:
        """Of a literal, where a number may be long."""
        begin = self.at
        while self.peek(1).isalnum() and self.peek(1) != "E":
            self.at += 1
        return self.name_text[begin : self.at]

    def sequence(self) -> int:
        """`_` is 0, `0_` is 1, then base 36."""
        if self.skip("_"):
            return 0
        index = 0
        while not self.skip("_"):
            digit = _DIGITS.find(self.peek(1) or "?")
            if digit < 0 or index > 1 << 20:
                raise UnmangledError
            index = index * 36 + digit
            self.at += 1
        return index + 1

    def source_name(self) -> str:
        length = self.number()
        text = self.peek(length)
        if not length or len(text) < length:
            raise UnmangledError
        self.at += length
        if text.startswith("_GLOBAL_") and text[8:10] in ("_N", ".N", "$N"):
            return "(anonymous namespace)"
        return cut(text)

    def until_end(self, item: Callable[[], str]) -> list[str]:
        found = []
        while not self.skip("E"):
            before = self.at
            found.append(item())
            if self.at == before:
                raise UnmangledError
        return found

    def push(self, part: Part | str) -> None:
        self.subs.append(part if isinstance(part, Part) else Part(part))
