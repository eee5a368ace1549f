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

from exhume.derive.stamp_words import MONTH, month
from exhume.derive.zone_names import ZONE, minutes_east

NS = 1_000_000_000
_DAY_S = 86_400
_DATE = rf"\b({MONTH}) {{1,2}}(\d{{1,2}})"
_CLOCK = r"(\d\d):(\d\d):(\d\d)"
_CLOCK_12 = r"(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?([AaPp][Mm])\b)?(?!\d)"
_TAI64_LATE_S = (1 << 62) + 10
"""What daemontools add to seconds since 1970: https://cr.yp.to/libtai/tai64.html"""
_HALF_YEAR_DAYS = 183
_NEARLY_A_YEAR_DAYS = 341
"""From a day of January to one of December before it. Months count 31 days here."""
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
        elif at > self._day + _HALF_YEAR_DAYS and (
            at > self._day + _NEARLY_A_YEAR_DAYS or (self.year, month, day) > self._newest()
        ):  # a line of the old year behind one of the new; else nothing was said for long
            return self.year - 1
        self._day = at
        return self.year

    def _newest(self) -> tuple[int, int, int]:
        newest = datetime.fromtimestamp(self.newest_ns // NS + _DAY_S, UTC)
        return newest.year, newest.month, newest.day

    def _first(self, month: int, day: int) -> int:
        year, *newest = self._newest()
        year = year if [month, day] <= newest else year - 1
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
    zone: int = 0
    """Which group has the zone; 0 where none has."""
    is_utc: bool = False


def _iso(found: re.Match[str], _: Years) -> int | None:
    year, number, day, hour, minute, second, fraction, zone = found.groups()
    at = _wall_ns(int(year), int(number), int(day), hour, minute, second, fraction)
    return None if at is None else at - zone_ns(zone)


def _slashes(found: re.Match[str], _: Years) -> int | None:
    year, number, day, hour, minute, second, fraction = found.groups()
    return _wall_ns(int(year), int(number), int(day), hour, minute, second, fraction)


def _access(found: re.Match[str], _: Years) -> int | None:
    day, name, year, hour, minute, second, zone = found.groups()
    at = _named_ns(int(year), name, day, hour, minute, second, None)
    return None if at is None else at - zone_ns(zone)


def _ctime(found: re.Match[str], _: Years) -> int | None:
    name, day, hour, minute, second, fraction, zone, year = found.groups()
    at = _named_ns(int(year), name, day, hour, minute, second, fraction)
    return None if at is None else at - zone_ns(zone)


def _syslog(found: re.Match[str], years: Years) -> int | None:
    name, day, hour, minute, second, fraction = found.groups()
    number = month(name)
    if number is None or _day_s(2028, number, int(day)) is None:
        return None
    year = years.of(number, int(day))
    return _wall_ns(year, number, int(day), hour, minute, second, fraction)


def _zone_first(found: re.Match[str], years: Years) -> int | None:
    zone, name, day, hour, minute, second = found.groups()
    number = month(name)
    if number is None or _day_s(2028, number, int(day)) is None:
        return None
    at = _wall_ns(years.of(number, int(day)), number, int(day), hour, minute, second, None)
    return None if at is None else at - zone_ns(zone)


def _klog(found: re.Match[str], years: Years) -> int | None:
    told, number, day, hour, minute, second, fraction = found.groups()
    if not (1 <= int(number) <= 12 and 1 <= int(day) <= 31):
        return None
    year = int(told) if told else years.of(int(number), int(day))
    return _wall_ns(year, int(number), int(day), hour, minute, second, fraction)


def _year_first(found: re.Match[str], _: Years) -> int | None:
    year, name, day, hour, minute, second, fraction = found.groups()
    return _named_ns(int(year), name, day, hour, minute, second, fraction)


def _year_in_the_middle(found: re.Match[str], _: Years) -> int | None:
    name, day, year, hour, minute, second, fraction, half = found.groups()
    return _named_ns(int(year), name, day, _hour(hour, half), minute, second, fraction)


def _day_first(found: re.Match[str], _: Years) -> int | None:
    day, name, year, hour, minute, second, fraction = found.groups()
    return _named_ns(int(year), name, day, hour, minute, second, fraction)


def _numbers_day_first(found: re.Match[str], _: Years) -> int | None:
    day, number, year, hour, minute, second, fraction = found.groups()
    return _wall_ns(int(year), int(number), int(day), hour, minute, second, fraction)


def _american(found: re.Match[str], _: Years) -> int | None:
    first, second_number, year, hour, minute, second, fraction, half = found.groups()
    number, day = int(first), int(second_number)
    if number > 12:  # nobody else puts the day first where it can be mistaken
        number, day = day, number
    return _wall_ns(int(year), number, day, _hour(hour, half), minute, second, fraction)


def _short_year(found: re.Match[str], _: Years) -> int | None:
    year, number, day, hour, minute, second = found.groups()
    return _wall_ns(2000 + int(year), int(number), int(day), hour, minute, second, None)


def _basic(found: re.Match[str], _: Years) -> int | None:
    year, number, day, hour, minute, second, zone = found.groups()
    at = _wall_ns(int(year), int(number), int(day), hour, minute, second, None)
    return None if at is None else at - zone_ns(zone)


def _tai64n(found: re.Match[str], _: Years) -> int | None:
    return (int(found[1], 16) - _TAI64_LATE_S) * NS + int(found[2], 16)


def _epoch(found: re.Match[str], _: Years) -> int | None:
    seconds, fraction, millis = found.groups()
    return int(millis) * 1_000_000 if millis else int(seconds) * NS + fraction_ns(fraction)


ISO = Style(
    # 2026-11-15T20:20:10.123456Z, 2026-11-15 20:20:10,123, 2026-11-15 20:20:10.123 +0000 UTC,
    # 2026-11-15 21:20:10 CET, 2026-11-15_20:20:10.12345 of runit
    re.compile(
        rf"(?<!\d)(\d{{4}})-(\d\d)-(\d\d)[T _]{_CLOCK}(?:[.,](\d{{1,12}}))?(?!\d)"
        rf"(?: ?({ZONE})(?![\w:]))?"
    ),
    _iso,
    zone=8,
)
SYSLOG = Style(
    # Nov 15 20:20:10, Nov  5 20:20:10.123456; with the year behind it is another one
    re.compile(
        rf"{_DATE} {_CLOCK}(?:\.(\d{{1,9}}))?(?!\d)(?! (?:(?:{ZONE}|[A-Z]{{3,5}}) )?\d{{4}}\b)"
    ),
    _syslog,
    has_year=False,
)
CTIME = Style(
    # Sun Nov 15 20:20:10 2026, Sun Nov 15 20:20:10.123456 2026, Sun Nov 15 20:20:10 UTC 2026
    re.compile(rf"{_DATE} {_CLOCK}(?:\.(\d{{1,9}}))?(?: ({ZONE}|[A-Z]{{3,5}}))? (\d{{4}})\b"),
    _ctime,
    zone=7,
)
WITH_YEAR = (
    # 2026 Nov 15 20:20:10 of syslog daemons that were told to write the year
    Style(re.compile(rf"(?<!\d)(\d{{4}}) {_DATE} {_CLOCK}(?:\.(\d{{1,9}}))?(?!\d)"), _year_first),
    # Nov 15 2026 20:20:10, and of Java: Nov 15, 2026 8:20:10 PM
    Style(re.compile(rf"{_DATE},? (\d{{4}}),? {_CLOCK_12}"), _year_in_the_middle),
)
STYLES: tuple[Style, ...] = (
    ISO,
    # nginx and Go: 2026/11/15 20:20:10.123456
    Style(
        re.compile(rf"(?<!\d)(\d{{4}})/(\d\d)/(\d\d) {_CLOCK}(?:[.,](\d{{1,9}}))?(?!\d)"), _slashes
    ),
    # access logs: 15/Nov/2026:20:20:10 +0000
    Style(
        re.compile(rf"(?<!\d)(\d\d)/(\w{{3}})/(\d{{4}}):{_CLOCK} ([+-]\d{{4}})"), _access, zone=7
    ),
    # E1115 20:20:10.123456 of klog, E20261115 of newer glog
    Style(
        re.compile(rf"\b[IWEFCD](\d{{4}})?(\d\d)(\d\d) {_CLOCK}\.(\d{{1,9}})"),
        _klog,
        has_year=False,
    ),
    CTIME,
    SYSLOG,
    # Monit: [CET Nov 15 20:20:10]
    Style(
        re.compile(rf"\b({ZONE}) {_DATE} {_CLOCK}(?!\d)(?! \d{{4}}\b)"),
        _zone_first,
        has_year=False,
        zone=1,
    ),
    *WITH_YEAR,
    # Redis: 15 Nov 2026 20:20:10.123; Tomcat: 15-Nov-2026 20:20:10.123
    Style(
        re.compile(
            rf"(?<![\w/])(\d{{1,2}})[ -]({MONTH})[ -](\d{{4}}) {_CLOCK}(?:[.,](\d{{1,9}}))?(?!\d)"
        ),
        _day_first,
    ),
    # 15.11.2026 20:20:10, 15-11-2026 20:20:10.123
    Style(
        re.compile(
            rf"(?<![\w.-])(\d\d)(?:\.(?=\d\d\.)|-(?=\d\d-))(\d\d)[.-](\d{{4}}) {_CLOCK}"
            r"(?:[.,](\d{1,9}))?(?!\d)"
        ),
        _numbers_day_first,
    ),
    # 11/15/2026 20:20:10, 11/15/2026, 8:20:10 PM
    Style(re.compile(rf"(?<![\w/])(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}),? {_CLOCK_12}"), _american),
    # Spark and Hadoop: 26/11/15 20:20:10
    Style(re.compile(rf"(\d\d)/(\d\d)/(\d\d) {_CLOCK}(?!\d)"), _short_year, only_at_start=True),
    # 20261115T202010Z
    Style(
        re.compile(rf"\[?(\d{{4}})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)({ZONE})?(?![\w:])"),
        _basic,
        only_at_start=True,
        zone=7,
    ),
    # daemontools, s6 and multilog: @400000006a6f2f2a0c845880
    Style(
        re.compile(r"@(4[0-9a-f]{15})([0-3][0-9a-f]{7}) "), _tai64n, only_at_start=True, is_utc=True
    ),
    # logfmt: level=error ts=1794774010.123
    Style(
        re.compile(r"\b(?:ts|time|timestamp)=\"?(1\d{9})(?:\.(\d{1,9}))?()(?=[\"\s])"),
        _epoch,
        is_utc=True,
    ),
    # 1794774010.123456, [1794774010.123], ts=1794774010123, in the first place only
    Style(
        re.compile(r"(?:\[|ts=|time=)?(?:(1\d{9})(?:\.(\d{1,9}))?|(1\d{12}))(?=[\]\s:])"),
        _epoch,
        only_at_start=True,
        is_utc=True,
    ),
)


_WITH_DATE = tuple(style for style in STYLES if style.has_year and not style.is_utc)


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
        head = line[:_SEARCHED]
        found = [
            (one.start(), style, one)
            for style in self.styles
            if (one := style.pattern.match(head) if style.only_at_start
                else style.pattern.search(head)) is not None
        ]  # fmt: skip
        for start, style, one in sorted(found, key=lambda entry: entry[0]):
            stamp = self._read(style, one)
            if stamp is not None:
                self._last, self._at = style, start
                return stamp
        return None

    def _read(self, style: Style, found: re.Match[str]) -> Stamp | None:
        at = style.read(found, self.years)
        if at is None:
            return None
        has_zone = style.is_utc or (style.zone > 0 and minutes_east(found[style.zone]) is not None)
        has_year = style.has_year or (style.read is _klog and found[1] is not None)
        return Stamp(at, found.start(), found.end(), has_zone, has_year)


def text_ns(text: str) -> tuple[int, bool] | None:
    """A stamp that is all of a text, as in JSON: wall time, and whether it has a zone."""
    stamp = StampFinder(some_years(), _WITH_DATE).find(text.strip())
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
    return (minutes_east(zone) or 0) * 60 * NS


def fraction_ns(digits: str | None) -> int:
    return int(digits[:9].ljust(9, "0")) if digits else 0


def _hour(text: str, half: str | None) -> str:
    """Of a 12-hour clock, where it says which half of the day it is."""
    if half is None:
        return text
    return str(int(text) % 12 + (12 if half[0] in "pP" else 0))


def _named_ns(
    year: int, name: str, day: str, hour: str, minute: str, second: str, fraction: str | None
) -> int | None:
    number = month(name)
    if number is None:
        return None
    return _wall_ns(year, number, int(day), hour, minute, second, fraction)


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
