"""A log as lines of text, whatever it is: endless lines, zero bytes, colours, a file cut short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE = 1 << 14
"""Longer ones are cut: no signature looks that far."""
_BLOCK_BYTES = 1 << 20
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]")


def lines_of(stream: BinaryIO, max_line: int = MAX_LINE) -> Iterator[str]:
    """Without their ends. The last one counts also where it has none."""
    rest = b""
    while data := stream.read(_BLOCK_BYTES):
        data = rest + data
        end = data.rfind(b"\n")
        if end < 0:
            rest = data[:max_line]
            continue
        rest = data[end + 1 :]
        yield from split(data[:end], max_line)
    if rest:
        yield from split(rest, max_line)


def split(data: bytes, max_line: int = MAX_LINE) -> Iterator[str]:
    """Whole lines. A log that was emptied while it was written to begins with zero bytes."""
    text = data.replace(b"\0", b"").decode("utf-8", "replace")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    for line in text.split("\n"):
        yield line[:max_line].rstrip("\r")


def head_lines(head: bytes, limit: int = 200) -> list[str]:
    """The first lines that say anything; the last of them may be cut off and is left out."""
    found = [line for line in split(head[: 1 << 16]) if line.strip()]
    if len(head) >= 1 << 16 and len(found) > 1:
        found = found[:-1]
    return found[:limit]
