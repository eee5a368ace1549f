"""Logs of applications and supervisors: any text whose lines have a time stamp near their start.

Lines without one (a traceback) happened when the last one before them did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from exhume.derive.clock_stamps import ClockFinder, first_day_ns, is_clock_log
from exhume.derive.stamps import Stamp, StampFinder, Years, some_years
from exhume.ingest.context import Context
from exhume.ingest.lines import head_lines, lines_of
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_entries import UNREAD, Entry
from exhume.ingest.log_objects import of_object
from exhume.ingest.log_reader import LogParser, newest_ns, pieces
from exhume.ingest.piece import Piece
from exhume.ingest.streams import Source
from exhume.ingest.told_times import followed, told_times

_MAX_OBJECT = 1 << 18
_MAX_WAITING = 1000
_DUMPED = 1000
_IN_ORDER = 8
_WORD = re.compile(r"[^\W\d_]{2,}")
# `(MapWorker(f) pid=351, ip=10.0.0.1) `, `(raylet) `, `[rank0]:`
_RAY = re.compile(
    r"\s*\((?P<who>[\w.:-]{1,80})(?:\([^()]{0,80}\))?(?:,? pid=(?P<pid>\d{1,10}))?"
    r"(?:, ip=[\w.:]{1,64})?\)\s*"
)
# `supervisor[1]: `, `dockerd[812]: `, behind the stamp
_TAG = re.compile(r"[\s:\]|-]{0,8}(?P<who>[A-Za-z][\w.@/-]{0,63})\[(?P<pid>\d{1,10})\]: ")
# `10.200.1.3: {"ts":…}` of talosctl, `api-1  | {"time":…}` of docker compose, `[pod/api/main] {"…`
# of kubectl logs --prefix, `app.log:{"…` of grep
_BEFORE_OBJECT = re.compile(r'[^{}"\n]{1,120}?[:|\])\s](?=\{")')
# ` stderr F ` of a container runtime: https://github.com/kubernetes/design-proposals-archive
_STREAM = re.compile(r"^ (?:stdout|stderr) [FP] ")


def is_job_log(head: bytes, _: Path) -> bool:
    """Strict: a table with a time column is none, nor is a text that mentions a time."""
    lines = head_lines(head)
    times = list(_stamped(lines))
    if times and 10 * len(times) >= len(lines) and (len(times) > 1 or len(lines) <= 3):
        return True
    # Ray's raylet dumps its state, hundreds of lines at a time: of what is stamped the order tells.
    lines = head_lines(head, _DUMPED)
    times = list(_stamped(lines))
    if len(times) >= _IN_ORDER and 100 * len(times) >= len(lines) and times == sorted(times):
        return True
    return not times and is_clock_log(lines)


def _stamped(lines: Iterable[str]) -> Iterator[int]:
    finder = StampFinder(some_years())
    for line in lines:
        if line.startswith("{") or _named_object(line, finder):
            found = of_object(line[line.index("{") :])
            if found is not None:
                yield found[0].time_ns
            continue
        stamp = finder.find(line)
        if stamp is None or not _is_text(line[stamp.end :]):
            continue
        if stamp.start < 4 or _is_prefix(line[: stamp.start]):
            yield stamp.time_ns


def _named_object(line: str, finder: StampFinder | ClockFinder) -> bool:
    """An object behind the name of who wrote it; where a time stands there, that one counts."""
    before = _BEFORE_OBJECT.match(line)
    return before is not None and finder.find(before[0]) is None


def _is_text(rest: str) -> bool:
    """Ray and zap put a tab behind the stamp, as tables do: there numbers follow."""
    is_cell = rest[:1] in (",", ";") or (rest[:1] == "\t" and not rest[1:2].isalpha())
    return not is_cell and _WORD.search(rest) is not None


def _is_prefix(before: str) -> bool:
    """What may stand before a stamp: a Ray worker, a host, an address, a key."""
    return before.rstrip().endswith(
        ("[", ")", "]", "]:", "time=", 'time="', "ts=", "-", "|", ":")
    ) or (len(before.split()) <= 1)


def read(source: Source, context: Context) -> Iterator[Piece]:
    newest = newest_ns(source.path)
    own = told_times(source.head(), newest)
    times = LocalTimes(context.clock.zone, own=own, follow=followed(own))
    log = JobLog(source.path, times, own.newest_ns(newest))
    lines = head_lines(source.head(), _DUMPED)
    if next(_stamped(lines), None) is None and is_clock_log(lines):
        times.without_day = True
        with source.open() as stream:
            log.clocks = ClockFinder(first_day_ns(lines_of(stream), newest))
    yield from pieces(source, context, log)


class JobLog(Struct, LogParser):
    path: Path
    times: LocalTimes = field(default_factory=LocalTimes)
    written_by_ns: int | None = None
    """None: as its name or its file's time says."""
    clocks: ClockFinder | None = None
    """Of a log whose stamps are times of day."""
    _waiting: list[str] = field(default_factory=list)
    """Lines before the first stamp."""

    def entries(self, stream: BinaryIO) -> Iterator[Entry]:
        finder = self.clocks or StampFinder(Years(self.written_by_ns or newest_ns(self.path)))
        last: Entry | None = None
        for line in lines_of(stream, _MAX_OBJECT):
            entry = self._entry(line, finder)
            if entry is None:
                if last is None:
                    if len(self._waiting) < _MAX_WAITING:
                        self._waiting.append(line)
                elif line.strip():
                    yield Entry(
                        last.time_ns, line, False, last.level, "", last.program, last.pid,
                        last.raw, is_rest=True,
                    )  # fmt: skip
                continue
            if last is None:
                yield from (Entry(entry.time_ns, text) for text in self._waiting)
                self._waiting = []
            last = entry
            yield entry

    def _entry(self, line: str, finder: StampFinder | ClockFinder) -> Entry | None:
        if line.startswith("{") or _named_object(line, finder):
            found = of_object(line[line.index("{") :])
            if found is not None:
                entry, has_zone = found
                entry.time_ns = self.times.saw_time(entry.time_ns, has_zone)
                return entry
        stamp = finder.find(line)
        if stamp is None:
            return None
        return _of_line(line, self.times.saw(stamp, line[stamp.end :]))


def _of_line(line: str, stamp: Stamp) -> Entry:
    """The text is what follows the stamp; what stood before it says who wrote it."""
    text = _STREAM.sub("", line[stamp.end :], count=1)
    who = _RAY.match(line) if stamp.start else None
    if who is None:
        tag = _TAG.match(text)
        if tag is not None:
            who, text = tag, text[tag.end() :]
    if who is None:
        return Entry(stamp.time_ns, text.lstrip(" \t]:|-"), False, UNREAD, raw=line)
    return Entry(
        stamp.time_ns, text.lstrip(" \t]:|-"), False, UNREAD, "", who["who"],
        int(who["pid"]) if who["pid"] else None, raw=line,
    )  # fmt: skip
