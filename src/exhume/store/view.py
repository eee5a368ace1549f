"""A stretch of recorded time as the questions see it: a segment on disk, or a live head."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.derive.stacks import level_starts
from exhume.model.arrays import I32, I64, U16, Bool
from exhume.model.clock import ClockMap
from exhume.model.event import Event
from exhume.model.sample import Samples, Stretch, Threads
from exhume.model.segment import Origin
from exhume.model.series import Block
from exhume.model.stack import StackTree
from exhume.model.window import Window
from exhume.perf.eventnames import is_time_like
from exhume.store.rollups import (
    CoreSeconds,
    FrameMinutes,
    Processes,
    ProcessSeconds,
    period_ns,
    processes_of,
)

Scalar = TypeVar("Scalar", bound=np.generic)


class SegmentView(Protocol):
    """Methods read on first use; a damaged file raises `DamagedFileError`: what it held is lost."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str:
        """`segment` or `head`."""

    @property
    def origin(self) -> Origin: ...
    @property
    def window(self) -> Window:
        """Wall time from the first instant to the last."""

    @property
    def clock(self) -> ClockMap: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def stretches(self) -> tuple[Stretch, ...]: ...
    @property
    def sample_count(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    def samples(self, cores: Collection[int] = ()) -> SampleColumns:
        """Of these cores at least; of all, where none is named."""

    def tree(self) -> TreeIndex: ...
    def stack_counts(self) -> I64:
        """How many samples of the whole view end at each node of the tree."""

    def threads(self) -> ThreadIndex: ...
    def fields(self) -> tuple[str, ...]: ...
    def blocks(self, field: str) -> tuple[Block, ...]: ...
    def events(self) -> tuple[Event, ...]: ...
    def core_seconds(self) -> CoreSeconds | None: ...
    def sampled_seconds(self) -> CoreSeconds | None:
        """The same counted from samples; None where the kernel's own times were recorded."""

    def process_seconds(self) -> ProcessSeconds: ...
    def frame_minutes(self) -> FrameMinutes: ...


class Run(Struct, frozen=True):
    """A stretch of monotonic time within one view, sampled at one rate."""

    start_ns: int
    end_ns: int
    weight_ns: int
    is_of_time: bool = True
    """Do samples measure time on a core? Switches, faults and misses come when they like: who has
    many of them need not have been there for long."""


def runs(view: SegmentView, window: Window, *, cut_at_clocks: bool = False) -> list[Run]:
    """Where the wall window lies in the view, cut where the sampling rate changed.

    Cut also at the readings of the clocks, wall time is a straight line within each run.
    """
    found: list[Run] = []
    changes = [stretch.start_ns for stretch in view.stretches[1:]]
    if cut_at_clocks:
        changes = sorted([*changes, *(pair.monotonic_ns for pair in view.clock.pairs)])
    for low, high in view.clock.monotonic_windows(window, view.start_ns, view.end_ns):
        edges = [low, *(change for change in changes if low < change < high), high]
        found.extend(
            Run(begin, end, period_ns(stretch), is_time_like(stretch.event))
            for begin, end in pairwise(edges)
            for stretch in (stretch_at(view.stretches, begin),)
        )
    return found


def units_of_time(view: SegmentView, unit_ns: int, count: int) -> Bool:
    """Of so many seconds, or minutes, since the view began: do all samples in them measure time?"""
    found = np.ones(count, np.bool_)
    edges = [*(stretch.start_ns for stretch in view.stretches), view.end_ns]
    for stretch, end_ns in zip(view.stretches, edges[1:], strict=True):
        if stretch.rate_hz > 0 and not is_time_like(stretch.event):
            first = (stretch.start_ns - view.start_ns) // unit_ns
            found[max(0, first) : -(-(end_ns - view.start_ns) // unit_ns)] = False
    return found


def stretch_at(stretches: tuple[Stretch, ...], time_ns: int) -> Stretch:
    current = stretches[0] if stretches else Stretch(time_ns, "none", 0.0)
    for stretch in stretches:
        if stretch.start_ns <= time_ns:
            current = stretch
    return current


def wall_intervals(clock: ClockMap, start_ns: I64, end_ns: I64) -> tuple[I64, I64]:
    """Seconds in wall time. One that the clock was set in keeps its place and its length."""
    start = clock.to_wall(start_ns)
    return start, start + (end_ns - start_ns)


def wall_window(clock: ClockMap, start_ns: int, end_ns: int) -> Window:
    """The wall time a stretch covers; a stepped clock makes it wider than the stretch is long."""
    steps = [p.monotonic_ns for p in clock.pairs if start_ns < p.monotonic_ns < end_ns]
    edges = np.array([start_ns, *steps, *(at - 1 for at in steps), max(start_ns, end_ns - 1)])
    wall = clock.to_wall(edges.astype(np.int64))
    return Window(int(wall.min()), int(wall.max()) + 1)


class SampleColumns(Struct, frozen=True, dict=True):
    """All samples of a view, ordered by (core, time). A column is read when it is first needed."""

    cores: tuple[int, ...]
    bounds: I64
    """Core number `cores[i]` has the rows bounds[i] to bounds[i + 1]."""
    base_ns: int
    unit_ns: int
    """Times are in steps of this since `base_ns`."""
    load: Callable[[str], NDArray[Any]]
    """`time`, `thread` or `stack`: a number that `nodes` turns into a node of the tree."""
    nodes: Callable[[], I32] | None = None
    """None where `stack` holds nodes already."""

    @cached_property
    def time(self) -> I32 | I64:
        return self.load("time")

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def thread_of(self, rows: Rows) -> I32:
        return rows.of(self.load("thread"))

    def stack_of(self, rows: Rows) -> I32:
        numbers: I32 = rows.of(self.load("stack"))
        return numbers if self.nodes is None else self.nodes()[numbers]

    def rows(self, start_ns: int, end_ns: int, cores: Collection[int] = ()) -> Rows:
        """The rows of these cores (of all, where none is named) in [start, end)."""
        low = -(-(start_ns - self.base_ns) // self.unit_ns)
        high = -(-(end_ns - self.base_ns) // self.unit_ns)
        chosen, begins, ends = [], [], []
        for index, core in enumerate(self.cores):
            if cores and core not in cores:
                continue
            begin, end = int(self.bounds[index]), int(self.bounds[index + 1])
            own = self.time[begin:end]
            first, last = begin + np.searchsorted(own, [low, high])
            if first < last:
                chosen.append(core)
                begins.append(int(first))
                ends.append(int(last))
        return Rows(tuple(chosen), tuple(begins), tuple(ends))

    def time_ns(self, rows: Rows) -> I64:
        return rows.of(self.time).astype(np.int64) * self.unit_ns + self.base_ns


class Rows(Struct, frozen=True):
    """Some stretches of rows of `SampleColumns`, one per core."""

    cores: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    def __len__(self) -> int:
        return sum(self.ends) - sum(self.begins)

    def of(self, column: NDArray[Scalar]) -> NDArray[Scalar]:
        if not self.begins:
            return column[:0]
        if self.begins[1:] == self.ends[:-1]:
            return column[self.begins[0] : self.ends[-1]]
        return np.concatenate(
            [column[begin:end] for begin, end in zip(self.begins, self.ends, strict=True)]
        )

    @staticmethod
    def one(core: int, row: int) -> Rows:
        return Rows((core,), (row,), (row + 1,))

    def core(self) -> U16:
        lengths = np.array(self.ends, np.int64) - np.array(self.begins, np.int64)
        return np.repeat(np.array(self.cores, np.uint16), lengths)


def sample_columns(samples: Samples) -> SampleColumns:
    """Of samples that lie in memory; each core must come in one piece."""
    borders = np.flatnonzero(np.diff(samples.core)) + 1
    bounds = np.array([0, *borders, len(samples)] if len(samples) else [0], np.int64)
    cores = tuple(int(samples.core[begin]) for begin in bounds[:-1])
    columns: dict[str, NDArray[Any]] = {
        "time": samples.time_ns,
        "thread": samples.thread,
        "stack": samples.stack,
    }
    return SampleColumns(cores, bounds, 0, 1, columns.__getitem__)


class TreeIndex(Struct, frozen=True, dict=True):
    """A stack tree with what is derived from it once and used by every question."""

    tree: StackTree

    @cached_property
    def level_starts(self) -> list[int]:
        return level_starts(self.tree.parent)

    @property
    def nbytes(self) -> int:
        # 9 bytes of columns a node; some 150 a frame with its strings.
        return 9 * len(self.tree.parent) + 150 * len(self.tree.frames)


class ThreadIndex(Struct, frozen=True, dict=True):
    threads: Threads

    @cached_property
    def processes(self) -> Processes:
        return processes_of(self.threads)

    @property
    def nbytes(self) -> int:
        return 200 * len(self.threads)
