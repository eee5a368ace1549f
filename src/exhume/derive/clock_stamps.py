"""Time stamps that are a time of day alone: `[20:20:10] ERROR …`, `20:20:10.123 | WARN | …`.

Which day it was the file's own time tells, and the stamps before when a new one began. Tables of
mpstat and others have such times too, so a log is only what has a level beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from exhume.derive.stamps import NS, Stamp, fraction_ns

DAY_NS = 86_400 * NS
_CLOCK = re.compile(r"\[?([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:[.,](\d{1,9}))?\]?(?=[\s:|-])")
_LEVEL = re.compile(
    r"[\s:|-]{1,8}(?:[\w.:@/-]{1,40}[\s:|-]{1,8})?[\[(<]?"
    r"(?i:trace|debug|info|notice|warn|warning|err|error|crit|critical|fatal|panic)\b"
)
_LATE_NS = 3600 * NS
"""No line is written so long after one that is stamped later."""
_LEAST_LINES, _LEAST_SHARE = 2, 0.3


class ClockFinder(Struct):
    """Line after line of a log that begins on that day."""

    first_day_ns: int
    _day: int = 0
    _last_ns: int = 0

    def find(self, line: str) -> Stamp | None:
        found = _CLOCK.match(line)
        if found is None:
            return None
        hour, minute, second, fraction = found.groups()
        at = (int(hour) * 3600 + int(minute) * 60 + int(second)) * NS + fraction_ns(fraction)
        day = self._day
        if at > self._last_ns + DAY_NS - _LATE_NS and day:
            day -= 1  # a line of the old day behind one of the new
        else:
            day += at < self._last_ns - _LATE_NS
            self._day, self._last_ns = day, at
        return Stamp(self.first_day_ns + day * DAY_NS + at, 0, found.end(), False, False)


def is_clock_log(lines: Iterable[str]) -> bool:
    several = list(lines)
    stamped = [one for one in several if (at := _CLOCK.match(one)) and _LEVEL.match(one, at.end())]
    return len(stamped) >= max(_LEAST_LINES, _LEAST_SHARE * len(several))


def first_day_ns(lines: Iterable[str], newest_ns: int) -> int:
    """When its first day began, if its last line was written by then at the latest."""
    finder, last_ns = ClockFinder(0), 0
    for line in lines:
        stamp = finder.find(line)
        last_ns = max(last_ns, stamp.time_ns) if stamp is not None else last_ns
    return (newest_ns - last_ns) // DAY_NS * DAY_NS
