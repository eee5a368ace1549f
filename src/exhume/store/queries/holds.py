"""Threads that kept a core in the kernel for seconds: found in the roll-up, measured by samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from exhume.model.answers import Filter
from exhume.model.arrays import I64, Bool
from exhume.model.occupancy import Hold
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.model.window import Window
from exhume.store.queries.select import Chosen, chosen
from exhume.store.queries.who import stack_of
from exhume.store.recording import Recording
from exhume.store.rollups import SECOND_NS
from exhume.store.view import SegmentView

LEAST_NS = 500_000_000
_PART = 0.4
"""Of a second. A hold of half a second may be cut in two by the seconds of the roll-up."""
_WHOLE = 0.9
_MEASURED, _MEASURED_ON_CORE = 24, 40
"""No more stretches than these are looked at sample by sample."""
_NEARLY_ALL = 0.9
# Frames between user space and the system call proper, and on the way back: they say nothing.
_ENTRY = (
    "entry_", "do_syscall", "x64_sys_call", "el0", "el0t", "invoke_syscall", "do_el0_svc",
    "syscall_", "__syscall", "ret_from_", "exit_to_user_mode", "asm_", "exc_", "sysret",
    "irqentry_", "do_fast_syscall", "int80", "swapgs_",
)  # fmt: skip


def kernel_holds(recording: Recording, window: Window) -> tuple[Hold, ...]:
    """The longest of two seconds and more, on any core, in order of time: a whole second of the
    roll-up then has no sample in user mode."""
    return _found(recording, window, (), 2 * SECOND_NS, _MEASURED)


def core_holds(recording: Recording, core: int, window: Window) -> tuple[Hold, ...]:
    """The longest of half a second and more, on one core."""
    return _found(recording, window, (core,), LEAST_NS, _MEASURED_ON_CORE)


def _found(
    recording: Recording, window: Window, cores: tuple[int, ...], least_ns: int, most: int
) -> tuple[Hold, ...]:
    found: list[Hold] = []
    candidates: list[tuple[SegmentView, int, Window]] = []
    for view in recording.views(window):
        with recording.sparing(view):
            candidates += [(view, *one) for one in _suspicious(view, window, cores)]
    longest = sorted(candidates, key=lambda one: -one[2].seconds)[:most]
    # View by view, so that each is decoded once.
    for view, core, part in sorted(longest, key=lambda one: (one[0].window, one[1], one[2])):
        with recording.sparing(view):
            found.extend(_holds(view, core, part))
    long = [one for one in _joined(found) if one.window.end_ns - one.window.start_ns >= least_ns]
    return tuple(sorted(long, key=lambda hold: (hold.window, hold.core)))


def _suspicious(
    view: SegmentView, window: Window, cores: tuple[int, ...]
) -> Iterator[tuple[int, Window]]:
    """Stretches of whole seconds in which one process had most of a core, in the kernel."""
    rows = view.process_seconds()
    if not len(rows.second):
        return
    if cores:
        all_samples = np.maximum(1, rows.user.astype(np.int64) + rows.system)
        much = rows.weight_us * (rows.system / all_samples) >= _PART * 1e6
        much &= np.isin(rows.core, cores)
    else:
        much = (rows.weight_us >= _WHOLE * 1e6) & (rows.user == 0)
    full = np.flatnonzero(much)
    packed = np.unique((rows.core[full].astype(np.int64) << 32) | rows.second[full])
    places, seconds = packed >> 32, packed & 0xFFFFFFFF
    breaks = np.flatnonzero((np.diff(places) != 0) | (np.diff(seconds) > 1)) + 1
    for part in np.split(np.arange(len(packed)), breaks):
        if not len(part):
            continue
        first, last = int(seconds[part[0]]), int(seconds[part[-1]])
        begin = view.start_ns + (first - 1) * SECOND_NS
        end = view.start_ns + (last + 2) * SECOND_NS
        wall = view.clock.to_wall(np.array([begin, end], np.int64))
        inside = Window(int(wall[0]), int(wall[1])).clip(window)
        if inside is not None:
            yield int(places[part[0]]), inside


def _holds(view: SegmentView, core: int, window: Window) -> Iterator[Hold]:
    tree, threads = view.tree().tree, view.threads().threads
    for part in chosen(view, window, Filter(cores=(core,)), cut_at_clocks=True):
        weight = part.run.weight_ns
        if not weight or not len(part):
            continue
        row, node = part.thread().astype(np.int64), part.stack().astype(np.int64)
        tid = threads.tid[row].astype(np.int64)
        in_kernel: Bool = tree.mode[node] != Mode.USER
        for begin, end in _runs(tid, in_kernel, part.time_ns(), 3 * weight):
            if (end - begin) * weight < LEAST_NS:
                continue
            if threads.pid[row[begin]] == 0:
                continue  # interrupts on an idle core
            yield _hold(view, part, core, row[begin:end], node[begin:end], begin, end, tree)


def _runs(tid: I64, in_kernel: Bool, time: I64, most_apart_ns: int) -> Iterator[tuple[int, int]]:
    who = np.where(in_kernel, tid, -1 - tid)
    breaks = np.flatnonzero((np.diff(who) != 0) | (np.diff(time) > most_apart_ns)) + 1
    edges = np.concatenate(([0], breaks, [len(tid)]))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if in_kernel[begin]:
            yield begin, end


def _hold(
    view: SegmentView,
    part: Chosen,
    core: int,
    rows: I64,
    nodes: I64,
    begin: int,
    end: int,
    tree: StackTree,
) -> Hold:
    threads = view.threads().threads
    time = part.time_ns()
    wall = view.clock.to_wall(time[[begin, end - 1]])
    unique, counts = np.unique(nodes, return_counts=True)
    stacks = [
        (_kernel(stack_of(tree, int(n))), int(c)) for n, c in zip(unique, counts, strict=True)
    ]
    calls: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    depth: dict[str, int] = {}
    leaving = 0
    for names, times in stacks:
        own = [name for name in names if not name.startswith(_ENTRY)]
        if not own:
            leaving += times
            continue
        calls[own[0]] += times
        for level, name in enumerate(dict.fromkeys(own)):
            seen[name] += times
            depth[name] = max(depth.get(name, 0), level)
    total = end - begin
    common = [name for name, times in seen.items() if times >= _NEARLY_ALL * total]
    call = calls.most_common(1)[0][0] if calls else ""
    one_call = leaving == 0 and bool(common)
    row = int(rows[0])
    return Hold(
        core=core,
        window=Window(int(wall[0]), int(wall[1]) + part.run.weight_ns),
        comm=threads.comm[row],
        pid=int(threads.pid[row]),
        tid=int(threads.tid[row]),
        cgroup=threads.cgroup[row],
        is_one_call=one_call,
        call=call,
        deepest=max(common, key=lambda name: (depth[name], name), default=""),
    )


def _kernel(stack: tuple[Frame, ...]) -> list[str]:
    return [frame.name for frame in stack if frame.kind == FrameKind.KERNEL]


def _joined(holds: list[Hold]) -> list[Hold]:
    """Holds that a border between two segments cut in two are one again."""
    found: dict[tuple[int, int, int], Hold] = {}
    done: list[Hold] = []
    for hold in sorted(holds, key=lambda one: one.window):
        key = hold.core, hold.pid, hold.tid
        before = found.get(key)
        if before is not None and hold.window.start_ns - before.window.end_ns < 50_000_000:
            both = Window(before.window.start_ns, max(before.window.end_ns, hold.window.end_ns))
            found[key] = Hold(
                hold.core, both, hold.comm, hold.pid, hold.tid, hold.cgroup,
                hold.is_one_call and before.is_one_call, hold.call or before.call,
                hold.deepest or before.deepest,
            )  # fmt: skip
        else:
            if before is not None:
                done.append(before)
            found[key] = hold
    return [*done, *found.values()]
