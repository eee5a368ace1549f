"""Lines that have two times, wall time and the kernel log's own: they tie one clock to the other.

Whoever writes the log does so some time after the kernel spoke, seconds when it got no CPU: the
kernel's own time is the better one, moved by what the promptest lines near it say.
"""

from __future__ import annotations

import re
from collections import deque
from datetime import datetime

from msgspec import Struct, field

from exhume.ingest.piece import Claim, Trust

NS = 1_000_000_000
_NEAR = 64
_KEPT = 4096
_REBOOT_NS = NS
_MOST_LATE_NS = 60 * NS
_SETTLED_NS = 60 * NS
"""Before that the wall clock may not have been set yet."""
# rtc_cmos 00:05: setting system clock to 2026-11-15T20:15:16 UTC (1794773716)
# rtc_cmos 00:01: setting system clock to 2025-01-02 03:04:05 UTC
_HARDWARE_CLOCK = re.compile(
    r"setting system clock to (?:(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d) UTC\b)?"
    r"(?:.{0,32} \((\d{9,10})\))?"
)
# PM: RTC time: 20:15:13, date: 2026-11-15; before 5.3 `RTC time: 20:15:13, date: 11/15/26`
_RTC = re.compile(
    r"RTC time: {1,2}(\d{1,2}:\d\d:\d\d), date: "
    r"(?:(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)|(?P<m>\d\d)/(?P<d>\d\d)/(?P<y>\d\d))(?!\d)"
)
# audit: type=2000 audit(1794773713.572:1): state=initialized
_AUDIT = re.compile(r"audit\((\d{9,10})\.(\d{3}):\d{1,12}\)")

WALL_TIMES = ("audit(", "setting system clock to", "RTC time: ")
"""One of these is in each line that `KernelHints` looks at."""


class _Bounds:
    """What lines say of the difference between the two clocks."""

    def __init__(self, most: int) -> None:
        self._low: deque[int] = deque(maxlen=most)
        """What it is where a line was written as soon as the kernel spoke."""
        self._high: deque[int] = deque(maxlen=most)
        """It is no larger: nobody writes before."""

    def __len__(self) -> int:
        return len(self._high)

    def add(self, lowest: int, highest: int) -> None:
        self._low.append(lowest)
        self._high.append(highest)

    def clear(self) -> None:
        self._low.clear()
        self._high.clear()

    @property
    def highest(self) -> int:
        return min(self._high)

    @property
    def lowest(self) -> int:
        """By all lines that were not written late."""
        highest, lowest = self.highest, max(self._low)
        return lowest if lowest <= highest else max(low for low in self._low if low <= highest)


class KernelPairs(Struct):
    """Of lines that show both times."""

    _near: _Bounds = field(default_factory=lambda: _Bounds(_NEAR))
    _all: _Bounds = field(default_factory=lambda: _Bounds(_KEPT))
    _last_kernel_ns: int = 0

    def place(self, wall_ns: int, kernel_ns: int, step_ns: int) -> int:
        """When the kernel spoke, as wall time. `step_ns`: what wall times are rounded down to.

        Of the times that fit it is the earliest: a line stays in the second that it is stamped
        with, and other programs' lines after it mostly stay behind it.
        """
        lowest = wall_ns - kernel_ns
        highest = lowest + max(step_ns - 1, 0)
        # The kernel's clock stands still while the machine sleeps, and the wall clock may be set.
        slept = len(self._near) > 0 and highest > self._near.highest + _MOST_LATE_NS
        if slept or kernel_ns < self._last_kernel_ns - _REBOOT_NS:
            self._near.clear()
            self._all.clear()
        self._last_kernel_ns = kernel_ns
        self._near.add(lowest, highest)
        self._all.add(lowest, highest)
        return max(kernel_ns + self._near.lowest, wall_ns - _MOST_LATE_NS)

    def claim(self) -> Claim | None:
        """Of the last boot in the log, since the machine slept."""
        if not len(self._all):
            return None
        how = f"by {len(self._all)} lines of a log with wall time and the kernel's own"
        return Claim((self._all.lowest + self._all.highest) // 2, Trust.UPTIME, how)


class KernelHints(Struct):
    """What the kernel itself says of wall time in a log that has only its own."""

    _hardware: Claim | None = None
    _audit: deque[int] = field(default_factory=lambda: deque(maxlen=_NEAR))
    _again: deque[int] = field(default_factory=lambda: deque(maxlen=_NEAR))

    def said_again(self, kernel_ns: int, wall_ns: int) -> None:
        """A line of the kernel's that somebody else wrote there too, with wall time."""
        self._again.append(wall_ns - kernel_ns)

    def look(self, kernel_ns: int, text: str) -> None:
        if "audit(" in text:
            found = _AUDIT.search(text)
            if found is not None and kernel_ns >= _SETTLED_NS:
                self._audit.append(int(found[1]) * NS + int(found[2]) * 1_000_000 - kernel_ns)
        elif "setting system clock to" in text or "RTC time: " in text:
            is_early = "RTC time: " in text  # only read; what sets the clock is said later
            told = _rtc_seconds(text) if is_early else _hardware_seconds(text)
            if told is not None and not (is_early and self._hardware is not None):
                how = "by the hardware clock when it booted: a second or two off"
                self._hardware = Claim(told * NS - kernel_ns, Trust.HARDWARE_CLOCK, how)

    def join(self, later: KernelHints) -> None:
        """With those of more lines of the same boot."""
        self._hardware = self._hardware or later._hardware
        self._audit.extend(later._audit)
        self._again.extend(later._again)

    def claim(self) -> Claim | None:
        if self._audit:
            # The text is printed after the event: the largest difference is the least late.
            how = f"by {len(self._audit)} audit lines, which have wall time in them"
            return Claim(max(self._audit), Trust.UPTIME, how)
        if self._again:
            how = f"by {len(self._again)} lines that are in it again with wall time"
            return Claim(min(self._again), Trust.UPTIME, how)  # which is written after it
        return self._hardware


def _hardware_seconds(text: str) -> int | None:
    """Since 1970: the number itself, else what the date says."""
    found = _HARDWARE_CLOCK.search(text)
    if found is None:
        return None
    if found[3]:
        return int(found[3])
    try:
        return int(datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00").timestamp())
    except ValueError:  # no date, or the 31st of February
        return None


def _rtc_seconds(text: str) -> int | None:
    found = _RTC.search(text)
    if found is None:
        return None
    year = found["year"] or f"20{found['y']}"
    day = f"{year}-{found['month'] or found['m']}-{found['day'] or found['d']}"
    try:
        return int(datetime.fromisoformat(f"{day}T{found[1]:0>8}+00:00").timestamp())
    except ValueError:
        return None
