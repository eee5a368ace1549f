"""What stands above the tables of sysstat's tools: the machine, the date, the form of the clock.

    Linux 5.4.0-1146-aws (gpu-node-54) \t11/15/26 \t_x86_64_\t(2 CPU)

The date is in the locale's form, so 03/04/22 may be of March or of April.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from msgspec import Struct

from exhume.derive.stamp_words import month_by_name
from exhume.ingest.clocks import name_time_ns
from exhume.ingest.local_times import ZONES_MINUTES, zone_name
from exhume.ingest.piece import Claim, Hints, Trust
from exhume.ingest.zone_axis import east_s

NS = 1_000_000_000
DAY_S = 86_400
# Before sysstat 8.1 it ended with the date. Some leave out the name of the host.
HEADER = re.compile(
    rb"^(?:\S+ (?P<release>\S+)(?: \((?P<host>[^()\n]+)\))?[ \t]{1,20}"
    rb"(?P<date>[^\t\n]{1,80}?)[ \t]{1,20}"
    rb"_(?P<machine>\w+)_[ \t]+\((?P<cores>\d{1,6}) CPU\)"
    rb"|Linux (?P<old_release>\d\S+) \((?P<old_host>[^()\n]+)\)[ \t]+(?P<old_date>\d\S{5,19}))"
    rb"[ \t]*\r?$",
    re.MULTILINE,
)
_NUMBERS = re.compile(r"\d+")
_NAMED = re.compile(r"\b(\d{1,2}) ([^\W\d_]{3,}) (\d{4})\b")
# 20:15:17, 08:15:17 PM; 20時15分17秒, 20时15分17秒, 20시 15분 17초
_CLOCK = re.compile(r"(\d{1,2})(?::|[時时시] ?)(\d\d)(?::|[分분] ?)(\d\d)[秒초]?\s*(\S.*)?")
# `2026-11-15T20:15:18.003Z stdout F 21:15:18     all    1.00 …`, `[pod/mpstat-x7/main] 2026-…`
_PASSED_ON = re.compile(
    rb"^(?:\[[^\]\n]{1,300}\] )?(?P<came>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z "
    rb"(?:std(?:out|err) F )?(?P<clock>\d\d:\d\d:\d\d(?: [AP]M)?) +(?:all|\d{1,5}) ",
    re.MULTILINE,
)
_QUARTER_S, _LATE_S, _WEST_S = 900, 300, -10 * 3600
# How the locales that count to 12 call the halves of the day, without points and blanks.
_MORNING = frozenset(("am", "πμ", "午前", "上午", "오전", "sa", "pd", "ص", "قظ", "पूर्वाह्न"))
_EVENING = frozenset(("pm", "μμ", "午後", "下午", "오후", "ch", "md", "م", "بظ", "अपराह्न"))


class Header(Struct, frozen=True):
    hints: Hints
    days: tuple[date, ...]
    """What the date may be, the likeliest first; none where it makes no sense."""
    date_text: str

    @property
    def is_certain(self) -> bool:
        return len(self.days) == 1


def parse(line: re.Match[bytes]) -> Header:
    said = {
        name.removeprefix("old_"): value.decode("utf-8", "replace")
        for name, value in line.groupdict().items()
        if value is not None
    }
    text = said["date"]
    hints = Hints(
        node=said.get("host", ""),
        kernel=said["release"],
        architecture=said.get("machine", ""),
        cores=int(said["cores"]) if "cores" in said else None,
    )
    return Header(hints, tuple(dict.fromkeys(days_of(text))), text)


def days_of(text: str) -> Iterator[date]:
    """`2026-11-15`, `2026年11月15日`; `15.11.2026`; `11/15/26`, which may be `15/11/26` too; of
    India's locale `Sunday 15 November 2026`."""
    numbers = [found[0] for found in _NUMBERS.finditer(text)]
    named = _NAMED.search(text)
    if named is not None and (number := month_by_name(named[2])) is not None:
        numbers = [named[3], str(number), named[1]]
    if len(numbers) != 3 or max(map(len, numbers)) > 4:
        return
    first, second, third = (int(number) for number in numbers)
    if len(numbers[0]) == 4:
        orders = [(first, second, third)]
    else:
        year = third if len(numbers[2]) == 4 else 2000 + third
        month_first, day_first = (year, first, second), (year, second, first)
        # Points and dashes are of locales that say the day first; a slash may be either's.
        orders = [month_first, day_first] if "/" in text else [day_first]
    for order in orders:
        try:
            found = date(*order)
        except ValueError:
            continue
        if 1980 <= found.year < 2200:
            yield found


