"""What a file is, by what is in it. Names lie: perf.data is called anything, and so is its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from exhume.ingest import assemble_perf
from exhume.ingest.context import Context
from exhume.ingest.piece import Piece
from exhume.ingest.streams import Source
from exhume.perf import datafile

Reader = Callable[[Source, Context], Iterator[Piece]]


def _late(name: str) -> Callable[..., Any]:
    """The function of that name in a module beside this one, which is loaded when it is called.

    To load all readers doubles the time it takes to start, and most imports need one of them.
    """

    module, function = name.split(".")

    def call(*arguments: object) -> Any:
        return getattr(import_module(f"exhume.ingest.{module}"), function)(*arguments)

    return call


_TAR = re.compile(rb"(?s).{257}ustar")
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


class Format(Struct, frozen=True):
    name: str
    role: Role
    matches: Callable[[bytes, Path], bool]
    """Told the first bytes and the path."""
    read: Reader | None = None
    host: Callable[[bytes], str] | None = None
    """Which machine it is of, by its first bytes, where they say it."""
    is_told_by_name: bool = False
    """When and where it was is not in it: under another name the same text is another reading."""


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
    return bool(_late("script_text.is_script")(head))


def _is_marked(head: bytes, path: Path) -> bool:
    # journald tells of its size: `MAX_USE=1263742976` could be a time, and `AVAILABLE=…` a value.
    if _late("journal.is_export")(head, path):
        return False
    return bool(_late("snapshots.is_marked")(head, path.name))


def _is_mpstat(head: bytes, _: Path) -> bool:
    return bool(_late("mpstat.is_text")(head) or _late("mpstat_json.is_json")(head))


def _is_pidstat(head: bytes, _: Path) -> bool:
    return bool(_late("pidstat.is_text")(head))


def _is_table(head: bytes, _: Path) -> bool:
    return bool(_late("csv_table.is_table")(head))


def _is_bare_copy(head: bytes, _: Path) -> bool:
    return bool(_late("snapshots.is_bare")(head))


FORMATS: tuple[Format, ...] = (
    Format("perf.data", Role.CONTENT, _is_perf_data, assemble_perf.read),
    Format("kallsyms", Role.SYMBOLS, _is_kallsyms),
    Format("perf map", Role.SYMBOLS, _is_perf_map),
    Format("/proc copies", Role.CLOCK, _is_marked, _late("snapshots.read")),
    Format("mpstat", Role.CONTENT, _is_mpstat, _late("mpstat.read"), _late("mpstat.host_of")),
    Format("pidstat", Role.CONTENT, _is_pidstat, _late("pidstat.read"), _late("pidstat.host_of")),
    Format("CSV", Role.CLOCK, _is_table, _late("csv_table.read")),
    Format(
        "/proc copy",
        Role.CONTENT,
        _is_bare_copy,
        _late("snapshots.read_bare"),
        is_told_by_name=True,
    ),
    Format("perf script", Role.CONTENT, _is_script, _late("assemble_script.read")),
    Format(
        "kernel log", Role.CONTENT, _late("kernel_lines.is_kernel_log"), _late("kernel_log.read")
    ),
    Format(
        "journal",
        Role.CONTENT,
        _late("journal.is_json"),
        _late("journal.read_json"),
        _late("journal.host_of"),
    ),
    Format(
        "journal export",
        Role.CONTENT,
        _late("journal.is_export"),
        _late("journal.read_export"),
        _late("journal.host_of"),
    ),
    Format(
        "journal verbose",
        Role.CONTENT,
        _late("journal.is_verbose"),
        _late("journal.read_verbose"),
        _late("journal.host_of"),
    ),
    Format(
        "system log",
        Role.CONTENT,
        _late("syslog.is_system_log"),
        _late("syslog.read"),
        _late("syslog.host_of"),
    ),
    Format(
        "container events",
        Role.CONTENT,
        _late("container_events.is_events"),
        _late("container_events.read"),
    ),
    Format("job log", Role.CONTENT, _late("job_log.is_job_log"), _late("job_log.read")),
)
"""Tried in this order; of the contents the earlier ones are also read first."""

BY_NAME = {one.name: one for one in FORMATS}
EXPECTED = (
    "perf.data, text of perf script, mpstat or pidstat, a log with time stamps, a CSV with a "
    "column of times, or a copy of a file of the kernel"
)


def recognise(source: Source) -> Format | None:
    """None where it is nothing that can be imported."""
    head = source.head()
    if _TAR.match(head):  # what is in it may look like any of them
        return None
    return next((one for one in FORMATS if one.matches(head, source.path)), None)
