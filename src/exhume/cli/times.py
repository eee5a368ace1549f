"""Times and durations as people write them, and back. Pure: `now` and the zone are arguments.

A clock time without a date is the most recent such time: of an imported recording, the last before
its end. Where a zone's clock goes back, a time
comes twice: the later one is meant, unless that is still to come (write the offset to choose:
`02:30+02:00`). Where it goes forward, a time is skipped: 02:30 then means half an hour after the
jump, which is what a clock that nobody has changed yet would show.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec import Struct

from exhume.cli.figures import NS
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.window import Ended, Window

TIME_FORMS = """\
03:14:07, 03:14, 03:14:07.250    the last time the clock showed that
2024-05-01T03:14:07, 2024-05-01  with Z or +02:00 for another zone
5m ago, 2h30m ago, -5m, now
1714532047.25                    epoch seconds"""
DURATION_FORMS = "250ms, 5s, 1m30s, 12h, 1d"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_NS = 253_402_300_000 * NS  # the end of the year 9999, where the calendar of Python ends
_MS = 1_000_000
_UNITS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000,
    "s": NS, "m": 60 * NS, "h": 3_600 * NS, "d": 86_400 * NS, "w": 604_800 * NS,
}  # fmt: skip
_PART = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,18})?)(ns|us|µs|ms|s|m|h|d|w)")
_AGO = re.compile(r"-(?P<minus>[0-9].*)|(?P<ago>[0-9].*?)\s*ago")
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?")
_CALENDAR = re.compile(
    r"(?:(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:T|\s+|$))?"
    r"(?:(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"\s?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.IGNORECASE,
)


class Viewpoint(Struct, frozen=True):
    """When and where the person asks from: decides what 03:14 means and how a time is shown."""

    now_ns: int
    zone: tzinfo
    ended: Ended | None = None
    """What the recording that is asked covers, where nothing more comes into it."""

    @property
    def latest_ns(self) -> int:
        """What `now`, `5m ago` and 03:14 are said from. Last week's files have no other now."""
        return self.now_ns if self.ended is None else self.ended.whole.end_ns

    def local(self, wall_ns: int) -> datetime:
        return (_EPOCH + timedelta(microseconds=wall_ns // 1_000)).astimezone(self.zone)

    def show(self, wall_ns: int, digits: int = 0, *, with_date: bool | None = None) -> str:
        """`03:14:07`, with the date in front only when it isn't today's."""
        local = self.local(wall_ns)
        text = local.strftime("%H:%M:%S")
        if digits:
            text += f".{wall_ns % NS:09d}"[: digits + 1]
        if with_date is None:
            with_date = local.date() != self.local(self.now_ns).date()
        return f"{local.date().isoformat()} {text}" if with_date else text

    def show_window(self, window: Window) -> str:
        """`03:14:02 – 03:14:07`: dates only where needed, fractions only where they matter."""
        # The end of what was recorded is an instant after its last sample: 1 ns is no fraction.
        has_fraction = any(at_ns % NS >= _MS for at_ns in (window.start_ns, window.end_ns))
        digits = 3 if has_fraction and window.seconds < 10 else 0
        same_day = self.local(window.start_ns).date() == self.local(window.end_ns).date()
        start = self.show(window.start_ns, digits, with_date=None if same_day else True)
        return f"{start} – {self.show(window.end_ns, digits, with_date=not same_day)}"

    def zone_name(self, wall_ns: int) -> str:
        return self.local(wall_ns).tzname() or "local time"


def parse_duration(text: str) -> int:
    """Nanoseconds of `1m30s` and the like; always more than 0."""
    total = _duration(text)
    if total is None:
        raise _usage(f"'{text}' is not a duration; write for example", DURATION_FORMS)
    if total <= 0:
        raise _usage(f"the duration '{text}' is zero; write for example", DURATION_FORMS)
    return total


def parse_time(text: str, view: Viewpoint, *, after_ns: int | None = None) -> int:
    """Wall time in nanoseconds. `after_ns`: a bare clock time is the first one after that."""
    wall_ns = _parse(text.strip(), view, after_ns)
    if wall_ns is None:
        raise _usage(f"'{text}' is not a time; write for example", TIME_FORMS)
    if not 0 <= wall_ns < _LATEST_NS:
        raise _usage(f"'{text}' lies outside of 1970 to 9999; write for example", TIME_FORMS)
    return wall_ns


def parse_stretch(text: str, view: Viewpoint) -> Window:
    """What a time stands for, as exactly as it is written: 03:14 is a minute, 03:14:07 a second."""
    start_ns = parse_time(text, view)
    return Window(start_ns, start_ns + _exactness_ns(text.strip()))


def local_zone(environ: dict[str, str] | None = None) -> tzinfo:
    """TZ, else /etc/localtime, else UTC. By name or file, so that past offsets are right too."""
    name = (os.environ if environ is None else environ).get("TZ")
    try:
        if name is not None:
            return ZoneInfo(name.removeprefix(":") or "UTC")
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError, see below
        return UTC
    except KeyError:
        # A POSIX rule such as CET-1CEST: the C library knows it, but only for today.
        return datetime.now().astimezone().tzinfo or UTC


def _duration(text: str) -> int | None:
    compact = "".join(text.split())
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        return None
    return sum(int(Decimal(number) * _UNITS[unit]) for number, unit in parts)


def _parse(text: str, view: Viewpoint, after_ns: int | None) -> int | None:
    if text.lower() == "now":
        return view.latest_ns
    if match := _AGO.fullmatch(text):
        length_ns = _duration(match["minus"] or match["ago"])
        return None if length_ns is None else view.latest_ns - length_ns
    if _NUMBER.fullmatch(text):
        seconds = Decimal(text)
        # Small numbers are typing errors (5, 0314), large ones milliseconds; not times of a node.
        return int(seconds * NS) if 10**8 <= seconds < 10**11 else None
    match = _CALENDAR.fullmatch(text)
    if match is None or not text:
        return None
    try:
        zone = _zone(match["zone"]) or view.zone
        clock = time(int(match["hour"] or 0), int(match["minute"] or 0), int(match["second"] or 0))
        fraction_ns = int((match["fraction"] or "").ljust(9, "0"))
        if match["date"]:
            instants = _instants(date.fromisoformat(match["date"]), clock, zone, fraction_ns)
            return max((i for i in instants if i <= view.latest_ns), default=instants[0])
        if after_ns is not None:
            found = _around(after_ns, (0, 1, 2), clock, zone, fraction_ns)
            return min(i for i in found if i > after_ns)
        found = _around(view.latest_ns, (0, -1, -2), clock, zone, fraction_ns)
        return max(i for i in found if i <= view.latest_ns)
    except (ValueError, OverflowError):
        return None


def _exactness_ns(text: str) -> int:
    if _NUMBER.fullmatch(text):
        return _last_digit_ns(text.partition(".")[2])
    match = _CALENDAR.fullmatch(text)
    if match is None or match["second"]:
        return _last_digit_ns(match["fraction"] or "" if match else "")
    return _UNITS["m" if match["hour"] else "d"]


def _last_digit_ns(fraction: str) -> int:
    return max(1, int(NS // 10 ** len(fraction)))


def _around(
    wall_ns: int, days: tuple[int, ...], clock: time, zone: tzinfo, fraction_ns: int
) -> list[int]:
    today = Viewpoint(0, zone).local(wall_ns).date()
    return [
        instant
        for offset in days
        for instant in _instants(today + timedelta(days=offset), clock, zone, fraction_ns)
    ]


def _instants(day: date, clock: time, zone: tzinfo, fraction_ns: int) -> list[int]:
    """One, or both where the clock shows it twice; a skipped one is moved behind the jump."""
    readings = [datetime.combine(day, clock, zone).replace(fold=fold) for fold in (0, 1)]
    real = [r for r in readings if r.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
            == r.replace(tzinfo=None)]  # fmt: skip
    return sorted({_to_ns(reading) + fraction_ns for reading in real or readings[:1]})


def _to_ns(moment: datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * NS


def _zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text in "Zz":
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "")
    return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))


def _usage(what: str, forms: str) -> ExhumeError:
    return ExhumeError(what, todo=forms, exit_code=EXIT_USAGE)
