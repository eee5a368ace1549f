"""A log as lines of text, whatever it is: endless lines, zero bytes, colours, a file cut short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE = 1 << 14
"""Longer ones are cut: no signature looks that far."""
_BLOCK_BYTES = 1 << 20
# Colours, `\x1b(B` of terminals that reset more than those, and titles of windows.
_ESCAPE = re.compile(
    rb"\x1b(?:\[[0-9;?]{0,40}[A-Za-z]|\([A-Z0-9]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))"
)
_BYTE_ORDER = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""What Windows begins a text with. Of two bytes a character the zero one goes, which will do."""
_LINE_END = re.compile(r"\r?\n|\r")
# `> ` of mail, blanks of Markdown, `  12  ` and `12 | ` of who numbers lines, `kern.log:` and
# `1234:` of grep, `1234-` around what it found.
_PASTED = re.compile(
    r"(?:[ \t]{0,16}(?:>[ \t>]{0,16}|\d{1,6}[ \t]{1,4}(?:\| )?(?=[\[A-Z]))?"
    r"|(?:[\w./~-]{1,200}[:-])?(?:\d{1,9}[:-])?)"
    r"(?=\[ {0,8}\+?\d|\[\w|<\d{1,3}>|\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} [A-Z\d ][a-z\d]|kern *:|\{)"
)


def lines_of(stream: BinaryIO, max_line: int = MAX_LINE) -> Iterator[str]:
    """Without their ends. The last one counts also where it has none."""
    rest = b""
    while data := stream.read(_BLOCK_BYTES):
        data = rest + data
        end = data.rfind(b"\n")
        if end < 0:  # the last byte may be half of the end of a line
            end = data.rfind(b"\r", 0, len(data) - 1)
        if end < 0:
            rest = data[:max_line]
            continue
        rest = data[end + 1 :]
        yield from split(data[:end], max_line)
    if rest:
        yield from split(rest, max_line)


def split(data: bytes, max_line: int = MAX_LINE) -> Iterator[str]:
    """Whole lines. A log that was emptied while it was written to begins with zero bytes.

    What a progress bar has written over counts as a line of its own.
    """
    for mark in _BYTE_ORDER:
        data = data.removeprefix(mark)
    data = without_colours(data.replace(b"\0", b""))
    text = data.decode("utf-8", "replace").removesuffix("\r")
    for line in _LINE_END.split(text) if "\r" in text else text.split("\n"):
        yield line[:max_line].rstrip("\r")


def without_colours(text: bytes) -> bytes:
    """And without what else only a terminal understands."""
    return _ESCAPE.sub(b"", text) if b"\x1b" in text else text


def unpasted(line: str) -> str:
    """Without what mail, Markdown or grep put before a line of a log."""
    found = _PASTED.match(line)
    return line[found.end() :] if found is not None else line


def head_lines(head: bytes, limit: int = 200) -> list[str]:
    """The first lines that say anything; the last of them may be cut off and is left out."""
    found = [line for line in split(head[: 1 << 16]) if line.strip()]
    if len(head) >= 1 << 16 and len(found) > 1:
        found = found[:-1]
    return found[:limit]
