"""Words of several styles, wrapped at the screen's width: no line ends in blanks or is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells
from rich.style import Style
from rich.text import Text

PLAIN = Style()
_LEAST = 8
"""Cells of text beside the indent, however narrow the screen is."""

_BREAK = re.compile(r" +(?!%)")
"""A figure and its percent sign stay together."""
_SHELL_WORD = re.compile(r"(?:'[^']*'?|\"[^\"]*\"?|[^ '\"])+")

Part = tuple[str, Style]


def flow(
    parts: Sequence[Part],
    width: int,
    *,
    head: Text | None = None,
    indent: int = 0,
    is_command: bool = False,
) -> list[Text]:
    """`head` stands before the first line; every line after it begins at `indent`.

    `is_command`: broken between words of the shell only, however long those are.
    """
    first = head.copy() if head is not None else Text(" " * indent)
    if first.cell_len < indent:
        first.append(" " * (indent - first.cell_len))
    line, used = first, first.cell_len
    empty, lines = True, []
    words = _shell_words(parts) if is_command else _words(parts, max(_LEAST, width - indent))
    for word, style in words:
        length = cell_len(word)
        if not empty and used + 1 + length > max(width, indent + _LEAST):
            lines.append(line)
            line, used, empty = Text(" " * indent), indent, True
        if not empty:
            line.append(" ")
            used += 1
        line.append(word, style)
        used, empty = used + length, False
    lines.append(line)
    for one in lines:
        one.rstrip()
        one.no_wrap, one.overflow = True, "ignore"
    return lines


def _shell_words(parts: Sequence[Part]) -> Iterator[Part]:
    for text, style in parts:
        for word in _SHELL_WORD.findall(text):
            yield word, style


def _words(parts: Sequence[Part], room: int) -> Iterator[Part]:
    """A word longer than a line is broken: a cgroup's path, the kernel's line about an OOM."""
    for text, style in parts:
        for word in _BREAK.split(text):
            if word:
                for piece in chop_cells(word, room) if cell_len(word) > room else (word,):
                    yield piece, style