def clock_of(text: str) -> tuple[int, bool] | None:
    """Seconds since midnight, and whether it is told for sure; None where it is no time."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    is_sure = True
    if found[4]:
        half = found[4].casefold()
        # The locale's form may have a zone behind it: `12:38:33 PM IST`.
        names = {re.sub(r"[.\s]", "", text) for text in (half, half.split()[0])}
        is_late = bool(names & _EVENING)
        is_sure = is_late or bool(names & _MORNING)
        if is_sure or hour <= 12:  # else it is a zone behind a clock of 24 hours: `20:15:17 IST`
            hour = hour % 12 + (12 if is_late else 0)
        is_sure |= hour > 12
    if hour > 23 or minute > 59 or second > 60:
        return None
    return hour * 3600 + minute * 60 + min(second, 59), is_sure


def told_zone(head: bytes, zone: tzinfo | None) -> tuple[tzinfo | None, str]:
    """The zone of a table, by the user or by what stands before its lines; and by which of them."""
    return (zone, "as told") if zone else (zone_before(head), "by the times before its lines")


def zone_before(head: bytes) -> tzinfo | None:
    """That of a table whose lines somebody passed on with the whole time at which each came, as
    `kubectl logs --timestamps` does. A line comes late, if at all, never early."""
    apart = []
    for found in _PASSED_ON.finditer(head):
        clock = clock_of(found["clock"].decode())
        came = datetime.fromisoformat(found["came"].decode()).replace(tzinfo=UTC)
        if clock is not None and clock[1]:
            east = clock[0] - int(came.timestamp()) % DAY_S
            late = -east % _QUARTER_S
            apart.append((late, (east + late - _WEST_S) % DAY_S + _WEST_S))
    late, east = min(apart, default=(_QUARTER_S, 0))
    return timezone(timedelta(seconds=east)) if late <= _LATE_S else None


def epoch_s(day: date) -> int:
    """Midnight of that day, taken as UTC."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def day_east_s(zone: tzinfo, day: date) -> int:
    """How far from UTC that zone is at noon."""
    return east_s(zone, epoch_s(day) + DAY_S // 2)


class LocalClaim(Struct, frozen=True):
    """What a table's local times may mean: the claim, and what else may hold."""

    claim: Claim
    guesses: tuple[Claim, ...]
    notes: tuple[str, ...]


def local_claim(header: Header, name: str, zone: tzinfo | None, by: str = "as told") -> LocalClaim:
    """Times count from midnight UTC of the first of `header.days`. `zone`: told by the user, or
    known `by` something else."""
    days = list(header.days)
    notes = []
    named = name_time_ns(name)
    if named is not None and not header.is_certain:
        day = datetime.fromtimestamp(named // NS, UTC).date()
        days.sort(key=lambda one: abs((one - day).days))
    elif not header.is_certain:
        notes.append(f"its date {header.date_text} is taken as {days[0]}, but may be {days[1]}")
    first = epoch_s(header.days[0])
    shifts = {day: (epoch_s(day) - first) * NS for day in days}
    if zone is not None:
        claims = []
        for day in days:
            east_ns = day_east_s(zone, day) * NS
            how = f"its times are local, {zone} {by}"
            claims.append(Claim(shifts[day] - east_ns, Trust.TOLD, how))
        return LocalClaim(claims[0], tuple(claims[1:]), tuple(notes))
    how = "guessed: its times are local and are taken as UTC"
    claim = Claim(shifts[days[0]], Trust.FILE_NAME, how)
    guesses = [
        Claim(
            shifts[day] - east * 60 * NS,
            Trust.FILE_NAME,
            f"guessed: its times are local, taken as {zone_name(east)} of {day}, "
            "because otherwise they miss those of the other files",
        )
        for day in days
        for east in (0, *ZONES_MINUTES)
        if (day, east) != (days[0], 0)
    ]
    return LocalClaim(claim, tuple(guesses), tuple(notes))
