"""Samples that came late on a busy core: the sign that interrupts were switched off."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np

from exhume.model.answers import LateSample
from exhume.model.arrays import I64
from exhume.model.series import MISSING
from exhume.model.window import Window
from exhume.store.queries.who import stack_of
from exhume.store.recording import Recording
from exhume.store.rollups import CoreSeconds
from exhume.store.view import SegmentView, runs

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
    columns, threads, tree = view.samples(), view.threads().threads, view.tree().tree
    ticks, excused = _excused_jiffies(view, core)
    lost = _readings(view, "sampler.lost", core)
    for run in runs(view, window):
        rows = columns.rows(run.start_ns, run.end_ns, (core,))
        if not len(rows) or not run.weight_ns:
            continue
        # The sample before the window begins the first gap.
        begin = max(rows.begins[0] - 1, int(columns.bounds[columns.cores.index(core)]))
        time = columns.time[begin : rows.ends[0]].astype(np.int64) * columns.unit_ns
        time += columns.base_ns
        gaps = np.diff(time)
        for index in np.flatnonzero(gaps > LATE_PERIODS * run.weight_ns):
            before, after = int(time[index]), int(time[index + 1])
            gap = after - before
            excuse = _over(ticks, excused, before, after)
            if excuse is None or excuse / view.origin.user_hz > 0.5 * gap / 1e9:
                continue
            if lost is not None and _over(*lost, before, after) != 0:
                continue  # not late but lost
            row = begin + int(index) + 1
            thread = int(columns.thread[row])
            stack = stack_of(tree, int(columns.stack[row]))
            yield LateSample(
                core=core,
                wall_ns=view.clock.wall(after),
                gap_seconds=gap / 1e9,
                periods=gap / run.weight_ns,
                comm=threads.comm[thread],
                pid=int(threads.pid[thread]),
                tid=int(threads.tid[thread]),
                leaf=stack[-1],
                caller=stack[-2] if len(stack) > 1 else None,
            )


def _excused_jiffies(view: SegmentView, core: int) -> tuple[I64, I64]:
    """Idle, iowait and steal of the core, added up; MISSING where one is."""
    found = [_readings(view, field, core) for field in _EXCUSES]
    known = [reading for reading in found if reading is not None]
    if found[0] is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    ticks = found[0][0]
    total = np.zeros(len(ticks), np.int64)
    for own_ticks, values in known:
        if not np.array_equal(own_ticks, ticks):
            continue
        # Falling counters (iowait does) only ever make the excuse smaller; hold them instead.
        held = np.maximum.accumulate(values)
        total = np.where((values == MISSING) | (total == MISSING), MISSING, total + held)
    return ticks, total


def _readings(view: SegmentView, field: str, core: int) -> tuple[I64, I64] | None:
    for block in view.blocks(field):
        if str(core) in block.instances:
            return block.tick_ns, block.values[:, block.instances.index(str(core))]
    return None


def _over(ticks: I64, values: I64, before: int, after: int) -> float | None:
    """How far the reading rose from the tick at or before the gap to the one at or after it."""
    first = int(np.searchsorted(ticks, before, "right")) - 1
    last = int(np.searchsorted(ticks, after, "left"))
    if first < 0 or last >= len(ticks):
        return None
    inside = values[first : last + 1]
    if (inside == MISSING).any():
        return None
    return float(sum(max(0, int(b) - int(a)) for a, b in pairwise(inside)))
