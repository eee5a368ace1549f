"""Each core over a window by mpstat's arithmetic."""

from __future__ import annotations

import numpy as np

from exhume.derive.cpu import BUSY_MODES
from exhume.model.answers import MAP_MODES, CoreTimes
from exhume.model.arrays import F64, I64
from exhume.model.window import Window
from exhume.store.recording import Recording
from exhume.store.view import wall_intervals


def core_times(
    recording: Recording, window: Window, cores: tuple[int, ...] = ()
) -> tuple[CoreTimes, ...]:
    """Seconds that lie partly in the window count by that part. Cores without a reading are out."""
    sums: dict[int, F64] = {}
    worst: dict[int, float] = {}
    for view in recording.views(window):
        with recording.sparing(view):
            if (seconds := view.core_seconds()) is None:
                continue
            start, end = wall_intervals(view.clock, seconds.start_ns, seconds.end_ns)
            overlap = _overlap(start, end, window)
            inside = np.flatnonzero(overlap)
            if not len(inside):
                continue
            shares = seconds.permille[:, :, inside]
            known = shares[0] >= 0
            weight = known * overlap[inside]
            parts = np.vstack([(shares * weight).sum(axis=2) / 10, weight.sum(axis=1)])
            busy = np.where(known, shares[: len(BUSY_MODES)].sum(axis=0), 0).max(axis=1)
            for row, core in enumerate(seconds.cores):
                if parts[-1, row] and (not cores or core in cores):
                    sums[core] = sums.get(core, 0.0) + parts[:, row]
                    worst[core] = max(worst.get(core, 0.0), min(float(busy[row]) / 10, 100.0))
    return tuple(_times(core, sums[core], worst[core]) for core in sorted(sums))


def _overlap(start: I64, end: I64, window: Window) -> F64:
    """Seconds of each interval within the window."""
    inside = np.minimum(end, window.end_ns) - np.maximum(start, window.start_ns)
    seconds: F64 = np.maximum(inside, 0) / 1e9
    return seconds


def _times(core: int, sums: F64, worst: float) -> CoreTimes:
    share = {mode: float(sums[index] / sums[-1]) for index, mode in enumerate(MAP_MODES)}
    return CoreTimes(
        core=core,
        **{f"{mode}_percent": value for mode, value in share.items()},
        idle_percent=max(0.0, 100.0 - sum(share.values())),
        worst_second_percent=worst,
    )
