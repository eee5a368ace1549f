"""Logs of applications and supervisors: any text whose lines have a time stamp near their start.

Lines without one (a traceback) happened when the last one before them did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct, field

from exhume.derive.stamps import Stamp, StampFinder, Years, number_ns, some_years, text_ns
from exhume.ingest.context import Context
from exhume.ingest.lines import head_lines, lines_of
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.log_entries import UNREAD, Entry
from exhume.ingest.log_levels import INFO, LEVELS
from exhume.ingest.log_reader import LogParser, newest_ns, pieces
from exhume.ingest.piece import Piece
from exhume.ingest.streams import Source

_MAX_OBJECT = 1 << 18
_MAX_WAITING = 1000
_WORD = re.compile(r"[^\W\d_]{2,}")
_TIME_KEYS = ("time", "ts", "timestamp", "@timestamp", "asctime", "t", "date", "eventTime")
_TEXT_KEYS = ("msg", "message", "log", "event", "text", "MESSAGE")
_MORE_KEYS = ("err", "error", "exc_info", "exception", "stack", "stacktrace", "traceback", "reason")
_WHO_KEYS = ("logger", "name", "component", "service", "app", "unit", "container", "program")
_LEVEL_KEYS = ("level", "severity", "lvl", "levelname", "log.level")
# `(MapWorker(f) pid=351, ip=10.0.0.1) `, `(raylet) `, `[rank0]:`
_RAY = re.compile(
    r"\s*\((?P<who>[\w.:-]{1,80})(?:\([^()]{0,80}\))?(?:,? pid=(?P<pid>\d{1,10}))?"
    r"(?:, ip=[\w.:]{1,64})?\)\s*"
)
# `supervisor[1]: `, `dockerd[812]: `, behind the stamp
_TAG = re.compile(r"[\s:\]|-]{0,8}(?P<who>[A-Za-z][\w.@/-]{0,63})\[(?P<pid>\d{1,10})\]: ")


def is_job_log(head: bytes, _: Path) -> bool:
    """Strict: a table with a time column is none, nor is a text that mentions a time."""
    lines = head_lines(head)
    finder = StampFinder(some_years())
    stamped = 0
    for line in lines:
        if line.startswith("{"):
            stamped += _of_object(line) is not None
            continue
        stamp = finder.find(line)
        if stamp is not None and (stamp.start < 4 or _is_prefix(line[: stamp.start])):
            rest = line[stamp.end :]
            stamped += rest[:1] not in (",", ";", "\t") and _WORD.search(rest) is not None
    return stamped > 0 and 10 * stamped >= len(lines) and (stamped > 1 or len(lines) <= 3)


def _is_prefix(before: str) -> bool:
    """What may stand before a stamp: a Ray worker, a host, an address, a key."""
    return before.rstrip().endswith(
        ("[", ")", "]", "]:", "time=", 'time="', "ts=", "-", "|", ":")
    ) or (len(before.split()) <= 1)


def read(source: Source, context: Context) -> Iterator[Piece]:
    yield from pieces(source, context, JobLog(source.path, LocalTimes(context.clock.zone)))


class JobLog(Struct, LogParser):
    path: Path
    times: LocalTimes = field(default_factory=LocalTimes)
    _waiting: list[str] = field(default_factory=list)
    """Lines before the first stamp."""

    def entries(self, stream: BinaryIO) -> Iterator[Entry]:
        finder = StampFinder(Years(newest_ns(self.path)))
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

    def _entry(self, line: str, finder: StampFinder) -> Entry | None:
        if line.startswith("{"):
            found = _of_object(line)
            if found is not None:
                entry, has_zone = found
                self.times.saw_zone(has_zone)
                return entry
        stamp = finder.find(line)
        if stamp is None:
            return None
        self.times.saw(stamp)
        return _of_line(line, stamp)


def _of_line(line: str, stamp: Stamp) -> Entry:
    """The text is what follows the stamp; what stood before it says who wrote it."""
    text = line[stamp.end :]
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


def _of_object(line: str) -> tuple[Entry, bool] | None:
    """A line of JSON with a time and a text, and whether its time has a zone."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    when = next((value[key] for key in _TIME_KEYS if key in value), None)
    text = next((value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)), None)
    at = _time(when)
    if at is None or text is None:
        return None
    more = [str(value[key])[:2000] for key in _MORE_KEYS if value.get(key)]
    who = next((value[key] for key in _WHO_KEYS if isinstance(value.get(key), str)), "")
    level = next((str(value[key]) for key in _LEVEL_KEYS if key in value), "")
    entry = Entry(
        at[0], " ".join([text.rstrip("\n"), *more]), False, LEVELS.get(level.upper(), INFO), "",
        who[:64],
    )  # fmt: skip
    return entry, at[1]


def _time(value: Any) -> tuple[int, bool] | None:
    if isinstance(value, str):
        return text_ns(value[:64])
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return number_ns(value), True
        except (ValueError, OverflowError):
            return None
    return None
