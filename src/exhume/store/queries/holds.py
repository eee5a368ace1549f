"""Threads that stay in the kernel: found in the roll-up of seconds, measured by samples of time.

Two questions: who was inside one call for seconds, even if others had a turn on its core meanwhile
(`kernel_holds`), and who kept a core to itself (`core_holds`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from exhume.derive.kernel_entry import inside
from exhume.model.answers import Filter
from exhume.model.arrays import I64, U16, Bool
from exhume.model.occupancy import Hold
from exhume.model.stack import FrameKind, Mode, StackTree
from exhume.model.window import Window
from exhume.store.queries.select import chosen
from exhume.store.queries.who import stack_of
from exhume.store.recording import Recording
from exhume.store.rollups import SECOND_NS
from exhume.store.view import SegmentView, units_of_time

LEAST_NS = 500_000_000
LEAST_CALL_NS = 2 * SECOND_NS
_PART, _SOME, _TRACE = 0.4, 0.2, 0.04
"""Of a second, in the kernel: from here on it may be part of a hold, or the rest of one."""
_LEAST_MUCH = 2
_LEAST_ON_CORE, _LEAST_OF_CALL = 3, 8
"""Samples. Of a capture at 1 Hz three in a row are in the kernel by chance, each of a call of its
own: of a process that is there a third of its time, twice a minute."""
_SECOND = 0xFFFFFFFF
_OFF_CORE_NS = 400_000_000
"""Others have their turn within that; whoever is away for longer may have slept."""
_ALONE = 0.9
_MEASURED, _MEASURED_ON_CORE = 24, 40
"""No more stretches than these are looked at sample by sample."""
_NEARLY_ALL = 0.9
_THREAD_OF_KERNEL = "kthread"
_SEAM_NS = 50_000_000


class _Stretch(Struct, frozen=True):
    """Seconds of the roll-up that are worth a look, and whose."""

    view: SegmentView
    window: Window
    wanted: Filter
    core_seconds: float
    """How much of them: of too many those with most are looked at."""


class _Run(Struct, frozen=True):
    """Samples of one thread, one after the other."""

    row: int
    core: U16
    node: I64
    wall: I64
    weight_ns: int


def kernel_holds(recording: Recording, window: Window) -> tuple[Hold, ...]:
    """Of two seconds and more, on any core; the longest, in order of time."""
    stretches = [
        stretch
        for view in recording.views(window)
        for stretch in _by_process(recording, view, window)
    ]
    return _measured(recording, stretches, _MEASURED, _OFF_CORE_NS, LEAST_CALL_NS)


def core_holds(recording: Recording, core: int, window: Window) -> tuple[Hold, ...]:
    """Of half a second and more, on one core; the longest, in order of time."""
    stretches = [
        stretch
        for view in recording.views(window)
        for stretch in _by_core(recording, view, window, core)
    ]
    return _measured(recording, stretches, _MEASURED_ON_CORE, 0, LEAST_NS)


def _by_process(recording: Recording, view: SegmentView, window: Window) -> Iterator[_Stretch]:
    """Two seconds and more in which a process was never seen in user mode.

    On a full core its share of a second may be small now and then: that does not end a call.
    """
    with recording.sparing(view):
        rows, index = view.process_seconds(), view.threads()
        if not len(rows.second):
            return
        key = (rows.process.astype(np.int64) << 32) | rows.second
        packed, place = np.unique(key, return_inverse=True)
        in_user = np.bincount(place, rows.user, len(packed))
        in_kernel = np.bincount(place, rows.weight_us * (rows.user == 0), len(packed))
        chosen_rows = (in_user == 0) & (in_kernel >= _TRACE * 1e6)
        chosen_rows &= _of_time(view, packed & _SECOND)
        packed, in_kernel = packed[chosen_rows], in_kernel[chosen_rows]
        if not len(packed):
            return
        begins = np.append(0, np.flatnonzero(np.diff(packed) != 1) + 1)
        ends = np.append(begins[1:], len(packed)) - 1
        much = np.add.reduceat((in_kernel >= _SOME * 1e6).astype(np.int64), begins)
        took = np.add.reduceat(in_kernel, begins)
        for part in np.flatnonzero(much >= _LEAST_MUCH).tolist():
            first, last = int(packed[begins[part]]), int(packed[ends[part]])
            pid = int(index.threads.pid[int(index.processes.first_thread[first >> 32])])
            inside = _wall(view, first & _SECOND, last & _SECOND).clip(window)
            if pid > 0 and inside is not None:
                yield _Stretch(view, inside, Filter(pids=(pid,)), float(took[part]) / 1e6)


def _by_core(
    recording: Recording, view: SegmentView, window: Window, core: int
) -> Iterator[_Stretch]:
    """Seconds in which one process had a good part of that core, in the kernel."""
    with recording.sparing(view):
        rows = view.process_seconds()
        all_samples = np.maximum(1, rows.user.astype(np.int64) + rows.system)
        much = rows.weight_us * (rows.system / all_samples) >= _PART * 1e6
        much &= _of_time(view, rows.second)
        full = np.unique(rows.second[much & (rows.core == core)].astype(np.int64))
        for _, first, last in _consecutive(full):
            inside = _wall(view, first, last).clip(window)
            if inside is not None:
                yield _Stretch(view, inside, Filter(cores=(core,)), inside.seconds)


def _of_time(view: SegmentView, second: NDArray[np.integer[Any]]) -> Bool:
    count = int(second.max()) + 1 if len(second) else 0
    found: Bool = units_of_time(view, SECOND_NS, count)[second]
    return found


def _consecutive(packed: I64) -> Iterator[tuple[int, int, int]]:
    """Who (upper half), and the first and last of seconds (lower half) that follow each other."""
    breaks = np.flatnonzero(np.diff(packed) != 1) + 1
    for part in np.split(packed, breaks):
        if len(part):
            yield int(part[0]) >> 32, int(part[0]) & _SECOND, int(part[-1]) & _SECOND


def _wall(view: SegmentView, first: int, last: int) -> Window:
    """With a second on either side: holds don't begin on the second."""
    ends = view.start_ns + np.array([first - 1, last + 2], np.int64) * SECOND_NS
    wall = view.clock.to_wall(ends)
    return Window(int(wall[0]), int(wall[1]))


