"""The kernel log as dmesg prints it (raw, with levels, -T, -e, ISO) and as /dev/kmsg gives it.

Raw times are on the clock that perf uses by default, so that both join without a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from exhume.derive.stamps import CTIME, ISO, NS, StampFinder, Years, fraction_ns
from exhume.errors import ParseError
from exhume.ingest import dmesg_json
from exhume.ingest.boot_clocks import zone_apart
from exhume.ingest.clocks import DAY_NS, name_time_ns, written_ns
from exhume.ingest.context import Context
from exhume.ingest.kernel_boots import Boots, BootTracker, boots_of
from exhume.ingest.kernel_lines import (
    DATED,
    DELTA,
    ISO_LINE,
    KMSG,
    MINUTE,
    PREFIXED,
    RAW,
    SINCE,
    SPOKEN_OVER,
    USER_SPACE,
    priority,
)
from exhume.ingest.kernel_pairs import WALL_TIMES, KernelHints
from exhume.ingest.lines import head_lines, lines_of, unpasted
from exhume.ingest.local_times import MINUTE_NS, LocalTimes, ToldTimes
from exhume.ingest.log_entries import Entry
from exhume.ingest.log_reader import LogParser, newest_ns, pieces
from exhume.ingest.piece import Claim, ClockKind, Hints, Piece, Trust
from exhume.ingest.streams import Source
from exhume.sources import kmsg

# Where kdump leaves vmcore-dmesg.txt: /var/crash/127.0.0.1-2024-02-01-03:04:05
_KDUMP = re.compile(r"\S{1,255}-\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d")
_VERSION = re.compile(r"Linux version (\S{1,64}) \(")
_HOSTNAME = re.compile(r"systemd\[1\]: (?:Hostname set to|Set hostname to) <([\w.-]{1,64})>")

# What rsyslog writes to a console on which the kernel has just said the same: an ISO time, a host
_AGAIN = re.compile(
    r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{1,16}) [\w.-]{1,64} (?:kernel: ?)?(?P<text>.+)"
)
_SAID_BEFORE = 200
_BOOT_LINES = 20_000


def read(source: Source, context: Context) -> Iterator[Piece]:
    is_json = dmesg_json.is_json(source.head())
    with source.open() as stream:
        boots = boots_of(_raw_times(_lines(stream, is_json=is_json)))
    with source.open() as stream:
        local = LocalTimes(context.clock.zone, own=_own_zone(_lines(stream, is_json=is_json)))
    has_minutes = any(MINUTE.match(unpasted(line)) for line in head_lines(source.head()))
    log = KernelLog(
        source.path, context.clock.offset_ns, local, is_json, boots, has_minutes=has_minutes
    )
    yield from pieces(source, context, log)


def _lines(stream: BinaryIO, *, is_json: bool) -> Iterator[str]:
    return dmesg_json.as_lines(lines_of(stream)) if is_json else lines_of(stream)


def _own_zone(lines: Iterable[str]) -> ToldTimes:
    """Of what dmesg -T printed, by the wall time that the kernel itself names as it boots.

    Where both agree it may be UTC, or the hardware clock runs in local time: then nothing is told.
    """
    finder, hints = StampFinder(Years(0), (CTIME,)), KernelHints()
    for line in islice(lines, _BOOT_LINES):
        if not any(word in line for word in WALL_TIMES) or not (found := DATED.match(_bare(line))):
            continue
        stamp = finder.find(found["stamp"])
        if stamp is not None:
            hints.look(stamp.time_ns, found["text"])
    said = hints.claim()
    east = None if said is None else zone_apart(Claim(0, Trust.NONE, ""), said)
    return ToldTimes(east_ns=east * MINUTE_NS if east else None)


def _bare(line: str) -> str:
    """Without what stands before the kernel's words: quotes, or a prompt that it spoke over."""
    if not PREFIXED.match(line):
        line = unpasted(line)
        if (
            "] " in line
            and not PREFIXED.match(line)
            and (over := SPOKEN_OVER.match(line)) is not None
        ):
            return line[over.end() :]
    return line


