"""What a file is, by what is in it. Names lie: perf.data is called anything, and so is its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from exhume.ingest import assemble_perf, assemble_script, uptime_marks
from exhume.ingest.context import Context
from exhume.ingest.piece import Piece
from exhume.ingest.streams import Source
from exhume.perf import datafile
from exhume.perf.script_scan import NO_NUMBER, Scanner

Reader = Callable[[Source, Context], Iterator[Piece]]

_KALLSYMS_LINE = re.compile(rb"[0-9a-f]{8,16} [a-zA-Z?] \S+(\t\[\S+\])?")
_PERF_MAP_LINE = re.compile(rb"(0x)?[0-9a-f]+ +(0x)?[0-9a-f]+ +\S.*")
_PERF_MAP_NAME = re.compile(r"perf-\d+\.map")
_LINES_LOOKED_AT = 20


class Role(Enum):
    CLOCK = "clock"
    """Says what the others' clocks mean, so it is read before them."""
    CONTENT = "content"
    SYMBOLS = "symbols"
    """Names for the others; nothing of its own."""


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    role: Role
    matches: Callable[[bytes, Path], bool]
    """Told the first bytes and the path."""
    read: Reader | None = None


def _is_perf_data(head: bytes, _: Path) -> bool:
    return head[:8] in (*datafile.MAGICS, *datafile.SWAPPED_MAGICS)


def _is_kallsyms(head: bytes, _: Path) -> bool:
    lines = head.split(b"\n")[:_LINES_LOOKED_AT]
    return len(lines) > 1 and all(_KALLSYMS_LINE.fullmatch(line) for line in lines[:-1])


def _is_perf_map(head: bytes, path: Path) -> bool:
    # Whose map it is only its name says: without that it is of no use.
    lines = head.split(b"\n")[:_LINES_LOOKED_AT]
    return _PERF_MAP_NAME.fullmatch(path.name) is not None and bool(
        len(lines) > 1 and _PERF_MAP_LINE.fullmatch(lines[0])
    )


def _is_script(head: bytes, _: Path) -> bool:
    if head.startswith(b"# ========\n# captured on"):
        return True  # also where no sample follows
    found = Scanner().read(head, at_end=True)
    with_time = int((found.time != NO_NUMBER).sum())
    with_stack = sum(1 for text in found.new_stacks if text)
    return len(found) > found.odd and (with_time > 0 or with_stack > 0)


def _is_marked(head: bytes, _: Path) -> bool:
    return uptime_marks.is_marked(head)


FORMATS: tuple[Format, ...] = (
    Format("perf.data", Role.CONTENT, _is_perf_data, assemble_perf.read),
    Format("kallsyms", Role.SYMBOLS, _is_kallsyms),
    Format("perf map", Role.SYMBOLS, _is_perf_map),
    Format("/proc copies", Role.CLOCK, _is_marked, uptime_marks.read),
    Format("perf script", Role.CONTENT, _is_script, assemble_script.read),
)
"""Tried in this order; of the contents the earlier ones are also read first."""

BY_NAME = {one.name: one for one in FORMATS}
EXPECTED = "perf.data, text of perf script, or a copy of /proc/kallsyms"


def recognise(source: Source) -> Format | None:
    """None where it is nothing that can be imported."""
    head = source.head()
    return next((one for one in FORMATS if one.matches(head, source.path)), None)