def _measured(
    recording: Recording,
    stretches: list[_Stretch],
    most: int,
    off_core_ns: int,
    least_ns: int,
) -> tuple[Hold, ...]:
    longest = sorted(stretches, key=lambda one: -one.core_seconds)[:most]
    found: list[Hold] = []
    # View by view, so that each is decoded once.
    for one in _merged(sorted(longest, key=lambda one: (one.view.window, one.window))):
        with recording.sparing(one.view):
            found += [_hold(one.view, run) for run in _runs(one, off_core_ns)]
    long = [one for one in _joined(found) if one.window.end_ns - one.window.start_ns >= least_ns]
    return tuple(sorted(long, key=lambda hold: (hold.window, hold.core)))


def _merged(stretches: list[_Stretch]) -> list[_Stretch]:
    """Each has a second more on either side: where two meet, samples must not count twice."""
    found: list[_Stretch] = []
    last: dict[tuple[int, Filter], int] = {}
    for one in stretches:
        key = id(one.view), one.wanted
        before = last.get(key)
        if before is not None and one.window.start_ns <= found[before].window.end_ns:
            end = max(found[before].window.end_ns, one.window.end_ns)
            window = Window(found[before].window.start_ns, end)
            found[before] = replace(found[before], window=window)
        else:
            last[key] = len(found)
            found.append(one)
    return found


