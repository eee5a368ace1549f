"""Core × time: the worst second of every cell, so that a burst of 3 s survives a zoom of 12 h."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive.cpu import BUSY_MODES
from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.arrays import F32, I64
from exhume.model.window import Window
from exhume.store.minutes import Rows
from exhume.store.recording import Recording
from exhume.store.rollups import I16, MINUTE_NS, CoreSeconds
from exhume.store.segment import Segment
from exhume.store.view import SegmentView, wall_intervals

# The worst second and what it was spent on travel as one number: permille × 8 + mode.
_MODE_BITS, _MODE_MASK = 3, 7
COARSE_NS = 8_000_000_000


class Seconds(Struct, frozen=True):
    """Intervals of wall time, some cores each. Arrays have a row an interval: adding up intervals
    then runs along whole rows, ten times as fast as across them."""

    cores: tuple[int, ...]
    start: I64
    end: I64
    worst: I16
    """Shape (1 + modes, intervals, cores): first permille × 8 + mode of all together, then the
    permille of each mode; -1 unknown."""
    busy_ms: F32
    """Permille × ms, for the mean. Shape (intervals, cores)."""
    known_ms: F32
    by_samples: bool = False

    @property
    def nbytes(self) -> int:
        return self.worst.nbytes + self.busy_ms.nbytes + self.known_ms.nbytes


class Grid(Struct, frozen=True):
    """The map in the making; a row a column of the map."""

    window: Window
    cores: tuple[int, ...]
    worst: I16
    """Shape (1 + modes, columns, cores)."""
    busy_ms: F32
    known_ms: F32
    """Shape (columns, cores): for the mean."""

    @property
    def columns(self) -> int:
        return len(self.known_ms)

    @property
    def column_ns(self) -> float:
        return (self.window.end_ns - self.window.start_ns) / self.columns


def core_map(recording: Recording, window: Window, columns: int) -> CoreMap:
    """NaN, and mode -1, where nothing was recorded."""
    found: dict[str, Seconds] = {}
    is_coarse = _is_coarse(window, columns)
    for view in recording.views(window):
        with recording.sparing(view):
            part = _coarse(recording, view) if is_coarse else _fine(view)
            if part is not None:
                found[view.name] = part
    minutes = recording.minutes("cores", window, set(found))
    parts = list(found.values())
    for source in np.unique(minutes["source"].astype(str)):
        here = minutes["source"] == source
        parts.append(from_minutes({name: values[here] for name, values in minutes.items()}))
    cores = tuple(sorted({core for part in parts for core in part.cores}))
    grid = empty_grid(window, cores, columns)
    for part in parts:
        add(grid, part)
    return replace(finished(grid), by_samples=any(part.by_samples for part in parts))


def _is_coarse(window: Window, columns: int) -> bool:
    """Every column begins and ends where a coarse interval does, as all of the page's wide ones."""
    wide_ns = COARSE_NS * max(1, columns)
    return window.start_ns % COARSE_NS == 0 and (window.end_ns - window.start_ns) % wide_ns == 0


def _fine(view: SegmentView) -> Seconds | None:
    if (seconds := view.core_seconds()) is not None:
        return from_seconds(view, seconds)
    if (sampled := view.sampled_seconds()) is not None:
        return replace(from_seconds(view, sampled), by_samples=True)
    return None


def _coarse(recording: Recording, view: SegmentView) -> Seconds | None:
    """Of a closed segment they are made once: a map of hours then looks at an eighth as much."""
    if not isinstance(view, Segment):
        return _fine(view)

    def make() -> Seconds | None:
        part = _fine(view)
        return None if part is None else coarsened(part)

    return recording.kept(
        (view.key, "coarse cores"), make, lambda part: 0 if part is None else part.nbytes
    )


def coarsened(part: Seconds) -> Seconds:
    """Intervals whose middles lie in the same COARSE_NS of wall time as one."""
    if not len(part.start):
        return part
    bins = (part.start + part.end) // 2 // COARSE_NS
    order = np.argsort(bins, kind="stable")
    first = np.flatnonzero(np.diff(bins[order], prepend=-1))
    start = bins[order][first] * COARSE_NS
    worst, busy_ms, known_ms = _grouped(part, order, first)
    return replace(
        part, start=start, end=start + COARSE_NS, worst=worst, busy_ms=busy_ms, known_ms=known_ms
    )


def from_seconds(view: SegmentView, seconds: CoreSeconds) -> Seconds:
    modes = seconds.permille.transpose(0, 2, 1)
    busy = modes[: len(BUSY_MODES)].sum(axis=0, dtype=np.int16)
    top = modes[0] << _MODE_BITS
    for index in range(1, len(BUSY_MODES)):
        np.maximum(top, modes[index] << _MODE_BITS | np.int16(index), out=top)
    key = np.where(modes[0] < 0, np.int16(-1), busy << _MODE_BITS | top & _MODE_MASK)
    start, end = wall_intervals(view.clock, seconds.start_ns, seconds.end_ns)
    worst = np.concatenate([key[np.newaxis], modes])
    return Seconds(seconds.cores, start, end, worst, *_times(start, end, worst, busy))


def _times(start: I64, end: I64, worst: I16, busy: I16) -> tuple[F32, F32]:
    length_ms = ((end - start) / 1e6).astype(np.float32)
    known_ms = (worst[0] >= 0) * length_ms[:, np.newaxis]
    return busy * known_ms, known_ms


