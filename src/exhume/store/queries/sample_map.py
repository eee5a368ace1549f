"""Core × time by samples: for columns narrower than the seconds that counters are read in.

Where samples are sparse, or none were taken, counters say more: they fill what is left.
"""

from __future__ import annotations

import numpy as np

from exhume.model.answers import MAP_MODES, CoreMap, Filter
from exhume.model.arrays import F32, F64, I8, I64, Bool
from exhume.model.window import Window
from exhume.store.queries.core_map import core_map
from exhume.store.queries.select import Chosen, chosen
from exhume.store.recording import Recording
from exhume.store.sampled_cores import MODES, sampled_cores, tells_time
from exhume.store.view import SegmentView, stretch_at


def sample_map(recording: Recording, window: Window, columns: int) -> CoreMap:
    """As `core_map`. A sample stands for one sampling period around its instant."""
    counters = core_map(recording, window, columns)
    step_ns = (window.end_ns - window.start_ns) / columns
    views = recording.views(window)
    sampled_on = _cores(recording, views)
    cores = tuple(sorted({*counters.cores, *sampled_on}))
    row_of = {core: row for row, core in enumerate(cores)}
    busy = np.zeros((len(MODES), len(cores), columns))
    known = np.zeros(columns, np.bool_)
    wanted = Filter(cores=tuple(sorted(sampled_on)))
    for view in views if sampled_on else ():
        with recording.sparing(view):
            for part in chosen(view, window, wanted, cut_at_clocks=True):
                if tells_time(stretch_at(view.stretches, part.run.start_ns)):
                    known |= _covered(view, part, window, step_ns, columns)
                    _add(busy, view, part, window, step_ns, row_of)
    shares = np.minimum(100.0, busy * (100.0 / step_ns))
    total = np.minimum(100.0, shares.sum(axis=0))
    total[:, ~known] = np.nan
    sampled = CoreMap(
        window=window,
        column_seconds=step_ns / 1e9,
        cores=cores,
        worst_percent_of_core=total.astype(np.float32),
        worst_mode=_worst_mode(shares),
        mean_percent_of_core=total.astype(np.float32),
        mode_percent_of_core=_by_mode(shares, known),
        node_mean_percent_of_machine=_mean(total),
        by_samples=counters.by_samples or bool(known.any()),
    )
    return sampled if known.all() else _filled(sampled, counters, ~known)


def _filled(sampled: CoreMap, counters: CoreMap, missing: Bool) -> CoreMap:
    rows = [sampled.cores.index(core) for core in counters.cores]
    cells = np.ix_(np.array(rows, np.int64), np.flatnonzero(missing))
    sampled.worst_percent_of_core[cells] = counters.worst_percent_of_core[:, missing]
    sampled.worst_mode[cells] = counters.worst_mode[:, missing]
    sampled.mean_percent_of_core[cells] = counters.mean_percent_of_core[:, missing]
    for mode, own in enumerate(sampled.mode_percent_of_core):
        own[cells] = counters.mode_percent_of_core[mode][:, missing]
    mean = counters.node_mean_percent_of_machine
    sampled.node_mean_percent_of_machine[missing] = mean[missing]
    return sampled


def _cores(recording: Recording, views: list[SegmentView]) -> set[int]:
    found: set[int] = set()
    for view in views:
        with recording.sparing(view):
            found.update(sampled_cores(view))
    return found


def _covered(view: SegmentView, part: Chosen, window: Window, step_ns: float, columns: int) -> Bool:
    ends = np.array([part.run.start_ns, part.run.end_ns - 1], np.int64)
    first, last = (view.clock.to_wall(ends) - window.start_ns) / step_ns
    middles = np.arange(columns) + 0.5
    covered: Bool = (middles >= first) & (middles <= last + 1 / step_ns)
    return covered


def _add(
    busy: F64,
    view: SegmentView,
    part: Chosen,
    window: Window,
    step_ns: float,
    row_of: dict[int, int],
) -> None:
    if not len(part):
        return
    modes, cores, columns = busy.shape
    wall = view.clock.to_wall(part.time_ns())
    start = (wall - window.start_ns - part.run.weight_ns / 2) / step_ns
    length = part.run.weight_ns / step_ns
    mode = view.tree().tree.mode[part.stack()].astype(np.int64)
    table = np.zeros(max(row_of, default=0) + 1, np.int64)
    for core, row in row_of.items():
        table[core] = row
    place = (mode * cores + table[part.core().astype(np.int64)]) * columns
    first: I64 = np.floor(start).astype(np.int64)
    for step in range(int(np.ceil(length)) + 1):
        column = first + step
        share = np.minimum(start + length, column + 1) - np.maximum(start, column)
        inside = (column >= 0) & (column < columns) & (share > 0)
        busy += np.bincount(
            place[inside] + column[inside], share[inside] * step_ns, modes * cores * columns
        ).reshape(busy.shape)


def _worst_mode(shares: F64) -> I8:
    numbers = np.array(MODES, np.int8)[shares.argmax(axis=0)]
    return np.where(shares.max(axis=0) > 0, numbers, -1).astype(np.int8)


def _by_mode(shares: F64, known: Bool) -> F32:
    found = np.zeros((len(MAP_MODES), *shares.shape[1:]), np.float32)
    found[list(MODES)] = shares
    found[:, :, ~known] = np.nan
    return found


def _mean(total: F64) -> F32:
    if not len(total):
        return np.full(total.shape[1], np.nan, np.float32)
    mean: F32 = total.mean(axis=0).astype(np.float32)
    return mean
