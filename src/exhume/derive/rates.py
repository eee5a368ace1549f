"""Counters → rates: one interval from each reading to the next, unknown where it can't be told.

A counter that fell was set back (a device reset, a recorder that started anew): what it gained in
that interval is not known. Nothing is subtracted across pieces (reboots, gaps): `SeriesAnswer`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.model.answers import SeriesAnswer
from exhume.model.arrays import F64, I64
from exhume.model.series import MISSING
from exhume.model.window import Window

SECOND_NS = 1_000_000_000
# A reading that is this many usual intervals late, and this late at all, leaves a gap.
_LATE_INTERVALS = 5
_LATE_NS = 15 * SECOND_NS
# Told when they change, and once a minute anyway: silence is no gap.
_TOLD_ON_CHANGE = ("memcg.births", "memcg.removals", "memcg.releases")
_SILENCE_NS = 150 * SECOND_NS
LOOK_BACK_NS = _SILENCE_NS
"""Where a counter that is told on change stood at the start of a window was told by then."""
# 32-bit in the kernel; their sums over cores fall by 2^32 when one of them wraps.
WRAPPING = ("irq.", "softirq.", "softnet.")
WRAP = 1 << 32
MOST_A_SECOND = 1 << 24
"""More interrupts or packets than this in a second are no wrap: the counter was set back."""


class Intervals(Struct, frozen=True):
    """A value that holds from `start_ns` to `end_ns` of wall time; all of shape (intervals,)."""

    start_ns: I64
    end_ns: I64
    values: F64
    """NaN where not known."""

    @property
    def seconds(self) -> F64:
        length: F64 = (self.end_ns - self.start_ns) / 1e9
        return length

    def mean(self) -> float:
        """By time."""
        known = np.isfinite(self.values)
        total = float(self.seconds[known].sum())
        return float((self.values[known] * self.seconds[known]).sum()) / total if total else np.nan

    def most(self) -> float:
        return float(np.nanmax(self.values)) if np.isfinite(self.values).any() else np.nan

    def least(self) -> float:
        return float(np.nanmin(self.values)) if np.isfinite(self.values).any() else np.nan

    def last(self) -> float:
        known = np.flatnonzero(np.isfinite(self.values))
        return float(self.values[known[-1]]) if len(known) else np.nan


class Rates(Struct, frozen=True):
    per_second: Intervals
    rise: F64
    """Shape (intervals,): what the counter gained; NaN where not known."""
    resets: int

    @property
    def total(self) -> int | None:
        """What it gained in all, as far as is known; None where nothing is."""
        known = self.rise[np.isfinite(self.rise)]
        return int(known.sum()) if len(known) else None


def rates(series: SeriesAnswer) -> Rates:
    known = np.flatnonzero(series.values != MISSING)
    wall, values = series.wall_ns[known], series.values[known]
    piece = series.segment[known]
    if len(known) < 2:
        return Rates(Intervals(wall[:0], wall[:0], np.empty(0)), np.empty(0), 0)
    start, end = wall[:-1], wall[1:]
    length = end - start
    longest = _SILENCE_NS if series.field in _TOLD_ON_CHANGE else _longest(length[length > 0])
    same = (piece[1:] == piece[:-1]) & (length > 0) & (length <= longest)
    rise = (values[1:] - values[:-1]).astype(np.float64)
    if series.field.startswith(WRAPPING):
        wrapped = rise + WRAP
        rise = np.where((rise < 0) & (wrapped <= length / 1e9 * MOST_A_SECOND), wrapped, rise)
    fell = same & (rise < 0)
    rise[~same | fell] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        per_second = rise / (length / 1e9)
    # Where the clock was set back an interval would be negative; it is not one then.
    kept = length > 0
    intervals = Intervals(start[kept], end[kept], per_second[kept])
    return Rates(intervals, rise[kept], int(fell.sum()))


def levels(series: SeriesAnswer) -> Intervals:
    """A gauge: each reading holds until the next, or as long as one usually does."""
    known = np.flatnonzero(series.values != MISSING)
    wall = series.wall_ns[known]
    if not len(known):
        return Intervals(wall, wall, np.empty(0))
    length = np.diff(wall)
    usual = int(np.median(length[length > 0])) if (length > 0).any() else SECOND_NS
    end = np.append(wall[1:], wall[-1] + usual)
    late = (end - wall > _longest(length[length > 0])) | (end <= wall)
    end = np.where(late, wall + usual, end)
    return Intervals(wall, end, series.values[known].astype(np.float64))


def gained(series: SeriesAnswer, boots: Sequence[Window], since_ns: int, from_ns: int = 0) -> int:
    """What a counter gained that starts at 0 with its first event, as our own counters by name do.

    They are told when they change, so time between readings is no gap, and what the first reading
    after an absence, or after a fall, holds was gained since. `boots`: when each one ran;
    `since_ns`: when any instance of the field was first told of; `from_ns`: readings before that
    only say where it stood.
    """
    wall, values = series.wall_ns.tolist(), series.values.tolist()
    total, boot = 0, -1
    before = 0 if wall and wall[0] > since_ns else None
    for wall_ns, value in zip(wall, values, strict=True):
        if value == MISSING:
            before = 0 if before is None else before
            continue
        now = next((i for i, window in enumerate(boots) if window.contains(wall_ns)), -1)
        if before is not None and wall_ns >= from_ns:
            # The last reading lies at the very end of its boot's window, and so outside.
            goes_on = (boot == now or -1 in (boot, now)) and value >= before
            total += value - before if goes_on else value
        before, boot = value, now if now >= 0 else boot
    return total


def columns(intervals: Intervals, window: Window, count: int) -> F64:
    """`count` even columns, each as high as the highest value in it; NaN where nothing is known.

    The highest, so that a burst of a second is still there in a line of twelve hours.
    """
    known = np.isfinite(intervals.values)
    start, end, values = intervals.start_ns[known], intervals.end_ns[known], intervals.values[known]
    out = np.full(count, -np.inf)
    width = (window.end_ns - window.start_ns) / count
    column = np.floor(((start + end) / 2 - window.start_ns) / width).astype(np.int64)
    inside = (column >= 0) & (column < count)
    np.maximum.at(out, column[inside], values[inside])
    # Columns narrower than an interval show the interval they lie in.
    middle = window.start_ns + (np.arange(count) + 0.5) * width
    empty = np.flatnonzero(np.isinf(out))
    if len(start) and len(empty):
        at = np.searchsorted(start, middle[empty], "right") - 1
        covered = (at >= 0) & (end[at] > middle[empty])
        out[empty[covered]] = values[at[covered]]
    return np.where(np.isinf(out), np.nan, out)


def _longest(lengths: I64) -> float:
    """An interval longer than this is a gap."""
    if not len(lengths):
        return float(_LATE_NS)
    return max(float(_LATE_NS), _LATE_INTERVALS * float(np.median(lengths)))
