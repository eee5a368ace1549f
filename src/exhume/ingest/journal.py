"""The journal as journalctl writes it out: json (lines, pretty, with separators), export, verbose.

A line of the kernel is one that came by the kernel's own way with its own facility: what user
space writes to /dev/kmsg comes the same way, and keeps its facility.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec import Struct, field

from exhume.ingest import journal_verbose
from exhume.ingest.context import Context
from exhume.ingest.journal_export import export_entries
from exhume.ingest.kernel_pairs import KernelPairs
from exhume.ingest.lines import head_lines, lines_of
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_entries import Entry
from exhume.ingest.log_hosts import only_host
from exhume.ingest.log_reader import LogParser, pieces
from exhume.ingest.piece import Claim, Piece
from exhume.ingest.streams import Source
from exhume.ingest.uptime_ties import UptimeTies

_MAX_OBJECT = 1 << 20
_TIED_EACH_NS = 1_000_000_000
_SETTLED_NS = 60 * _TIED_EACH_NS
"""After the boot; before that the wall clock may not have been set yet."""
_EXPORT = re.compile(rb"(?:__CURSOR=[^\n]*\n)?(?:__\w+=[^\n]*\n)*__REALTIME_TIMESTAMP=\d{10,19}\n")
_HOST = re.compile(rb'"?_HOSTNAME"?(?: ?: ?"|=)([A-Za-z0-9_.-]{1,64})["\n]')
_TIMES = ("_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP")
WANTED = frozenset(
    {
        *_TIMES, "__MONOTONIC_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP", "_TRANSPORT",
        "SYSLOG_FACILITY", "PRIORITY", "MESSAGE", "_HOSTNAME", "SYSLOG_IDENTIFIER",
        "_COMM", "_PID", "SYSLOG_PID",
    }
)  # fmt: skip


def is_json(head: bytes, _: Path) -> bool:
    start = head.lstrip(b"\x1e \r\n[").removeprefix(b"data: ")[:65536]
    return start.startswith(b"{") and b'"__REALTIME_TIMESTAMP"' in start


def is_verbose(head: bytes, _: Path) -> bool:
    return any(journal_verbose.is_head(line) for line in head_lines(head, 20))


def is_export(head: bytes, _: Path) -> bool:
    return _EXPORT.match(head) is not None


def host_of(head: bytes) -> str:
    return only_host([name.decode() for name in _HOST.findall(head)])


def read_json(source: Source, context: Context) -> Iterator[Piece]:
    yield from pieces(source, context, JournalLog(Form.JSON))


def read_export(source: Source, context: Context) -> Iterator[Piece]:
    yield from pieces(source, context, JournalLog(Form.EXPORT))


def read_verbose(source: Source, context: Context) -> Iterator[Piece]:
    yield from pieces(source, context, JournalLog(Form.VERBOSE))


class Form(Enum):
    JSON = "json"
    EXPORT = "export"
    VERBOSE = "verbose"


class BothClocks(Struct):
    """journald notes both clocks at once with every entry, so a unit's own lines tie them too."""

    _ties: UptimeTies = field(default_factory=UptimeTies)
    _hosts: set[str] = field(default_factory=set)
    _last_ns: int = 0

    def add(self, fields: Mapping[str, str]) -> None:
        wall, since_boot = (
            _micros(fields.get(f"__{clock}_TIMESTAMP")) for clock in ("REALTIME", "MONOTONIC")
        )
        if wall is None or since_boot is None or since_boot < _SETTLED_NS:
            return
        if abs(wall - self._last_ns) < _TIED_EACH_NS:
            return
        self._last_ns = wall
        if len(self._hosts) < 2:
            self._hosts.add(fields.get("_HOSTNAME", ""))
        self._ties.add(wall, since_boot)

    def claims(self, times: LocalTimes, name: str) -> list[tuple[Claim, int]]:
        """Boot by boot; nothing where machines are mixed, whose clocks have nothing in common."""
        return list(self._ties.claims(times, name)) if len(self._hosts) == 1 else []


