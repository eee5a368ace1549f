"""Core × time → bursts: when one core was full, in which mode, and how little the mean said."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.derive.runs import where_true
from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.window import Window

FULL_PERCENT = 95.0
_ONE_SECOND = 1.5  # a column up to here holds one tick, so its worst second is all of it


class Burst(Struct, frozen=True):
    """A run of columns in each of which one core was full, at least for a second."""

    core: int
    window: Window
    mode: str
    """What the core spent most of it on: one of MAP_MODES, or `unknown`."""
    worst_percent_of_core: float
    node_mean_percent_of_machine: float
    """All cores over the same time."""
    exact: bool
    """Every second of the window was full. Otherwise columns are longer, and only some were."""

    def rank(self) -> tuple[bool, float, int, int]:
        """What to tell first: user mode last (it is what cores are for), then the longest."""
        return self.mode == "user", -self.window.seconds, self.window.start_ns, self.core


def bursts(answer: CoreMap, threshold_percent: float = FULL_PERCENT) -> tuple[Burst, ...]:
    """All of them, by `Burst.rank`."""
    with np.errstate(invalid="ignore"):
        full = answer.worst_percent_of_core >= threshold_percent  # NaN is not full
    found = [
        _burst(answer, row, first, last)
        for row in np.flatnonzero(full.any(axis=1)).tolist()
        for first, last in where_true(full[row])
    ]
    return tuple(sorted(found, key=Burst.rank))


def _burst(answer: CoreMap, row: int, first: int, last: int) -> Burst:
    step_ns = (answer.window.end_ns - answer.window.start_ns) / answer.worst_mode.shape[1]
    mean = answer.node_mean_percent_of_machine[first:last]
    return Burst(
        core=answer.cores[row],
        window=Window(
            answer.window.start_ns + round(first * step_ns),
            answer.window.start_ns + round(last * step_ns),
        ),
        mode=_mode(answer, row, first, last),
        worst_percent_of_core=float(np.nanmax(answer.worst_percent_of_core[row, first:last])),
        node_mean_percent_of_machine=float(np.nanmean(mean))
        if not np.isnan(mean).all()
        else np.nan,
        exact=answer.column_seconds <= _ONE_SECOND,
    )


def _mode(answer: CoreMap, row: int, first: int, last: int) -> str:
    modes = answer.worst_mode[row, first:last]
    votes = np.bincount(modes[modes >= 0], minlength=len(MAP_MODES))
    return MAP_MODES[int(votes.argmax())] if votes.any() else "unknown"
