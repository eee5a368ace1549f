"""What counters gained from one reading to the next, one second at a time. Pure.

The rules are those of `derive.rates`, for whoever follows a recording instead of asking about it.
"""

from __future__ import annotations

import numpy as np

from exhume.derive.rates import MOST_A_SECOND, WRAP, WRAPPING
from exhume.model.arrays import I64
from exhume.model.reading import Reading
from exhume.model.series import MISSING

MAX_JOIN_NS = 15_000_000_000
FROM_ZERO = ("memcg.births", "memcg.removals", "memcg.releases", "container.restarts")
"""One of these that is new began at 0: it was told of as soon as it was there."""
RESTARTED = (*FROM_ZERO, "unit.restarts", "self.", "sampler.")
"""What one of these holds after a fall was gained since; of the kernel's counters that is not
known."""
_MAX_ABSENT = 4096


class Rises:
    """Remembers each counter's last reading, of absent instances too: they may come back."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[tuple[str, ...], I64, int]] = {}
        self._absent: dict[str, dict[str, int]] = {}

    def forget(self) -> None:
        """Another boot: everything starts anew."""
        self._last.clear()
        self._absent.clear()

    def of(self, reading: Reading, end_ns: int) -> I64:
        """Shape (instances,): at least 0, and 0 where it is not known."""
        last = self._last.get(reading.field)
        before = self._before(reading, last)
        if last is None:
            self._last[reading.field] = reading.instances, reading.values, end_ns
            return np.zeros(len(reading.values), np.int64)
        known = (reading.values != MISSING) & (before != MISSING)
        rise = np.where(known, reading.values - np.where(known, before, 0), 0)
        fell = rise < 0
        if fell.any():
            rise[fell] = self._after_fall(reading, rise, end_ns - last[2])[fell]
        kept = np.where(reading.values == MISSING, before, reading.values)
        self._last[reading.field] = reading.instances, kept, end_ns
        return rise

    def _before(self, reading: Reading, last: tuple[tuple[str, ...], I64, int] | None) -> I64:
        if last is None:
            return np.full(len(reading.values), MISSING, np.int64)
        if last[0] == reading.instances:
            return last[1]
        absent = self._absent.setdefault(reading.field, {})
        absent.update(zip(last[0], last[1].tolist(), strict=True))
        new = 0 if reading.field in FROM_ZERO else MISSING
        before = np.array([absent.pop(name, new) for name in reading.instances], np.int64)
        while len(absent) > _MAX_ABSENT:
            del absent[next(iter(absent))]
        return before

    @staticmethod
    def _after_fall(reading: Reading, rise: I64, length_ns: int) -> I64:
        if reading.field.startswith(RESTARTED):
            return np.maximum(reading.values, 0)
        if reading.field.startswith(WRAPPING):
            wrapped = rise + WRAP
            fits = (wrapped >= 0) & (wrapped <= length_ns / 1e9 * MOST_A_SECOND)
            return np.where(fits, wrapped, 0)
        return np.zeros(len(rise), np.int64)
