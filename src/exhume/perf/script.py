"""perf-script text → columns: a few MiB at a time, every distinct text looked at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.perf import script_header
from exhume.perf.script_header import MAX_HEADER_BYTES, ScriptHeader
from exhume.perf.script_scan import Scanned, Scanner

BLOCK_BYTES = 4 << 20
MAX_SAMPLE_BYTES = 64 << 20
"""A longer text without the end of a sample is none."""
MAX_STACKS = 1 << 18
"""Distinct stacks (or lines) remembered; then they are numbered anew: memory stays bounded."""
_SHOWN_BYTES = 60
_MARK = re.compile(rb"^[ \t]*# ========[ \t]*\r?\n", re.MULTILINE)
"""Stands above and below the header of `perf script --header`."""
_CHATTER_BYTES = 1 << 14
"""So much may stand above it: a prompt, or what perf complained of."""


class ScriptBlock(Struct, frozen=True):
    columns: Scanned
    offset: int
    """Of the block in the text."""
    is_fresh: bool
    """Numbers of stacks and lines count from 0 again from this block on."""


class ScriptReader:
    """`header` first, then `blocks` once."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream = stream
        self._path = path
        self._first = _read_full(stream, BLOCK_BYTES)
        self._is_all = len(self._first) < BLOCK_BYTES
        begin, end = _marked(self._first)
        header = self._first[begin:end] or _comments(self._first)
        dated = script_header.dated(self._first)
        self.header: ScriptHeader = replace(script_header.parse(header), dated=dated)
        if begin < end:  # not to be read once more, as what stands above it is
            blank = b"#" * (end - begin - 1)
            self._first = self._first[:begin] + blank + self._first[end - 1 :]
        self.odd_lines = 0
        self.first_odd = ""
        """Where and what the first line is that belongs to no sample."""

    def blocks(self) -> Iterator[ScriptBlock]:
        scanner = Scanner()
        text, at_end, offset = self._first, self._is_all, 0
        self._first = b""
        is_fresh = True
        while text or not at_end:
            found = scanner.read(text, at_end)
            self._note_odd(found, text, offset)
            if len(found):
                yield ScriptBlock(found, offset, is_fresh)
                is_fresh = scanner.remembered > MAX_STACKS
                if is_fresh:
                    scanner.forget_stacks()
            offset += found.consumed
            text = text[found.consumed :]
            if at_end and found.consumed == 0:
                break
            if not at_end and (found.consumed == 0 or len(text) < BLOCK_BYTES // 2):
                if len(text) > MAX_SAMPLE_BYTES:
                    raise ParseError(
                        self._path, f"offset {offset}", "the samples of perf script",
                        todo="this part of it has no end of a sample; is it text of perf script?",
                    )  # fmt: skip
                more = _read_full(self._stream, BLOCK_BYTES + len(text))
                at_end = len(more) < BLOCK_BYTES + len(text)
                text += more

    def _note_odd(self, found: Scanned, text: bytes, offset: int) -> None:
        if found.odd and not self.odd_lines:
            line = text[found.first_odd : found.first_odd + _SHOWN_BYTES].partition(b"\n")[0]
            shown = line.decode("utf-8", "replace").strip()
            self.first_odd = f"offset {offset + found.first_odd}: {shown!r}"
        self.odd_lines += found.odd


def _marked(text: bytes) -> tuple[int, int]:
    """Where the header begins and ends, with its marks; the same where it has none.

    A command that was recorded may have newlines in it, and then its line is no comment to its end.
    """
    begin = _MARK.search(text, 0, _CHATTER_BYTES)
    end = begin and _MARK.search(text, begin.end(), MAX_HEADER_BYTES)
    return (begin.start(), end.end()) if begin and end else (0, 0)


def _comments(text: bytes) -> bytes:
    """The comments that it begins with."""
    at = 0
    while text[at : at + 1] in (b"#", b"\n"):
        following = text.find(b"\n", at)
        if following < 0:
            return text
        at = following + 1
    return text[:at]


def _read_full(stream: BinaryIO, size: int) -> bytes:
    """As much as was asked for, unless the text ends: pipes and decompressors give less."""
    parts: list[bytes] = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
