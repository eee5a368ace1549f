"""The kernel log as dmesg prints it (raw, with levels, -T, -e, ISO) and as /dev/kmsg gives it.

Raw times are on the clock that perf uses by default, so that both join without a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from exhume.derive.stamps import CTIME, ISO, NS, StampFinder, Years, fraction_ns
from exhume.errors import ParseError
from exhume.ingest.clocks import DAY_NS, name_time_ns
from exhume.ingest.context import Context
from exhume.ingest.kernel_pairs import KernelHints
from exhume.ingest.lines import head_lines, lines_of
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_entries import Entry
from exhume.ingest.log_reader import LogParser, newest_ns, pieces
from exhume.ingest.piece import Claim, ClockKind, Hints, Piece, Trust
from exhume.ingest.streams import Source
from exhume.sources import kmsg

_FACILITIES = (
    "kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\\d|res\\d|\\d+"
)
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
# `<12>` of dmesg -r, `kern  :warn  : ` of dmesg -x
_PREFIX = rf"(?:<(?P<priority>\d{{1,4}})>|(?P<facility>{_FACILITIES}) *:(?P<level>\w{{3,6}}) *: ?)?"
# `[  298.261679] `, with the caller `[  298.261679][  T172] `, of dmesg -d `[  298.26 <    0.01>] `
_RAW = re.compile(
    _PREFIX + r"\[ {0,8}(?P<seconds>\d{1,9})\.(?P<fraction>\d{1,9})(?: ?<[ +\d.]{1,20}>)?\]"
    r"(?:\[ {0,10}[TC]\d{1,10}\])? ?(?P<text>.*)",
    re.DOTALL,
)
# `[Sun Nov 15 20:20:10 2026] `, of dmesg -dT `[Sun Nov 15 20:20:10 2026 <    0.01>] `
_DATED = re.compile(
    _PREFIX + r"\[(?P<stamp>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})"
    r"(?: ?<[ +\d.]{1,20}>)?\] ?(?P<text>.*)",
    re.DOTALL,
)
# `2026-11-15T20:20:10,123456+00:00 `
_ISO = re.compile(
    _PREFIX + r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:?\d\d) ?(?P<text>.*)",
    re.DOTALL,
)
# dmesg -e: `[Nov15 20:20] `, and then `[  +0.000012] ` after the line before
_MINUTE = re.compile(
    _PREFIX + r"\[(?P<stamp>[A-Z][a-z]{2} ?\d{1,2} \d\d:\d\d)\] ?(?P<text>.*)", re.DOTALL
)
_SINCE = re.compile(
    _PREFIX + r"\[ {0,8}\+(?P<seconds>\d{1,6})\.(?P<fraction>\d{1,9})\] ?(?P<text>.*)", re.DOTALL
)
_KMSG = re.compile(r"\d{1,4},\d{1,19},\d{1,19},[^;]{0,64};")
_VERSION = re.compile(r"Linux version (\S{1,64}) \(")
_HOSTNAME = re.compile(r"systemd\[1\]: (?:Hostname set to|Set hostname to) <([\w.-]{1,64})>")
# An error log of Apache before 2.4 looks like dmesg -T.
_APACHE = re.compile(r"\[\w+:?\w*\] ")
_STYLES = (_RAW, _DATED, _ISO, _MINUTE, _SINCE, _KMSG)
# `[    5.123] host kernel: text` is journalctl -o short-monotonic
MONOTONIC = re.compile(
    r"\[ {0,8}(?P<seconds>\d{1,9})\.(?P<fraction>\d{1,9})\] (?P<host>[\w.-]{1,64}) "
    r"(?P<program>[^\s\[\]:]{1,64})(?:\[(?P<pid>\d{1,10})\])?: (?P<text>.*)",
    re.DOTALL,
)


def is_kernel_log(head: bytes, _: Path) -> bool:
    lines = head_lines(head)
    known = [line for line in lines if _is_line(line)]
    return bool(known) and 3 * len(known) >= len(lines) and not is_monotonic(lines)


def is_monotonic(lines: list[str]) -> bool:
    found = [one for line in lines if (one := MONOTONIC.match(line)) is not None]
    hosts = {one["host"] for one in found}
    speaks = any(one["program"] == "kernel" or one["pid"] for one in found)
    return 2 * len(found) > len(lines) and speaks and len(hosts) <= 1 + len(found) // 50


def _is_line(line: str) -> bool:
    for style in _STYLES:
        found = style.match(line)
        if found is not None:
            return style is not _DATED or not _APACHE.match(found["text"])
    return False


def read(source: Source, context: Context) -> Iterator[Piece]:
    yield from pieces(
        source,
        context,
        KernelLog(source.path, context.clock.offset_ns, LocalTimes(context.clock.zone)),
    )


class KernelLog(Struct, LogParser):
    path: Path
    offset_ns: int | None = None
    """Told by the user."""
    times: LocalTimes = field(default_factory=LocalTimes)
    _is_raw: bool = True
    _kernel: str = ""
    _node: str = ""
    _told: KernelHints = field(default_factory=KernelHints)

    @property
    def clock(self) -> ClockKind:
        return ClockKind.KERNEL_LOG if self._is_raw else self.times.clock

    def entries(self, stream: BinaryIO) -> Iterator[Entry]:
        finder = StampFinder(Years(newest_ns(self.path)), (ISO, CTIME))
        minutes = _Minutes(self.path)
        last: Entry | None = None
        for line in lines_of(stream):
            entry = self._entry(line, finder, minutes)
            if entry is None:
                if last is None or not line.strip():
                    continue
                if line.startswith((" SUBSYSTEM=", " DEVICE=")):
                    continue  # of a record of /dev/kmsg
                entry = Entry(last.time_ns, line, last.is_kernel, last.level, is_rest=True)
            else:
                last = entry
            if entry.is_kernel:
                yield entry

    def _entry(self, line: str, finder: StampFinder, minutes: _Minutes) -> Entry | None:
        if (found := _RAW.match(line)) is not None:
            at = int(found["seconds"]) * NS + fraction_ns(found["fraction"])
            if at > 1_000_000_000 * NS:  # seconds since 1970, not since boot
                return None
        elif (found := _DATED.match(line) or _ISO.match(line)) is not None:
            stamp = finder.find(found["stamp"])
            if stamp is None:
                return None
            self._is_raw, at = False, stamp.time_ns
            self.times.saw(stamp)
        elif _KMSG.match(line):
            return self._record(line)
        elif (found := _MINUTE.match(line) or _SINCE.match(line)) is not None:
            when = minutes.of(found)
            if when is None:
                return None
            self._is_raw, at = False, when
            self.times.without_zone = self.times.without_year = True
        else:
            return None
        level, is_kernel = _priority(found)
        self._learn(at, found["text"])
        return Entry(at, found["text"], is_kernel, level)

    def _record(self, line: str) -> Entry | None:
        try:
            record = kmsg.parse(line.encode())
        except ParseError:
            return None
        self._learn(record.kernel_log_ns, record.text)
        return Entry(record.kernel_log_ns, record.text, record.facility == 0, record.level)

    def _learn(self, at: int, text: str) -> None:
        if self._is_raw:
            self._told.look(at, text)
        if not self._kernel and (found := _VERSION.match(text)) is not None:
            self._kernel = found[1]
        elif not self._node and "ostname" in text[:40]:
            told = _HOSTNAME.match(text)
            self._node = told[1] if told else ""

    def claim(self, last_ns: int) -> Claim | None:
        if not self._is_raw:
            return self.times.claim(last_ns)
        if self.offset_ns is not None:
            return Claim(self.offset_ns, Trust.TOLD, f"--offset {self.offset_ns / NS:.9g}")
        told = self._told.claim()
        if told is not None:
            return told
        named = name_time_ns(self.path.name)
        how = "guessed: its last line was new when the file was written; --offset sets it"
        return Claim((named or self.path.stat().st_mtime_ns) - last_ns, Trust.NONE, how)

    def kernel_claim(self) -> Claim | None:
        told = self._told.claim()
        return told if told is not None and told.trust >= Trust.UPTIME else None

    def hints(self) -> Hints:
        return Hints(self._node, self._kernel)


class _Minutes:
    """dmesg -e tells the minute where a new one begins, and then the time since the line before."""

    def __init__(self, path: Path) -> None:
        self._finder = StampFinder(Years(newest_ns(path)))
        self._at: int | None = None

    def of(self, found: re.Match[str]) -> int | None:
        groups = found.groupdict()
        if "stamp" in groups:
            month, rest = groups["stamp"][:3], groups["stamp"][3:].strip()
            stamp = self._finder.find(f"{month} {rest}:00")
            if stamp is None:
                return None
            # A minute is told late: what came before may be in it already.
            same = self._at is not None and stamp.time_ns <= self._at < stamp.time_ns + DAY_NS
            self._at = max(self._at or 0, stamp.time_ns) if same else stamp.time_ns
        elif self._at is not None:
            self._at += int(groups["seconds"]) * NS + fraction_ns(groups["fraction"])
        return self._at


def _priority(found: re.Match[str]) -> tuple[int, bool]:
    """Level, and whether the kernel speaks: where nothing is said it does."""
    groups = found.groupdict()
    if groups["priority"] is not None:
        number = int(groups["priority"])
        return number & 7, number >> 3 == 0
    if groups["facility"] is not None:
        name = groups["level"]
        level = next((n for n, known in enumerate(_LEVELS) if name.startswith(known[:3])), 6)
        return level, groups["facility"] == "kern"
    return 6, True
