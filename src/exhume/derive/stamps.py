"""Time stamps of log lines: the forms that programs write, as wall time.

Some have no zone, and are taken as UTC. Some have no year: then the file's own time gives it, and
the stamps before tell when a new one began.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

NS = 1_000_000_000
_DAY_S = 86_400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = {name: number for number, name in enumerate(_MONTHS, 1)}
_NAMED = "|".join(_MONTHS)
_DATE = rf"\b({_NAMED}) {{1,2}}(\d{{1,2}})"
_CLOCK = r"(\d\d):(\d\d):(\d\d)"
_HALF_YEAR_DAYS = 183
_SEARCHED = 100
"""Characters of a line in which a stamp is looked for."""


class Stamp(NamedTuple):
    time_ns: int
    start: int
    """Where it stands in the line."""
    end: int
    has_zone: bool
    has_year: bool


class Years(Struct):
    """The year of stamps without one. They come in order, but for a line or two."""

    newest_ns: int
    """The log was written by then."""
    year: int | None = None
    _day: int = 0

    def of(self, month: int, day: int) -> int:
        at = month * 31 + day
        if self.year is None:
            self.year = self._first(month, day)
        elif at < self._day - _HALF_YEAR_DAYS:
            self.year += 1
        elif at > self._day + _HALF_YEAR_DAYS:  # a line of the old year behind one of the new
            return self.year - 1
        self._day = at
        return self.year

    def _first(self, month: int, day: int) -> int:
        newest = datetime.fromtimestamp(self.newest_ns // NS + _DAY_S, UTC)
        year = newest.year if (month, day) <= (newest.month, newest.day) else newest.year - 1
        while (month, day) == (2, 29) and _day_s(year, month, day) is None and year > 1990:
            year -= 1
        return year


def some_years() -> Years:
    """Where only the form of a stamp matters. 2028 has a 29th of February."""
    return Years(1_861_833_600 * NS)


class Style(Struct, frozen=True):
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], Years], int | None]
    has_year: bool = True
    only_at_start: bool = False


def _iso(found: re.Match[str], _: Years) -> int | None:
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    at = _wall_ns(int(year), int(month), int(day), hour, minute, second, fraction)
    return None if at is None else at - zone_ns(zone)


def _slashes(found: re.Match[str], _: Years) -> int | None:
    year, month, day, hour, minute, second, fraction = found.groups()
    return _wall_ns(int(year), int(month), int(day), hour, minute, second, fraction)


def _access(found: re.Match[str], _: Years) -> int | None:
    day, month, year, hour, minute, second, zone = found.groups()
    at = _wall_ns(int(year), _MONTH[month], int(day), hour, minute, second, None)
    return None if at is None else at - zone_ns(zone)


def _ctime(found: re.Match[str], _: Years) -> int | None:
    month, day, hour, minute, second, fraction, year = found.groups()
    return _wall_ns(int(year), _MONTH[month], int(day), hour, minute, second, fraction)


def _syslog(found: re.Match[str], years: Years) -> int | None:
    month, day, hour, minute, second, fraction = found.groups()
    year = years.of(_MONTH[month], int(day))
    return _wall_ns(year, _MONTH[month], int(day), hour, minute, second, fraction)


def _klog(found: re.Match[str], years: Years) -> int | None:
    told, month, day, hour, minute, second, fraction = found.groups()
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return None
    year = int(told) if told else years.of(int(month), int(day))
    return _wall_ns(year, int(month), int(day), hour, minute, second, fraction)


def _epoch(found: re.Match[str], _: Years) -> int | None:
    seconds, fraction, millis = found.groups()
    return int(millis) * 1_000_000 if millis else int(seconds) * NS + fraction_ns(fraction)


_ZONE = r"(?: ?(Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"
ISO = Style(
    # 2026-11-15T20:20:10.123456Z, 2026-11-15 20:20:10,123, 2026-11-15 20:20:10.123 +0000 UTC
    re.compile(rf"(?<!\d)(\d{{4}})-(\d\d)-(\d\d)[T ]{_CLOCK}(?:[.,](\d{{1,12}}))?(?!\d){_ZONE}"),
    _iso,
)
SYSLOG = Style(
    # Nov 15 20:20:10, Nov  5 20:20:10.123456; with the year behind it is another one
    re.compile(rf"{_DATE} {_CLOCK}(?:\.(\d{{1,9}}))?(?!\d)(?! (?:[A-Z]{{3,5}} )?\d{{4}}\b)"),
    _syslog,
    has_year=False,
)
CTIME = Style(
    # Sun Nov 15 20:20:10 2026, Sun Nov 15 20:20:10.123456 2026, Sun Nov 15 20:20:10 UTC 2026
    re.compile(rf"{_DATE} {_CLOCK}(?:\.(\d{{1,9}}))?(?: [A-Z]{{3,5}})? (\d{{4}})\b"),
    _ctime,
)
STYLES: tuple[Style, ...] = (
    ISO,
    # nginx and Go: 2026/11/15 20:20:10.123456
    Style(
        re.compile(rf"(?<!\d)(\d{{4}})/(\d\d)/(\d\d) {_CLOCK}(?:[.,](\d{{1,9}}))?(?!\d)"), _slashes
    ),
    # access logs: 15/Nov/2026:20:20:10 +0000
    Style(re.compile(rf"(?<!\d)(\d\d)/({_NAMED})/(\d{{4}}):{_CLOCK} ([+-]\d{{4}})"), _access),
    # E1115 20:20:10.123456 of klog, E20261115 of newer glog
    Style(
        re.compile(rf"\b[IWEFCD](\d{{4}})?(\d\d)(\d\d) {_CLOCK}\.(\d{{1,9}})"),
        _klog,
        has_year=False,
    ),
    CTIME,
    SYSLOG,
    # 1794774010.123456, [1794774010.123], ts=1794774010123, in the first place only
    Style(
        re.compile(r"(?:\[|ts=|time=)?(?:(1\d{9})(?:\.(\d{1,9}))?|(1\d{12}))(?=[\]\s:])"),
        _epoch,
        only_at_start=True,
    ),
)


class StampFinder(Struct):
    """Finds the stamp of a line. The next line mostly has its own in the same place."""

    years: Years
    styles: Sequence[Style] = STYLES
    _last: Style | None = None
    _at: int = 0

    def find(self, line: str) -> Stamp | None:
        if self._last is not None:
            found = self._last.pattern.match(line, self._at)
            if found is not None and (stamp := self._read(self._last, found)) is not None:
                return stamp
        return self._anywhere(line)

    def _anywhere(self, line: str) -> Stamp | None:
        best: tuple[int, Style, re.Match[str]] | None = None
        head = line[:_SEARCHED]
        for style in self.styles:
            found = style.pattern.match(head) if style.only_at_start else style.pattern.search(head)
            if found is not None and (best is None or found.start() < best[0]):
                best = found.start(), style, found
        if best is None:
            return None
        stamp = self._read(best[1], best[2])
        if stamp is not None:
            self._last, self._at = best[1], best[0]
        return stamp

    def _read(self, style: Style, found: re.Match[str]) -> Stamp | None:
        at = style.read(found, self.years)
        if at is None:
            return None
        has_zone = style.read in _ZONED and (
            style.read is _epoch or found[found.re.groups] is not None
        )
        has_year = style.has_year or (style.read is _klog and found[1] is not None)
        return Stamp(at, found.start(), found.end(), has_zone, has_year)


_ZONED = (_iso, _access, _epoch)


def text_ns(text: str) -> tuple[int, bool] | None:
    """A stamp that is all of a text, as in JSON: wall time, and whether it has a zone."""
    stamp = StampFinder(some_years(), (ISO,)).find(text.strip())
    if stamp is not None and stamp.start == 0:
        return stamp.time_ns, stamp.has_zone
    try:
        return number_ns(float(text)), True
    except (ValueError, OverflowError):
        return None


def number_ns(value: float) -> int:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970: by how many there are."""
    if not 1e8 < value < 1e20:
        raise ValueError("no time of these years")
    for limit, factor in ((1e11, NS), (1e14, 1_000_000), (1e17, 1000)):
        if value < limit:
            return round(value * factor)
    return round(value)


def zone_ns(zone: str | None) -> int:
    if not zone or zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return (seconds if zone[0] == "+" else -seconds) * NS


def fraction_ns(digits: str | None) -> int:
    return int(digits[:9].ljust(9, "0")) if digits else 0


def _wall_ns(
    year: int, month: int, day: int, hour: str, minute: str, second: str, fraction: str | None
) -> int | None:
    days = _day_s(year, month, day)
    h, m, s = int(hour), int(minute), int(second)
    if days is None or h > 23 or m > 59 or s > 60:
        return None
    return (days + h * 3600 + m * 60 + s) * NS + fraction_ns(fraction)


@lru_cache(maxsize=1024)
def _day_s(year: int, month: int, day: int) -> int | None:
    if not 1990 <= year < 2200:
        return None
    try:
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())
    except ValueError:
        return None