def _raw_times(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for line in lines:
        line = _bare(line)
        if (found := RAW.match(line)) is not None:
            yield _since_boot_ns(found), found["text"]
        elif (found := KMSG.match(line)) is not None:
            record = _record(found["record"])
            if record is not None:
                yield record[:2]


def _since_boot_ns(found: re.Match[str]) -> int:
    return int(found["seconds"]) * NS + fraction_ns(found["fraction"])


class KernelLog(Struct, LogParser):
    path: Path
    offset_ns: int | None = None
    """Told by the user."""
    times: LocalTimes = field(default_factory=LocalTimes)
    is_json: bool = False
    boots: Boots = field(default_factory=Boots)
    has_minutes: bool = True
    """False: of what dmesg -e printed only times since the line before are there."""
    _is_raw: bool = True
    _kernel: str = ""
    _node: str = ""
    _booted_ns: int | None = None
    """By the times of its lines."""
    _tracker: BootTracker = field(default_factory=BootTracker)
    _summed_ns: int = 0
    _said: dict[str, int] = field(default_factory=dict)
    """The newest lines of the kernel's clock, and when they were said."""

    def __post_init__(self) -> None:
        self._tracker.repeated = self.boots.repeated

    @property
    def clock(self) -> ClockKind:
        return ClockKind.KERNEL_LOG if self._is_raw else self.times.clock

    def entries(self, stream: BinaryIO) -> Iterator[Entry]:
        finder = StampFinder(Years(newest_ns(self.path)), (ISO, CTIME))
        minutes = _Minutes(self.path)
        last: Entry | None = None
        for line in _lines(stream, is_json=self.is_json):
            stamped = self._stamped(_bare(line), finder, minutes)
            if stamped is not None:
                last = self._entry(*stamped)
                if last is not None:
                    yield last
            elif last is not None and line.strip():
                if line.startswith((" SUBSYSTEM=", " DEVICE=")):
                    continue  # of a record of /dev/kmsg
                if self._is_said_again(line, finder):
                    continue
                yield Entry(
                    last.time_ns, line, last.is_kernel, last.level, "", last.program, last.pid,
                    is_rest=True,
                )  # fmt: skip

    def _is_said_again(self, line: str, finder: StampFinder) -> bool:
        found = _AGAIN.match(line)
        said_ns = self._said.get(found["text"]) if found is not None else None
        if found is None or said_ns is None:
            return False
        stamp = finder.find(found["stamp"])
        if stamp is not None and stamp.has_zone:
            self._tracker.boots[-1].told.said_again(said_ns, stamp.time_ns)
        return True

    def _stamped(
        self, line: str, finder: StampFinder, minutes: _Minutes
    ) -> tuple[int, str, int, int | None] | None:
        """Time, text, level and facility; None for a line without a time."""
        if (found := RAW.match(line)) is not None:
            at = _since_boot_ns(found)
        elif (found := DATED.match(line) or ISO_LINE.match(line)) is not None:
            stamp = finder.find(found["stamp"])
            if stamp is None:
                return None
            self._is_raw, at = False, self.times.saw(stamp).time_ns
        elif (found := KMSG.match(line)) is not None:
            return _record(found["record"])
        elif (found := DELTA.match(line) or self._since(line)) is not None:
            self._summed_ns += _since_boot_ns(found)
            at = self._summed_ns
        elif (found := MINUTE.match(line) or SINCE.match(line)) is not None:
            when = minutes.of(found)
            if when is None:
                return None
            self._is_raw, at = False, self.times.saw_time(when, has_zone=False)
            self.times.without_year = True
        else:
            return None
        return at, found["text"], *priority(found)

    def _since(self, line: str) -> re.Match[str] | None:
        return None if self.has_minutes else SINCE.match(line)

    def _entry(self, at: int, text: str, level: int, facility: int | None) -> Entry | None:
        """None for what the log has said before."""
        self._learn(at, text)
        if self._is_raw:
            boot = self._tracker.saw(at, text)
            if boot is None:
                return None
            self._said[text] = at
            if len(self._said) > _SAID_BEFORE:
                del self._said[next(iter(self._said))]
            shifts = self.boots.shifts_ns
            at += shifts[boot] if boot < len(shifts) else 0
        user = USER_SPACE.match(text) if facility != 0 else None
        if user is not None:
            return Entry(at, user["text"], False, level, "", user["program"], int(user["pid"]))
        return Entry(at, text, not facility, level)

    def _learn(self, at: int, text: str) -> None:
        if (found := _VERSION.match(text)) is not None:
            self._kernel, self._booted_ns = found[1], at
        elif not self._node and "ostname" in text[:40]:
            told = _HOSTNAME.match(text)
            self._node = told[1] if told else ""

    def claim(self, last_ns: int) -> Claim | None:
        if not self._is_raw:
            return self.times.claim()
        if self.offset_ns is not None:
            return Claim(self.offset_ns, Trust.TOLD, f"--offset {self.offset_ns / NS:.9g}")
        told = self._tracker.boots[-1].told.claim()
        if told is not None:
            return told
        zone = self.times.told or UTC
        named = name_time_ns(self.path.name, zone)
        if named is None and _KDUMP.fullmatch(folder := self.path.absolute().parent.name):
            named = name_time_ns(folder, zone)
        when = "its name says" if named is not None else "the file was written"
        how = f"guessed: its last line was new when {when}; --offset sets it"
        return Claim((named or written_ns(self.path)) - last_ns, Trust.NONE, how)

    def kernel_claim(self) -> Claim | None:
        told = self._tracker.boots[-1].told.claim()
        return told if told is not None and told.trust >= Trust.UPTIME else None

    def hints(self) -> Hints:
        if self._is_raw:
            return Hints(self._node, self._kernel)
        east_ns = self.times.own.east_ns
        zone_ns, is_local = None if east_ns is None else -east_ns, self.clock == ClockKind.OWN
        booted_ns = self._booted_ns if is_local else None
        return Hints(self._node, self._kernel, zone_ns=zone_ns, booted_ns=booted_ns)

    def notes(self) -> list[str]:
        boots, found = len(self._tracker.boots), []
        if boots > 1:
            found.append(
                f"{boots} boots: where nothing says when one was, it ended when the next one began"
            )
        if self._tracker.again:
            found.append(f"{self._tracker.again} lines are in it twice, and count once")
        return found


class _Minutes:
    """dmesg -e tells the minute where a new one begins, and then the time since the line before."""

    def __init__(self, path: Path) -> None:
        self._finder = StampFinder(Years(newest_ns(path)))
        self._at: int | None = None

    def of(self, found: re.Match[str]) -> int | None:
        groups = found.groupdict()
        if "month" in groups:
            stamp = self._finder.find(f"{groups['month']} {groups['day']} {groups['clock']}:00")
            if stamp is None:
                return None
            # A minute is told late: what came before may be in it already.
            same = self._at is not None and stamp.time_ns <= self._at < stamp.time_ns + DAY_NS
            self._at = max(self._at or 0, stamp.time_ns) if same else stamp.time_ns
        elif self._at is not None:
            self._at += int(groups["seconds"]) * NS + fraction_ns(groups["fraction"])
        return self._at


def _record(line: str) -> tuple[int, str, int, int | None] | None:
    try:
        record = kmsg.parse(line.encode())
    except ParseError:
        return None
    return record.kernel_log_ns, record.text, record.level, record.facility
