"""Wall times that leave something out: without a zone, or without a year.

They are taken as UTC, and of the year by which the file was written, unless the other inputs only
fit another zone or year.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from msgspec import Struct, field

from exhume.ingest.piece import Claim, ClockKind, Trust
from exhume.ingest.zone_axis import ZoneAxis

if TYPE_CHECKING:  # its patterns take 4 ms to compile, and captures have no use for them
    from exhume.derive.stamps import Stamp

_SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * _SECOND_NS
_YEAR_NS = 31_556_952 * _SECOND_NS
_YEARS = 10
_DAY_S = 86_400
_DAYS = 31
"""So long ago a log may have been written that was copied since."""
_MOST_CHANGES = 100
_NO_DATE = "without a date, which the file's own time gives"
# Whole hours, and the zones between them that are in use.
ZONES_MINUTES = (
    *sorted((60 * hours for hours in range(-12, 15) if hours), key=abs),
    *(330, 345, 210, 270, 390, 570, 630, 525, 765, 825, -150, -210, -570),
)


class ToldTimes(Struct, frozen=True):
    """What the lines of a log tell of what its stamps leave out; see `told_times`."""

    years: int = 0
    """How far the year is from the one that was taken."""
    is_year_told: bool = False
    east_ns: int | None = None
    """Of UTC. None: no line tells."""
    ends_ns: int | None = None
    """When its last line was written at the latest, where its head tells."""

    def newest_ns(self, newest_ns: int) -> int:
        """By when the log was written, where the time of its file is of another year."""
        return (newest_ns if self.ends_ns is None else self.ends_ns) + self.years * _YEAR_NS


class LocalTimes(Struct):
    """What the stamps of a log have had so far."""

    told: tzinfo | None = None
    """The zone, by the user."""
    with_zone: bool = False
    without_zone: bool = False
    without_year: bool = False
    without_day: bool = False
    axis: ZoneAxis | None = None
    """Of that zone."""
    own: ToldTimes = ToldTimes()
    follow: Callable[[Stamp, str], int] | None = None
    """How far east of UTC a stamp is, where its own line may tell of a change of summer time."""
    _later: list[int] = field(default_factory=list)
    """How far east it was after such changes."""

    def __post_init__(self) -> None:
        if self.told is not None:
            self.axis = ZoneAxis(self.told)

    def saw(self, stamp: Stamp, text: str = "") -> Stamp:
        """The stamp, at its place among those of its log. `text`: what follows it."""
        if not self.without_day:
            self.without_year |= not stamp.has_year and not self.own.is_year_told
        if self.follow is not None and text and not stamp.has_zone:
            self._note_east(self.follow(stamp, text))
        at = self.saw_time(stamp.time_ns, stamp.has_zone)
        return stamp if at == stamp.time_ns else stamp._replace(time_ns=at)

    def saw_time(self, time_ns: int, has_zone: bool) -> int:
        if not has_zone and self.told is None and (east_ns := self._east_ns) is not None:
            time_ns, has_zone = time_ns - east_ns, True
        self.with_zone |= has_zone
        self.without_zone |= not has_zone
        return time_ns if has_zone or self.axis is None else self.axis.at_ns(time_ns)

    @property
    def _east_ns(self) -> int | None:
        return self._later[-1] if self._later else self.own.east_ns

    def _note_east(self, east_ns: int) -> None:
        if east_ns != self._east_ns and len(self._later) < _MOST_CHANGES:
            self._later.append(east_ns)

    @property
    def _is_local(self) -> bool:
        """A log that has both kinds was written by somebody who thinks in UTC."""
        return self.without_zone and not self.with_zone

    @property
    def clock(self) -> ClockKind:
        is_whole = not (self._is_local or self.without_year or self.without_day)
        return ClockKind.WALL if is_whole else ClockKind.OWN

    def claim(self) -> Claim | None:
        if self.clock == ClockKind.WALL:
            return None
        if self._is_local and self.told is not None:
            east, how = self._told_minutes(), f"its times are local, {self.told} as told"
            if self.without_day:
                how = f"guessed: {how}, and {_NO_DATE}"
            return Claim(-east * MINUTE_NS, Trust.TOLD, how)
        missing = ["local and are taken as UTC"] if self._is_local else []
        if self.without_year:
            missing.append("without a year, which the file's own time gives")
        if self.without_day:
            missing.append(_NO_DATE)
        return Claim(0, Trust.FILE_NAME, f"guessed: its times are {', and '.join(missing)}")

    def tied(self, offset_ns: int, how: str) -> Claim:
        """What readings of such a time and of the uptime together say of the kernel's clock."""
        if not self._is_local:
            return Claim(offset_ns, Trust.UPTIME, how)
        east = self._told_minutes()
        taken = f"{self.told} as told" if self.told is not None else "local and taken as UTC"
        trust = Trust.FILE_NAME if self.told is None else Trust.UPTIME
        offset_ns -= east * MINUTE_NS
        return Claim(offset_ns, trust, f"{how}, {taken}", is_local=self.told is None)

    def _told_minutes(self) -> int:
        """East of UTC, of its first time; 0 where nobody told."""
        return 0 if self.axis is None else round((self.axis.east_s or 0) / 60)

    def notes(self) -> Iterator[str]:
        """What was taken from its lines."""
        if self.told is None and self.own.east_ns is not None:
            zone = zone_name(round(self.own.east_ns / MINUTE_NS))
            yield f"its times are of {zone}, by full times in its lines"
            for east_ns in self._later:
                zone = zone_name(round(east_ns / MINUTE_NS))
                yield f"summer time began or ended in it: by its lines it goes on in {zone}"

    def guesses(self, last_ns: int) -> tuple[Claim, ...]:
        """What else may hold: the first that fits the other inputs does."""
        if self.clock == ClockKind.WALL:
            return ()
        minutes = [self._told_minutes()]
        if self.told is None and self._is_local:
            minutes += ZONES_MINUTES
        others = [("", 0), *(_other_years(last_ns) if self.without_year else ())]
        others += _other_days(last_ns) if self.without_day else ()
        return tuple(
            Claim(shift_ns - east * MINUTE_NS, Trust.FILE_NAME, _how(east, when))
            for when, shift_ns in others
            for east in minutes
            if when or east != minutes[0]
        )


def _other_days(last_ns: int) -> Iterator[tuple[str, int]]:
    """Which day its last line is of, and how far it is from the one that was taken."""
    for days in sorted(range(-_DAYS, 2), key=abs):
        if days:
            moved = datetime.fromtimestamp(last_ns // _SECOND_NS + days * _DAY_S, UTC)
            yield f"{moved:%Y-%m-%d}", days * _DAY_S * _SECOND_NS


def _other_years(last_ns: int) -> Iterator[tuple[str, int]]:
    """Which year, and how far it is from the one that was taken."""
    last = datetime.fromtimestamp(last_ns // _SECOND_NS, UTC)
    for back in range(1, _YEARS):
        for year in (last.year - back, last.year + back):
            try:
                moved = last.replace(year=year)
            except ValueError:  # the 29th of February
                continue
            yield str(year), round((moved - last).total_seconds()) * _SECOND_NS


def _how(east_minutes: int, when: str) -> str:
    taken = f"{zone_name(east_minutes)} of {when}" if when else zone_name(east_minutes)
    return f"guessed: its times are local, taken as {taken}, where the other files are"


def zone_name(minutes: int) -> str:
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"
