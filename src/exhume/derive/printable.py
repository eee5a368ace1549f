"""Text that nobody can be tricked with: one line, every character in it one that shows."""

from __future__ import annotations

import unicodedata

# More marks than this on one letter are drawn over the neighbouring lines.
_MAX_COMBINING = 2


def printable(text: str) -> str:
    """The same text on one line, every character that could do more than show written as \\xNN."""
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    combining = 0
    for character in text:
        combining = combining + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        # Not printable: controls, bidi and zero width, surrogates, unassigned, separators but " ".
        if not character.isprintable() or combining > _MAX_COMBINING:
            shown.append(escaped(character))
        else:
            shown.append(character)
    return "".join(shown)


def escaped(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
