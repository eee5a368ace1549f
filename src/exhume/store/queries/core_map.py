"""Core × time: the worst second of every cell, so that a burst of 3 s survives a zoom of 12 h."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exhume.derive.cpu import BUSY_MODES
from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.arrays import F32, F64, I8, I32, I64
from exhume.model.window import Window
from exhume.store.minutes import Rows
from exhume.store.recording import Recording
from exhume.store.rollups import I16, MINUTE_NS, CoreSeconds
from exhume.store.view import SegmentView, wall_intervals

# The worst second and what it was spent on travel as one number: permille × 8 + mode.
_MODE_BITS = 3


@dataclass(frozen=True, slots=True)
class Grid:
    """The map in the making."""

    window: Window
    row: dict[int, int]
    worst: I16
    """Permille × 8 + mode; -1 unknown. Shape (cores, columns)."""
    modes: I16
    """Shape (modes, cores, columns)."""
    busy_ms: F64
    known_ms: F64
    """Shape (cores, columns): for the mean."""

    @property
    def columns(self) -> int:
        return int(self.worst.shape[1])

    @property
    def column_ns(self) -> float:
        return (self.window.end_ns - self.window.start_ns) / self.columns


def core_map(recording: Recording, window: Window, columns: int) -> CoreMap:
    """NaN, and mode -1, where nothing was recorded."""
    found: list[tuple[SegmentView, CoreSeconds]] = []
    for view in recording.views(window):
        with recording.sparing(view):
            if (seconds := view.core_seconds()) is not None:
                found.append((view, seconds))
    minutes = recording.minutes("cores", window, {view.name for view, _ in found})
    cores = {core for _, seconds in found for core in seconds.cores}
    grid = empty_grid(window, sorted(cores.union(minutes["core"].tolist())), columns)
    for view, seconds in found:
        add_seconds(grid, view, seconds)
    for source in np.unique(minutes["source"].astype(str)):
        here = minutes["source"] == source
        add_minutes(grid, {name: values[here] for name, values in minutes.items()})
    return finished(grid)


def empty_grid(window: Window, cores: list[int], columns: int) -> Grid:
    shape = len(cores), max(1, columns)
    return Grid(
        window,
        {core: row for row, core in enumerate(cores)},
        np.full(shape, -1, np.int16),
        np.full((len(MAP_MODES), *shape), -1, np.int16),
        np.zeros(shape),
        np.zeros(shape),
    )


def add_seconds(grid: Grid, view: SegmentView, seconds: CoreSeconds) -> None:
    if not len(seconds.end_ns):
        return
    start, end = wall_intervals(view.clock, seconds.start_ns, seconds.end_ns)
    permille = seconds.permille
    busy = permille[: len(BUSY_MODES)].sum(axis=0, dtype=np.int16)
    top = permille[: len(BUSY_MODES)].argmax(axis=0).astype(np.int16)
    key = np.where(permille[0] < 0, np.int16(-1), (busy << _MODE_BITS) | top)
    add_intervals(grid, seconds.cores, start, end, key, permille, np.maximum(busy, 0))


def add_minutes(grid: Grid, rows: Rows) -> None:
    """The segment is gone; its minutes tell the worst second and the mean."""
    minutes, column = np.unique(rows["minute"], return_inverse=True)
    cores, row = np.unique(rows["core"], return_inverse=True)
    shape = len(cores), len(minutes)
    key = np.full(shape, -1, np.int16)
    key[row, column] = (rows["worst"] << _MODE_BITS) | np.maximum(rows["worst_mode"], 0)
    permille = np.full((len(MAP_MODES), *shape), -1, np.int16)
    busy = np.zeros(shape, np.int16)
    for index, mode in enumerate(MAP_MODES):
        permille[index, row, column] = rows[f"worst_{mode}"]
        if mode in BUSY_MODES:
            busy[row, column] += rows[f"mean_{mode}"]
    start = minutes.astype(np.int64) * MINUTE_NS
    add_intervals(grid, tuple(cores.tolist()), start, start + MINUTE_NS, key, permille, busy)


def add_intervals(
    grid: Grid,
    cores: tuple[int, ...],
    start: I64,
    end: I64,
    key: I16,
    permille: I16,
    busy: I16,
) -> None:
    """Intervals in wall time; a column gets those whose middle lies in it."""
    middle = (start + end) / 2
    column = np.floor((middle - grid.window.start_ns) / grid.column_ns)
    inside = np.flatnonzero((column >= 0) & (column < grid.columns))
    order = inside[np.argsort(column[inside], kind="stable")]
    rows = np.array([grid.row[core] for core in cores])
    if len(order):
        at = column[order].astype(np.int64)
        first = np.flatnonzero(np.diff(at, prepend=-1))
        place = np.ix_(rows, at[first])
        whole = len(order) == len(start) and bool((np.diff(order) == 1).all())

        def cells(values: I16) -> I16:
            return values if whole else values[..., order]

        _raise(grid.worst, place, np.maximum.reduceat(cells(key), first, axis=-1))
        for mode in range(len(permille)):
            most = np.maximum.reduceat(cells(permille[mode]), first, axis=-1)
            _raise(grid.modes[mode], place, most)
        length = ((end - start) / 1e6)[order]
        known = (cells(key) >= 0) * length
        grid.known_ms[place] += np.add.reduceat(known, first, axis=-1)
        grid.busy_ms[place] += np.add.reduceat(cells(busy) * known, first, axis=-1)
    _fill_narrow(grid, rows, start, end, key, permille, busy)


def _raise(target: I16, place: tuple[I64, ...], values: I16) -> None:
    target[place] = np.maximum(target[place], values)


def _fill_narrow(
    grid: Grid, rows: I64, start: I64, end: I64, key: I16, permille: I16, busy: I16
) -> None:
    """Columns narrower than an interval show the interval they lie in."""
    if grid.column_ns >= float((end - start).max()):
        return
    middles = grid.window.start_ns + (np.arange(grid.columns) + 0.5) * grid.column_ns
    interval = np.searchsorted(end, middles, "right")
    interval[interval == len(end)] = 0
    within = (middles >= start[interval]) & (middles < end[interval])
    columns = np.flatnonzero(within & (grid.known_ms[rows].max(axis=0) == 0))
    if not len(columns):
        return
    source = interval[columns]
    place = np.ix_(rows, columns)
    _raise(grid.worst, place, key[:, source])
    for mode in range(len(permille)):
        _raise(grid.modes[mode], place, permille[mode][:, source])
    known = (key[:, source] >= 0).astype(np.float64)
    grid.known_ms[place] += known
    grid.busy_ms[place] += busy[:, source] * known


def finished(grid: Grid) -> CoreMap:
    unknown = grid.worst < 0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = grid.busy_ms / grid.known_ms / 10
        node = grid.busy_ms.sum(axis=0) / grid.known_ms.sum(axis=0) / 10
    mode = np.where(unknown | (grid.worst >> _MODE_BITS == 0), -1, grid.worst & 7)
    return CoreMap(
        window=grid.window,
        column_seconds=grid.column_ns / 1e9,
        cores=tuple(grid.row),
        worst_percent_of_core=_percent(grid.worst >> _MODE_BITS),
        worst_mode=_small(mode),
        mean_percent_of_core=mean.astype(np.float32),
        mode_percent_of_core=_percent(grid.modes),
        node_mean_percent_of_machine=node.astype(np.float32),
    )


def _percent(permille: I16) -> F32:
    clipped = np.minimum(permille, 1000).astype(np.float32)
    return np.where(permille < 0, np.float32(np.nan), clipped / np.float32(10))


def _small(mode: I16 | I32) -> I8:
    return mode.astype(np.int8)
