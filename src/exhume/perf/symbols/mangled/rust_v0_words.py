"""The lexical half of Rust's v0 mangling: numbers, identifiers, references back, constants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

BASIC = {
    "b": "bool", "c": "char", "e": "str", "u": "()", "a": "i8", "s": "i16", "l": "i32", "x": "i64",
    "n": "i128", "i": "isize", "h": "u8", "t": "u16", "m": "u32", "y": "u64", "o": "u128",
    "j": "usize", "f": "f32", "d": "f64", "z": "!", "p": "_", "v": "...",
}  # fmt: skip
_BASE62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MAX_PUNYCODE_CHARS = 256


class UnmangledError(Exception):
    """Not a name of this kind."""


class Cursor:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def take(self) -> str:
        if self.at >= len(self.text):
            raise UnmangledError
        self.at += 1
        return self.text[self.at - 1]

    def untake(self) -> None:
        self.at -= 1

    def skip(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.skip(token):
            raise UnmangledError

    def base62(self) -> int:
        """`_` is 0, `0_` is 1."""
        if self.skip("_"):
            return 0
        value = 0
        while not self.skip("_"):
            digit = _BASE62.find(self.take())
            if digit < 0 or value >= 1 << 64:
                raise UnmangledError
            value = value * 62 + digit
        return value + 1

    def disambiguator(self) -> int:
        return self.base62() + 1 if self.skip("s") else 0

    @contextmanager
    def back(self) -> Iterator[None]:
        """Read again from an earlier place; only ever backwards, so it comes to an end."""
        here = self.at - 1
        target = self.base62()
        if target >= here:
            raise UnmangledError
        after, self.at = self.at, target
        yield
        self.at = after

    def constant(self, kind: str) -> str:
        negative = "-" if self.skip("n") else ""
        end = self.text.find("_", self.at)
        digits = self.text[self.at : end]
        if end < 0 or len(digits) > 32 or any(c not in "0123456789abcdef" for c in digits):
            raise UnmangledError
        self.at = end + 1
        value = int(digits or "0", 16)
        if kind == "b" and value < 2:
            return "true" if value else "false"
        if kind == "c":
            char = chr(value) if value < 0x110000 else "?"
            return f"'{char}'" if char.isprintable() and char != "'" else f"'\\u{{{value:x}}}'"
        return f"{negative}{value}"


def identifier(cursor: Cursor) -> str:
    encoded = cursor.skip("u")
    begin = cursor.at
    while cursor.text[cursor.at : cursor.at + 1].isdigit():
        cursor.at += 1
        if cursor.text[begin] == "0":
            break
    digits = cursor.text[begin : cursor.at]
    if not 0 < len(digits) < 6:
        raise UnmangledError
    cursor.skip("_")
    text = cursor.text[cursor.at : cursor.at + int(digits)]
    if len(text) < int(digits):
        raise UnmangledError
    cursor.at += len(text)
    return _from_punycode(text) if encoded else text


def _from_punycode(text: str) -> str:
    """RFC 3492, with `_` where it has `-`."""
    if len(text) > _MAX_PUNYCODE_CHARS:
        raise UnmangledError
    head, mark, tail = text.rpartition("_")
    try:
        return (head + ("-" if mark else "") + tail).encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError) as error:
        raise UnmangledError from error