def from_minutes(rows: Rows) -> Seconds:
    """The segment is gone; its minutes tell the worst second and the mean."""
    minutes, row = np.unique(rows["minute"], return_inverse=True)
    cores, column = np.unique(rows["core"], return_inverse=True)
    shape = len(minutes), len(cores)
    worst = np.full((1 + len(MAP_MODES), *shape), -1, np.int16)
    worst[0, row, column] = (rows["worst"] << _MODE_BITS) | np.maximum(rows["worst_mode"], 0)
    busy = np.zeros(shape, np.int16)
    for index, mode in enumerate(MAP_MODES, 1):
        worst[index, row, column] = rows[f"worst_{mode}"]
        if mode in BUSY_MODES:
            busy[row, column] += rows[f"mean_{mode}"]
    start = minutes.astype(np.int64) * MINUTE_NS
    end = start + MINUTE_NS
    return Seconds(tuple(cores.tolist()), start, end, worst, *_times(start, end, worst, busy))


def empty_grid(window: Window, cores: tuple[int, ...], columns: int) -> Grid:
    shape = max(1, columns), len(cores)
    unknown = np.full((1 + len(MAP_MODES), *shape), -1, np.int16)
    nothing = np.zeros((2, *shape), np.float32)
    return Grid(window, cores, unknown, nothing[0], nothing[1])


def add(grid: Grid, part: Seconds) -> None:
    """A column gets the intervals whose middle lies in it."""
    middle = (part.start + part.end) / 2
    column = np.floor((middle - grid.window.start_ns) / grid.column_ns)
    inside = np.flatnonzero((column >= 0) & (column < grid.columns))
    order = inside[np.argsort(column[inside], kind="stable")]
    if len(order):
        at = column[order].astype(np.int64)
        first = np.flatnonzero(np.diff(at, prepend=-1))
        _add_rows(grid, part, order, first, at[first])
    if len(part.start) and grid.column_ns < float((part.end - part.start).max()):
        _fill_narrow(grid, part)


def _add_rows(grid: Grid, part: Seconds, order: I64, first: I64, columns: I64) -> None:
    """`order` picks intervals; those from one of `first` to the next go into one column."""
    place = _place(grid, part, columns)
    worst, busy_ms, known_ms = _grouped(part, order, first)
    grid.worst[:, *place] = np.maximum(grid.worst[:, *place], worst)
    grid.known_ms[place] += known_ms
    grid.busy_ms[place] += busy_ms


def _grouped(part: Seconds, order: I64, first: I64) -> tuple[I16, F32, F32]:
    """`worst`, `busy_ms` and `known_ms` of each group."""
    chosen = _as_slice(order)
    worst, busy_ms, known_ms = part.worst[:, chosen], part.busy_ms[chosen], part.known_ms[chosen]
    if len(first) < len(order):
        # Not reduceat: it goes element by element, where reducing whole rows takes 16 at a time.
        groups = list(pairwise([*first.tolist(), len(order)]))
        worst = np.stack([worst[:, a:b].max(axis=1) for a, b in groups], axis=1)
        known_ms = np.stack([known_ms[a:b].sum(axis=0) for a, b in groups])
        busy_ms = np.stack([busy_ms[a:b].sum(axis=0) for a, b in groups])
    return worst, busy_ms, known_ms


def _as_slice(numbers: I64) -> I64 | slice:
    """The same rows as a slice where they follow each other: no copy is made then."""
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first + 1 == len(numbers) and bool((np.diff(numbers) == 1).all()):
        return slice(first, last + 1)
    return numbers


def _place(grid: Grid, part: Seconds, columns: I64) -> tuple[I64, I64] | tuple[I64 | slice, slice]:
    if part.cores == grid.cores:
        return _as_slice(columns), slice(None)
    number = {core: index for index, core in enumerate(grid.cores)}
    mine = np.array([number[core] for core in part.cores], np.int64)
    return columns[:, np.newaxis], mine[np.newaxis, :]


def _fill_narrow(grid: Grid, part: Seconds) -> None:
    """Columns narrower than an interval show the interval they lie in."""
    middles = grid.window.start_ns + (np.arange(grid.columns) + 0.5) * grid.column_ns
    interval = np.searchsorted(part.end, middles, "right")
    interval[interval == len(part.end)] = 0
    within = (middles >= part.start[interval]) & (middles < part.end[interval])
    columns = np.flatnonzero(within & (grid.known_ms.max(axis=1, initial=0) == 0))
    if len(columns):
        _add_rows(grid, part, interval[columns], np.arange(len(columns)), columns)


def finished(grid: Grid) -> CoreMap:
    permille = grid.worst[0] >> _MODE_BITS
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = grid.busy_ms / grid.known_ms / 10
        node = grid.busy_ms.sum(axis=1) / grid.known_ms.sum(axis=1) / 10
    mode = np.where(permille > 0, grid.worst[0] & _MODE_MASK, -1)
    return CoreMap(
        window=grid.window,
        column_seconds=grid.column_ns / 1e9,
        cores=grid.cores,
        worst_percent_of_core=_percent(permille).T,
        worst_mode=mode.astype(np.int8).T,
        mean_percent_of_core=mean.astype(np.float32).T,
        mode_percent_of_core=_percent(grid.worst[1:]).transpose(0, 2, 1),
        node_mean_percent_of_machine=node.astype(np.float32),
    )


def _percent(permille: I16) -> F32:
    percent = np.minimum(permille, 1000).astype(np.float32) / np.float32(10)
    percent[permille < 0] = np.nan
    return percent
