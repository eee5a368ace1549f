"""When was a rate far above its own usual level? What most detectors of storms share."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.derive.rates import Intervals, levels, rates
from exhume.model.answers import SeriesAnswer
from exhume.model.arrays import Bool
from exhume.model.fields import BY_ID
from exhume.model.window import Window

TIMES_USUAL = 5.0
_JOIN_NS = 2_500_000_000
_MANY = 50


class Storm(Struct, frozen=True):
    window: Window
    mean: float
    peak: float
    usual: float
    """The median of the whole window, storm included; 0 where it is mostly still."""

    @property
    def times_usual(self) -> float | None:
        return self.mean / self.usual if self.usual > 0 else None


def values_of(series: SeriesAnswer) -> Intervals:
    """A counter's rate, a gauge's level."""
    return rates(series).per_second if BY_ID[series.field].kind == "counter" else levels(series)


def storms(
    series: SeriesAnswer | None,
    floor: float,
    *,
    times: float = TIMES_USUAL,
    least_seconds: float = 0.0,
) -> tuple[Storm, ...]:
    """Stretches at or above `floor` that are also `times` the usual; the longest first.

    One that fills the window has no usual level beside it: then the floor alone decides.
    """
    if series is None:
        return ()
    found = values_of(series)
    known = np.isfinite(found.values)
    if not known.any():
        return ()
    usual = float(np.median(found.values[known]))
    with np.errstate(invalid="ignore"):
        high = known & (found.values >= floor)
        if usual < floor:
            high &= found.values >= times * usual
    made = [
        Storm(
            window,
            _mean(found, inside),
            float(found.values[inside].max()),
            usual if usual < floor else 0.0,
        )
        for window, inside in _stretches(found, high)
    ]
    long = [one for one in made if one.window.seconds >= least_seconds]
    return tuple(sorted(long, key=lambda one: (-one.window.seconds, one.window))[:_MANY])


def _mean(found: Intervals, inside: Bool) -> float:
    seconds = found.seconds[inside]
    total = float(seconds.sum())
    return float((found.values[inside] * seconds).sum()) / total if total else 0.0


def _stretches(found: Intervals, high: Bool) -> list[tuple[Window, Bool]]:
    rows = np.flatnonzero(high)
    if not len(rows):
        return []
    breaks = np.flatnonzero(found.start_ns[rows[1:]] - found.end_ns[rows[:-1]] > _JOIN_NS) + 1
    parts = np.split(rows, breaks)
    made = []
    for part in parts:
        inside = np.zeros(len(high), np.bool_)
        inside[part] = True
        made.append((Window(int(found.start_ns[part[0]]), int(found.end_ns[part[-1]])), inside))
    return made