class JournalLog(Struct, LogParser):
    form: Form
    times: LocalTimes = field(default_factory=LocalTimes)
    broken: int = 0
    """Entries that could not be read."""
    _pairs: KernelPairs = field(default_factory=KernelPairs)
    _both: BothClocks = field(default_factory=BothClocks)

    def entries(self, stream: BinaryIO) -> Iterator[Entry]:
        for fields in self._fields(stream):
            entry = self._entry(fields)
            if entry is None:
                self.broken += 1
                continue
            first, *more = entry.text.split("\n")
            entry.text = first
            yield entry
            for text in more[:50]:
                if text.strip():
                    yield Entry(
                        entry.time_ns, text, entry.is_kernel, entry.level, entry.host,
                        entry.program, entry.pid,
                    )  # fmt: skip

    def _fields(self, stream: BinaryIO) -> Iterator[Mapping[str, str]]:
        if self.form is Form.EXPORT:
            return export_entries(stream, WANTED)
        if self.form is Form.VERBOSE:
            return journal_verbose.entries(lines_of(stream, _MAX_OBJECT), WANTED)
        return self._objects(stream)

    def _objects(self, stream: BinaryIO) -> Iterator[Mapping[str, str]]:
        """One object a line, or one from `{` to `}` in lines of their own, perhaps of a list."""
        parts: list[str] = []
        size = 0
        for line in lines_of(stream, _MAX_OBJECT):
            line = line.lstrip("\x1e \t").removeprefix("data: ").rstrip(" \t")
            line = line if parts else line.removeprefix("[").lstrip()
            if not parts and not line.startswith("{"):
                self.broken += line not in ("", "]", ",")
                continue
            parts.append(line)
            size += len(line)
            is_whole = line.startswith("}") or (
                len(parts) == 1 and line.endswith(("}", "},", "}]"))
            )
            if is_whole or size > _MAX_OBJECT:
                found = _object("\n".join(parts).rstrip(",]")) if is_whole else None
                parts, size = [], 0
                if found is None:
                    self.broken += 1
                else:
                    yield found
        self.broken += bool(parts)

    def _entry(self, fields: Mapping[str, str]) -> Entry | None:
        at = next((ns for name in _TIMES if (ns := _micros(fields.get(name))) is not None), None)
        text = fields.get("MESSAGE")
        if at is None or text is None:
            return None
        is_kernel = (
            fields.get("_TRANSPORT") == "kernel" and fields.get("SYSLOG_FACILITY", "0") == "0"
        )
        self._both.add(fields)
        own = _micros(fields.get("_SOURCE_MONOTONIC_TIMESTAMP"))
        if is_kernel and own is not None:
            at = self._pairs.place(at, own, 0)
        level = fields.get("PRIORITY", "6")
        program = fields.get("SYSLOG_IDENTIFIER") or fields.get("_COMM", "")
        pid = fields.get("SYSLOG_PID") or fields.get("_PID", "")
        return Entry(
            at, text, is_kernel, int(level) if level in tuple("01234567") else 6,
            fields.get("_HOSTNAME", ""), program,
            int(pid) if pid.isascii() and pid.isdigit() and len(pid) <= 10 else None,
        )  # fmt: skip

    def kernel_claim(self) -> Claim | None:
        return self._pairs.claim()

    def boot_claims(self, name: str) -> list[tuple[Claim, int]]:
        # Lines of the kernel are on the very clock that is asked for.
        return [] if self._pairs.claim() else self._both.claims(self.times, name)

    def notes(self) -> list[str]:
        return [f"{self.broken} entries made no sense"] if self.broken else []


def _object(text: str) -> Mapping[str, str] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return {name: _text(one) for name, one in cast(dict[str, Any], value).items() if name in WANTED}


def _text(value: Any) -> str:
    """What is not text comes as its bytes; what was said twice comes as a list of both."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        if all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
            return bytes(value).decode("utf-8", "replace")
        return _text(value[0]) if isinstance(value[0], str) else ""
    return ""


def _micros(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= 16):
        return None
    return int(text) * 1000
