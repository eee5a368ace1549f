"""Times of day, as they come down a log → seconds on one axis, over midnights and set clocks."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from exhume.ingest.mpstat_header import DAY_S, clock_of
from exhume.ingest.snapshots_time import NS, instant_ns

_HALF_DAY_S = DAY_S // 2
_seconds_of_day = lru_cache(maxsize=1024)(clock_of)


class DayClock(Struct):
    midnight_s: int
    """Of the first day."""
    last_s: int | None = None
    is_epoch: bool = False
    """Its times are seconds since 1970 (`-U`)."""
    set_back: int = 0
    """How often the clock went back by less than half a day: it was set, or summer time ended."""
    odd_halves: int = 0
    """Times whose half of the day (am, pm) is in a language nobody knows here."""

    def begin(self, midnight_s: int) -> None:
        """What follows was begun on that day: a later run in the same file."""
        self.midnight_s = max(self.midnight_s, midnight_s)

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
        if self.last_s is not None and now < self.last_s:
            if now < self.last_s - _HALF_DAY_S:
                self.midnight_s += DAY_S
                now += DAY_S
            else:
                self.set_back += 1
                self.midnight_s += self.last_s - now
                now = self.last_s
        self.last_s = now
        return now
