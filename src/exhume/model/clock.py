"""CLOCK_MONOTONIC ↔ wall time ↔ the kernel log's clock, from readings of all three at one instant.

A recording is stored on CLOCK_MONOTONIC. Wall time may be stepped, stands apart by the time spent
in suspend, and drifts; so the mapping is a list of pieces, one from each pair to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64
from exhume.model.window import Window

# Two clocks that NTP slews differ by at most 500 ppm; a larger change between pairs is a step.
MAX_SLEW_RATIO = 1e-3
MAX_JITTER_NS = 20_000_000


class ClockPair(Struct, frozen=True):
    monotonic_ns: int
    wall_ns: int
    kernel_log_ns: int | None = None
    """The clock of /dev/kmsg and of perf's default; None where it could not be read."""

    @property
    def offset_ns(self) -> int:
        return self.wall_ns - self.monotonic_ns


class ClockMap(Struct, frozen=True, dict=True):
    pairs: tuple[ClockPair, ...]

    @staticmethod
    def of(pairs: Sequence[ClockPair]) -> ClockMap:
        if not pairs:
            raise ValueError("a clock map needs at least one pair")
        return ClockMap(tuple(sorted(pairs, key=lambda pair: pair.monotonic_ns)))

    @cached_property
    def _starts(self) -> I64:
        return np.array([pair.monotonic_ns for pair in self.pairs], np.int64)

    @cached_property
    def _offsets(self) -> I64:
        return np.array([pair.offset_ns for pair in self.pairs], np.int64)

    @cached_property
    def _slopes(self) -> NDFloat:
        """Drift of wall against monotonic in each piece; 0 after the last pair and over a step."""
        slopes = np.zeros(len(self.pairs))
        for index, (a, b) in enumerate(pairwise(self.pairs)):
            span, moved = b.monotonic_ns - a.monotonic_ns, b.offset_ns - a.offset_ns
            # Of two pairs taken in quick succession jitter, not drift, is the larger part: as a
            # slope it could make time stand still or run backwards.
            if not is_step(a, b) and 2 * abs(moved) < span:
                slopes[index] = moved / span
        return slopes

    def to_wall(self, monotonic_ns: I64) -> I64:
        piece = np.clip(np.searchsorted(self._starts, monotonic_ns, "right") - 1, 0, None)
        since = monotonic_ns - self._starts[piece]
        # Before the first pair there is nothing to interpolate: hold its offset.
        drift = np.where(since > 0, since * self._slopes[piece], 0.0)
        return monotonic_ns + self._offsets[piece] + np.rint(drift).astype(np.int64)

    def wall(self, monotonic_ns: int) -> int:
        return int(self.to_wall(np.array([monotonic_ns], np.int64))[0])

    def monotonic_windows(
        self, window: Window, start_ns: int, end_ns: int
    ) -> list[tuple[int, int]]:
        """Where the wall window lies within [start_ns, end_ns) of monotonic time.

        More than one stretch when the wall clock was stepped back: the same wall second, twice.
        """
        edges = [
            start_ns,
            *(p.monotonic_ns for p in self.pairs if start_ns < p.monotonic_ns < end_ns),
        ]
        found: list[tuple[int, int]] = []
        for begin, end in pairwise([*edges, end_ns]):
            offset = self.wall(begin) - begin
            piece = int(np.searchsorted(self._starts, begin, "right")) - 1
            slope = float(self._slopes[piece]) if piece >= 0 else 0.0

            def inverse(
                wall_ns: int, begin: int = begin, offset: int = offset, slope: float = slope
            ) -> int:
                ahead = wall_ns - begin - offset
                return begin + round(ahead / (1 + slope))

            low, high = max(begin, inverse(window.start_ns)), min(end, inverse(window.end_ns))
            if low < high:
                if found and found[-1][1] == low:
                    found[-1] = (found[-1][0], high)
                else:
                    found.append((low, high))
        return found

    def from_kernel_log(self, kernel_ns: int) -> int | None:
        """The monotonic time of an instant of the kernel log's clock, by the nearest pair."""
        known = [
            (p.kernel_log_ns, p.monotonic_ns) for p in self.pairs if p.kernel_log_ns is not None
        ]
        if not known:
            return None
        kernel, monotonic = min(known, key=lambda pair: abs(pair[0] - kernel_ns))
        return monotonic + kernel_ns - kernel


def is_step(a: ClockPair, b: ClockPair) -> bool:
    """Did somebody set the wall clock (or suspend the machine) between the two?"""
    span = abs(b.monotonic_ns - a.monotonic_ns)
    return abs(b.offset_ns - a.offset_ns) > MAX_JITTER_NS + span * MAX_SLEW_RATIO


NDFloat = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
