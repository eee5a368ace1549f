"""Rust names of the older kind: C++ nesting with a hash at the end, `_ZN4core3fmt5write17h…E`."""

from __future__ import annotations

import re

# The last part is `h` and 16 digits: that is how these are told from C++.
_MANGLED = re.compile(r"_ZN((?:\d.*)?)17h[0-9a-f]{16}E(?:\..*)?", re.DOTALL)
_LENGTH = re.compile(r"\d{1,6}")
_ESCAPE = re.compile(r"\$([A-Za-z][0-9A-Za-z]{0,7})\$|\.\.")
_WORDS = {
    "SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ",",
}  # fmt: skip


def demangle(name: str) -> str | None:
    """The path without its hash; None where it isn't such a name."""
    match = _MANGLED.fullmatch(name)
    if match is None:
        return None
    text, at, parts = match[1], 0, []
    while at < len(text):
        length = _LENGTH.match(text, at)
        if length is None or length.end() + int(length[0]) > len(text):
            return None
        at = length.end() + int(length[0])
        parts.append(_plain(text[length.end() : at]))
    return "::".join(parts) if parts else None


def _plain(part: str) -> str:
    # An escape can't begin a name for a linker, so an underscore was put before it.
    return _ESCAPE.sub(_unescape, part[1:] if part.startswith("_$") else part)


def _unescape(match: re.Match[str]) -> str:
    word = match[1]
    if word is None:
        return "::"
    if word in _WORDS:
        return _WORDS[word]
    if word[0] == "u":
        try:
            char = chr(int(word[1:], 16))
        except (ValueError, OverflowError):
            return match[0]
        return char if char.isprintable() else match[0]
    return match[0]
