"""Samples that came late on a busy core: the sign that interrupts were switched off."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from exhume.model.answers import LateSample
from exhume.model.arrays import F64, I64
from exhume.model.ids import told_id
from exhume.model.series import MISSING
from exhume.model.window import Window
from exhume.store.queries.who import stack_of
from exhume.store.recording import Recording
from exhume.store.rollups import CoreSeconds
from exhume.store.view import Rows, SegmentView, runs

LATE_PERIODS = 2.5
# What explains a gap without any fault: the core had nothing to do, or the hypervisor took it.
_EXCUSES = ("cpu.idle", "cpu.iowait", "cpu.steal")


def late_samples(
    recording: Recording, window: Window, cores: Collection[int] = ()
) -> list[LateSample]:
    """In order of time. A gap counts if idle and stolen time can't explain even half of it.

    Judged by the raw jiffies over the readings around the gap, not by mpstat's percentages: while
    interrupts are off the tick is not counted either, and a core that counts nothing at all would
    read as 100 % idle there.
    """
    found: list[LateSample] = []
    for view in recording.views(window):
        with recording.sparing(view):
            found.extend(_late(view, window, cores))
    return sorted(found, key=lambda late: (late.wall_ns, late.core))


def _late(view: SegmentView, window: Window, cores: Collection[int]) -> list[LateSample]:
    """The roll-up says on which cores to look; mostly on none, and no sample is read."""
    seconds = view.core_seconds()
    if seconds is None or not view.stretches:
        return []
    suspects = [core for core in _suspects(view, seconds) if not cores or core in cores]
    if not suspects:
        return []
    return [late for core in suspects for late in _late_on(view, window, core)]


def _suspects(view: SegmentView, seconds: CoreSeconds) -> list[int]:
    rate = max(stretch.rate_hz for stretch in view.stretches)
    if not rate:
        return []
    rows = np.flatnonzero((seconds.gap_ms >= LATE_PERIODS * 1000 / rate - 1).any(axis=1))
    return [seconds.cores[row] for row in rows]


def _late_on(view: SegmentView, window: Window, core: int) -> Iterator[LateSample]:
    columns, threads, tree = view.samples((core,)), view.threads().threads, view.tree().tree
    excuses = [_readings(view, field, core) for field in _EXCUSES]
    lost = _readings(view, "sampler.lost", core)
    if excuses[0] is None:
        return
    for run in runs(view, window):
        rows = columns.rows(run.start_ns, run.end_ns, (core,))
        if not len(rows) or not run.weight_ns:
            continue
        # The sample before the window begins the first gap.
        begin = max(rows.begins[0] - 1, int(columns.bounds[columns.cores.index(core)]))
        time = columns.time[begin : rows.ends[0]].astype(np.int64) * columns.unit_ns
        time += columns.base_ns
        at = np.flatnonzero(np.diff(time) > LATE_PERIODS * run.weight_ns)
        before, after = time[at], time[at + 1]
        gap = (after - before) / 1e9
        jiffies = np.sum([_rise(reading, before, after) for reading in excuses if reading], axis=0)
        unexcused = jiffies / view.origin.user_hz <= 0.5 * gap  # NaN, not known, is no accusation
        if lost:
            unexcused &= _rise(lost, before, after) == 0  # else not late but lost
        for index in np.flatnonzero(unexcused):
            row = begin + int(at[index]) + 1
            late = Rows.one(core, row)
            thread = int(columns.thread_of(late)[0])
            stack = stack_of(tree, int(columns.stack_of(late)[0]))
            yield LateSample(
                core=core,
                wall_ns=view.clock.wall(int(after[index])),
                gap_seconds=float(gap[index]),
                periods=float(gap[index] * 1e9 / run.weight_ns),
                comm=threads.comm[thread],
                pid=told_id(int(threads.pid[thread])),
                tid=told_id(int(threads.tid[thread])),
                leaf=stack[-1],
                caller=stack[-2] if len(stack) > 1 else None,
            )


def _readings(view: SegmentView, field: str, core: int) -> tuple[I64, I64] | None:
    for block in view.blocks(field):
        if str(core) in block.instances:
            return block.tick_ns, block.values[:, block.instances.index(str(core))]
    return None


def _rise(reading: tuple[I64, I64], before: I64, after: I64) -> F64:
    """How far it rose from the reading at or before to the one at or after; NaN where not known."""
    ticks, values = reading
    known = values != MISSING
    steps = np.where(known[1:] & known[:-1], np.maximum(np.diff(values), 0), 0)
    risen = np.concatenate([[0], np.cumsum(steps)])
    unknown = np.concatenate([[0], np.cumsum(~known)])
    first = np.searchsorted(ticks, before, "right") - 1
    last = np.searchsorted(ticks, after, "left")
    around = (first >= 0) & (last < len(ticks))
    first, last = np.where(around, first, 0), np.where(around, last, 0)
    certain = around & (unknown[np.minimum(last + 1, len(ticks))] == unknown[first])
    return np.where(certain, (risen[last] - risen[first]).astype(np.float64), np.nan)