def _runs(stretch: _Stretch, off_core_ns: int) -> Iterator[_Run]:
    """Unbroken by user mode; on a core also by anybody else."""
    view = stretch.view
    tree, threads = view.tree().tree, view.threads().threads
    least = _LEAST_OF_CALL if off_core_ns else _LEAST_ON_CORE
    for part in chosen(view, stretch.window, stretch.wanted, cut_at_clocks=True, of_time=True):
        weight = part.run.weight_ns
        if not weight or not len(part):
            continue
        time = part.time_ns()
        row, node, core = part.thread().astype(np.int64), part.stack().astype(np.int64), part.core()
        tid = threads.tid[row].astype(np.int64)
        order = np.lexsort((time, tid)) if off_core_ns else np.argsort(time, kind="stable")
        row, node, core, tid, time = row[order], node[order], core[order], tid[order], time[order]
        in_kernel: Bool = tree.mode[node] != Mode.USER
        who = np.where(in_kernel, tid, -1 - tid)
        apart = np.diff(time) > max(3 * weight, off_core_ns)
        edges = [0, *(np.flatnonzero((np.diff(who) != 0) | apart) + 1).tolist(), len(tid)]
        wall = view.clock.to_wall(time)
        for begin, end in pairwise(edges):
            # Of the idle task only interrupts are seen.
            if in_kernel[begin] and threads.pid[row[begin]] != 0 and end - begin >= least:
                here = slice(begin, end)
                yield _Run(int(row[begin]), core[here], node[here], wall[here], weight)


def _hold(view: SegmentView, run: _Run) -> Hold:
    threads, tree = view.threads().threads, view.tree().tree
    calls: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    depth: dict[str, int] = {}
    leaving = 0
    for node, times in zip(*np.unique(run.node, return_counts=True), strict=True):
        own = _functions(tree, int(node))
        leaving += 0 if own else int(times)
        calls.update(dict.fromkeys(own[:1], int(times)))
        for level, name in enumerate(dict.fromkeys(own)):
            seen[name] += int(times)
            depth[name] = max(depth.get(name, 0), level)
    common = [name for name, times in seen.items() if times >= _NEARLY_ALL * len(run.node)]
    is_call = leaving == 0 and bool(common) and _THREAD_OF_KERNEL not in common
    window = Window(int(run.wall[0]), int(run.wall[-1]) + run.weight_ns)
    core_ns = len(run.node) * run.weight_ns
    return Hold(
        core=int(np.bincount(run.core).argmax()),
        window=window,
        comm=threads.comm[run.row],
        pid=int(threads.pid[run.row]),
        tid=int(threads.tid[run.row]),
        cgroup=threads.cgroup[run.row],
        is_one_call=is_call,
        call=calls.most_common(1)[0][0] if calls else "",
        deepest=max(common, key=lambda name: (depth[name], name), default=""),
        is_alone=core_ns >= _ALONE * (window.end_ns - window.start_ns),
        core_ns=core_ns,
        functions=tuple(common),
    )


def _functions(tree: StackTree, node: int) -> list[str]:
    """Of the kernel, from the system call inwards."""
    return inside(f.name for f in stack_of(tree, node) if f.kind == FrameKind.KERNEL)


def _joined(holds: list[Hold]) -> list[Hold]:
    """Holds that the border between two segments cut in two are one again."""
    last: dict[tuple[int, int, int], Hold] = {}
    done: list[Hold] = []
    for hold in sorted(holds, key=lambda one: one.window):
        key = hold.core, hold.pid, hold.tid
        before = last.get(key)
        if before is not None and hold.window.start_ns - before.window.end_ns < _SEAM_NS:
            last[key] = replace(
                before,
                window=Window(
                    before.window.start_ns, max(before.window.end_ns, hold.window.end_ns)
                ),
                is_one_call=hold.is_one_call and before.is_one_call,
                is_alone=hold.is_alone and before.is_alone,
                core_ns=(before.core_ns or 0) + (hold.core_ns or 0),
            )
        else:
            if before is not None:
                done.append(before)
            last[key] = hold
    return [*done, *last.values()]
