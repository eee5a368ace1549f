"""What samples stand for: perf seeks the period that gives the rate it was asked for.

It begins with 1, for each thread anew where threads are watched, and goes up by leaps: the first
samples of a thread come within microseconds, and every one of them counts as one that stands for
a hundred thousand times as much.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct, field

from exhume.model.arrays import F64, I64, Bool

_WIDTH = 65
_FAR = 7
_NEAR = 2
"""Doublings below the usual period."""
_WORTH_A_WORD_RATIO = 0.05


class Periods(Struct):
    """By powers of two."""

    counts: I64 = field(default_factory=lambda: np.zeros(_WIDTH, np.int64))
    sums: F64 = field(default_factory=lambda: np.zeros(_WIDTH))

    def add(self, period: I64) -> None:
        """What is not told is not above 0."""
        if len(period) and (only := int(period[0])) == int(period.min()) == int(period.max()):
            if only > 0:  # as that of a clock is
                one = math.frexp(only)[1]
                self.counts[one] += len(period)
                self.sums[one] += float(only) * len(period)
            return
        told = period[period > 0].astype(np.float64)
        power = np.frexp(told)[1]
        self.counts += np.bincount(power, minlength=_WIDTH)[:_WIDTH]
        self.sums += np.bincount(power, told, minlength=_WIDTH)[:_WIDTH]

    def join(self, other: Periods) -> None:
        self.counts += other.counts
        self.sums += other.sums

    @property
    def usual(self) -> int:
        """The power of those that most of the event went to."""
        running = np.cumsum(self.sums)
        return int(np.searchsorted(running, running[-1] / 2))

    def note(self, event: str) -> str:
        """Empty where few samples are of such periods."""
        if not self.counts.any():
            return ""
        below = max(0, self.usual - _FAR)
        of_samples = float(self.counts[:below].sum() / self.counts.sum())
        if of_samples < _WORTH_A_WORD_RATIO:
            return ""
        of_event = float(self.sums[:below].sum() / self.sums.sum())
        stands_for = "under 0.1%" if of_event < 0.001 else f"{of_event:.1%}"
        return (
            f"{of_samples:.0%} of its samples stand for {stands_for} of its {event}: perf was "
            "still seeking its rate, as it does for each thread that starts, and they count like "
            "all others; `perf record -a` has few of them, -c and -e cpu-clock none"
        )


def settled(period: I64) -> Bool:
    """Of which samples the distances tell how often perf samples; all where none has a period."""
    found = Periods()
    found.add(period)
    if not found.counts.any():
        return np.ones(len(period), np.bool_)
    return period >= (1 << max(0, found.usual - _NEAR))
