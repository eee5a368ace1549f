"""perf-script text → columns: a few MiB at a time, every distinct text looked at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.perf import script_header
from exhume.perf.records import Lost
from exhume.perf.script_header import MAX_HEADER_BYTES, ScriptHeader, newest_capture
from exhume.perf.script_scan import Scanned, Scanner, fitting

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BLOCK_BYTES = 4 << 20
MAX_SAMPLE_BYTES = 64 << 20
"""A longer text without the end of a sample is none."""
MAX_STACKS = 1 << 18
"""Distinct stacks (or lines) remembered; then they are numbered anew: memory stays bounded."""
_SHOWN_BYTES = 60
_MOST_DATED = 1 << 12
"""A year of captures of two hours each, in one file."""
_MARK = re.compile(rb"^[ \t]*# ========[ \t]*\r?\n(?P<opens>(?=[ \t]*# [a-z]))?", re.MULTILINE)
"""Stands above and below the header of `perf script --header`."""
_COMMENTS = re.compile(rb"(?:#[^\n]*(?:\n|\Z)|\n)*")
_CHATTER_BYTES = 1 << 14
"""So much may stand above it: a prompt, or what perf complained of."""


class Stream(Protocol):
    """All that is needed of one."""

    def readinto(self, buffer: WriteableBuffer, /) -> int | None: ...


class ScriptBlock(Struct, frozen=True):
    columns: Scanned
    offset: int
    """Of the block in the text."""
    is_fresh: bool
    """Numbers of stacks and lines count from 0 again from this block on."""
    has_ids: bool
    """Of processes and threads. One text has them everywhere, or nowhere."""


class ScriptReader:
    """`header` first, then `blocks` once."""

    def __init__(self, stream: Stream, path: str) -> None:
        self._path = path
        self._window = _Window(stream)
        self._window.fill(BLOCK_BYTES)
        first = self._window.text
        begin, end = _marked(first)
        header = bytes(first[begin:end]) or _comments(first)
        dated = script_header.dated(first)
        self.header: ScriptHeader = replace(script_header.parse(header), dated=dated)
        if begin < end:  # not to be read once more, as what stands above it is
            first[begin : end - 1] = b"#" * (end - begin - 1)
        self.odd_lines = 0
        self.first_odd = ""
        """Where and what the first line is that belongs to no sample."""
        self.lost = Lost()
        """What the kernel dropped while it was recorded, as far as the text says."""
        self.headers = int(begin < end)
        """How many there are as of now: more than one are of several captures in one file."""
        self.captured = self.header.captured
        """When the last of them ended, as of now."""

    def blocks(self) -> Iterator[ScriptBlock]:
        scanner: Scanner | None = None
        window, is_fresh = self._window, True
        while len(text := window.text) or not window.at_end:
            offset = window.offset
            if scanner is None:
                reader, found = fitting(text, window.at_end)
                scanner = reader if len(found) else None
            else:
                found = scanner.read(text, window.at_end)
            self.lost += found.lost
            self.headers += found.headers
            if found.headers and self.headers < _MOST_DATED:
                self.captured = newest_capture(self.captured, text[: found.consumed])
            self._note_odd(found, text, offset)
            window.skip(found.consumed)
            if scanner is not None and len(found):
                yield ScriptBlock(found, offset, is_fresh, scanner.has_ids)
                is_fresh = scanner.remembered > MAX_STACKS
                if is_fresh:
                    scanner.forget_stacks()
            if window.at_end and found.consumed == 0:
                break
            left = len(window.text)
            if not window.at_end and (found.consumed == 0 or left < BLOCK_BYTES // 2):
                if left > MAX_SAMPLE_BYTES:
                    raise ParseError(
                        self._path, f"offset {window.offset}", "the samples of perf script",
                        todo="this part of it has no end of a sample; is it text of perf script?",
                    )  # fmt: skip
                window.fill(BLOCK_BYTES + left)

    def _note_odd(self, found: Scanned, text: memoryview, offset: int) -> None:
        if found.odd and not self.odd_lines:
            shown_bytes = bytes(text[found.first_odd : found.first_odd + _SHOWN_BYTES])
            line = shown_bytes.partition(b"\n")[0]
            shown = line.decode("utf-8", "replace").strip()
            self.first_odd = f"offset {offset + found.first_odd}: {shown!r}"
        self.odd_lines += found.odd


class _Window:
    """The part of a text that was not read yet, in one buffer: to copy it is as dear as reading."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._begin = self._end = 0
        self.offset = 0
        """Of what is left, in the text."""
        self.at_end = False

    @property
    def text(self) -> memoryview:
        """Until the next `fill`."""
        return memoryview(self._buffer)[self._begin : self._end]

    def skip(self, count: int) -> None:
        self._begin += count
        self.offset += count

    def fill(self, size: int) -> None:
        """So much more, unless the text ends: pipes and decompressors give less at a time."""
        rest = bytes(self.text)
        if len(self._buffer) < len(rest) + size:
            self._buffer = bytearray(len(rest) + size)
        view = memoryview(self._buffer)
        view[: len(rest)] = rest
        self._begin, self._end = 0, len(rest)
        most = self._end + size
        while self._end < most and (count := self._stream.readinto(view[self._end : most])):
            self._end += count
        self.at_end = self._end < most


def _marked(text: memoryview) -> tuple[int, int]:
    """Where the header begins and ends, with its marks; the same where it has none.

    A command that was recorded may have newlines in it, and then its line is no comment to its end.
    """
    begin = _MARK.search(text, 0, _CHATTER_BYTES)
    if begin is None or begin["opens"] is None:
        return 0, 0
    end = _MARK.search(text, begin.end(), MAX_HEADER_BYTES)
    # One that was cut off has no end, and what opens next is the header of another capture.
    return (begin.start(), end.end()) if end and end["opens"] is None else (0, 0)


def _comments(text: memoryview) -> bytes:
    """The comments that it begins with."""
    found = _COMMENTS.match(text)
    return found[0] if found else b""
