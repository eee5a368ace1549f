"""Times of day, as they come down a log → seconds on one axis, over midnights and set clocks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, tzinfo
from functools import lru_cache

from msgspec import Struct

from exhume.ingest.mpstat_header import DAY_S, Header, clock_of, day_east_s, epoch_s
from exhume.ingest.snapshots_time import NS, instant_ns
from exhume.ingest.zone_axis import ZoneAxis

_HALF_DAY_S = DAY_S // 2
_seconds_of_day = lru_cache(maxsize=1024)(clock_of)


class DayClock(Struct):
    midnight_s: int
    """Of the first day."""
    axis: ZoneAxis | None = None
    """Of the zone that they are of, if that was told."""
    last_s: int | None = None
    """As it says itself."""
    last_at_s: int = 0
    """On the axis."""
    is_epoch: bool = False
    """Its times are seconds since 1970 (`-U`)."""
    set_back: int = 0
    """How often the clock went back by less than half a day: it was set, or summer time ended and
    nobody told of which zone it is."""
    odd_halves: int = 0
    """Times whose half of the day (am, pm) is in a language nobody knows here."""

    def begin(self, days: Sequence[date]) -> None:
        """What follows is another run in the same file, begun on one of these days: later or not.

        Of a date that may be two the one nearer to the run before is taken.
        """
        if days:
            midnights = map(epoch_s, days)
            self.midnight_s = min(midnights, key=lambda one: abs(one - self.midnight_s))
            self.last_s = None

    def at(self, text: str) -> int | None:
        """None where it is no time."""
        if text.isdigit():
            found = instant_ns(text)
            if found is None:
                return None
            self.is_epoch, self.last_s = True, found // NS
            return self.last_s
        day = _seconds_of_day(text)
        if day is None:
            return None
        self.odd_halves += not day[1]
        now = self.midnight_s + day[0]
        if self.last_s is not None and now < self.last_s - _HALF_DAY_S:
            self.midnight_s += DAY_S
            now += DAY_S
        at = now if self.axis is None else self.axis.at(now)
        if self.last_s is not None and at < self.last_at_s:
            self.set_back += 1
            self.midnight_s += self.last_s - now
            now, at = self.last_s, self.last_at_s
        self.last_s, self.last_at_s = now, at
        return at


def is_time(text: str) -> bool:
    """Whether `DayClock.at` knows it."""
    return (instant_ns(text) if text.isdigit() else _seconds_of_day(text)) is not None


def day_clock(header: Header, zone: tzinfo | None) -> DayClock:
    """That of a table below such a header; `zone` if it was told."""
    if not header.days:
        return DayClock(0)
    day = header.days[0]
    return DayClock(epoch_s(day), None if zone is None else ZoneAxis(zone, day_east_s(zone, day)))
