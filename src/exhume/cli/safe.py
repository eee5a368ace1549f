"""Names from the machine are hostile: process names, frames, cgroup paths and log lines.

Whoever may name a process may put terminal escapes, newlines or right-to-left overrides into it.
Everything shown goes through `printable`, and into `rich.text.Text`, never into rich markup.
"""

from __future__ import annotations

import unicodedata

# Control, format (bidi and zero width), lone surrogate, private use, unassigned; line and
# paragraph separators. Spaces other than U+0020 stay: they can't move the cursor.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# More marks than this on one letter are drawn over the neighbouring lines.
_MAX_COMBINING = 2


def printable(text: str) -> str:
    """The same text on one line, every character that could do more than show written as \\xNN."""
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    combining = 0
    for character in text:
        category = unicodedata.category(character)
        combining = combining + 1 if category in ("Mn", "Me") else 0
        if category in _UNSAFE or combining > _MAX_COMBINING:
            shown.append(escaped(character))
        else:
            shown.append(character)
    return "".join(shown)


def escaped(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
