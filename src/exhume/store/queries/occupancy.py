"""Who had a core in a short window, and who kept it without a break, by samples of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from exhume.model.answers import Filter
from exhume.model.arrays import I64
from exhume.model.occupancy import Occupancy, Occupant
from exhume.model.stack import FrameKind, Mode, StackTree
from exhume.model.window import Window
from exhume.store.belonging import NOBODY, Belonging, Owners
from exhume.store.queries.select import Chosen, chosen
from exhume.store.queries.who import stack_of
from exhume.store.recording import Recording
from exhume.store.view import SegmentView

MOST_FRAMES = 80
_LEAST_SHARE = 0.02
_FILLED = 0.5
_OF_USERS = {FrameKind.USER, FrameKind.UNKNOWN}
_THREAD_OF_KERNEL = "kthread"
"""All of them begin there, and nobody else: that one stack has it says so, whatever others lack.
What a BPF program does in one has no name, and of some samples no caller is known."""


class _Work(Struct):
    cgroup: str = ""
    owner: Belonging = NOBODY
    samples: int = 0
    core_ns: int = 0
    user: int = 0
    softirq: int = 0
    unnamed: int = 0
    kernel_only: bool = True
    begins_there: bool = False
    longest: Window = field(default_factory=lambda: Window(0, 0))
    frames: Counter[str] = field(default_factory=Counter)

    @property
    def is_of_kernel(self) -> bool:
        return (self.kernel_only or self.begins_there) and not self.owner.unit

    def is_program(self, pid: int) -> bool:
        return pid > 0 and not self.is_of_kernel


def occupancy(recording: Recording, core: int, window: Window) -> Occupancy:
    work: dict[tuple[int, str], _Work] = {}
    samples = softirq_ns = 0
    order: list[str] = []
    for view in recording.views(window):
        with recording.sparing(view):
            owners = Owners(view)
            for part in _of_core(view, core, window):
                if len(part):
                    softirq_ns += _add(work, view, part, owners)
                    samples += len(part)
                    order += _names_in_order(view, part)
    length = max(1, window.end_ns - window.start_ns)
    between = _between(order, {comm for (pid, comm), one in work.items() if one.is_program(pid)})
    occupants = tuple(
        replace(_occupant(comm, pid, one, length), others_between=between.get(comm, 0))
        for (pid, comm), one in sorted(
            work.items(), key=lambda item: (-item[1].core_ns, item[0][0], item[0][1])
        )
    )
    return Occupancy(core, window, samples, occupants, softirq_ns / length)


def _names_in_order(view: SegmentView, part: Chosen) -> list[str]:
    comm = view.threads().threads.comm
    return [comm[row] for row in part.thread().astype(np.int64).tolist()]


def _between(order: Sequence[str], programs: Collection[str]) -> dict[str, int]:
    """By name: how often programs of another name were met from its first sample to its last."""
    met, own = 0, Counter[str]()
    first: dict[str, int] = {}
    found: dict[str, int] = {}
    for name in order:
        if name in programs:
            first.setdefault(name, met)
            own[name] += 1
            met += 1
            found[name] = met - first[name] - own[name]
    return found


def longest_runs(recording: Recording, core: int, window: Window) -> dict[str, Window]:
    """By process name, the longest stretch in which every sample of the core was one thread's.

    Where the core was idle there are no samples: what they don't fill is no run.
    """
    found: dict[str, Window] = {}
    for view in recording.views(window):
        with recording.sparing(view):
            threads = view.threads().threads
            tid = threads.tid.astype(np.int64)
            for part in _of_core(view, core, window):
                if not len(part):
                    continue
                wall = view.clock.to_wall(part.time_ns())
                for row, begin, end in _unbroken(part.thread().astype(np.int64), tid):
                    run = Window(int(wall[begin]), int(wall[end - 1]) + part.run.weight_ns)
                    name, filled_ns = threads.comm[row], (end - begin) * part.run.weight_ns
                    if filled_ns < _FILLED * (run.end_ns - run.start_ns) or not threads.pid[row]:
                        continue
                    if name not in found or run.seconds > found[name].seconds:
                        found[name] = run
    return found


def _of_core(view: SegmentView, core: int, window: Window) -> Iterator[Chosen]:
    return chosen(view, window, Filter(cores=(core,)), cut_at_clocks=True, of_time=True)


def _add(
    work: dict[tuple[int, str], _Work], view: SegmentView, part: Chosen, owners: Owners
) -> int:
    tree, threads = view.tree().tree, view.threads().threads
    nodes, rows = part.stack().astype(np.int64), part.thread().astype(np.int64)
    wall = view.clock.to_wall(part.time_ns())
    weight = part.run.weight_ns
    modes = tree.mode[nodes]
    for packed, count in zip(*np.unique((rows << 32) | nodes, return_counts=True), strict=True):
        row, node = int(packed) >> 32, int(packed) & 0xFFFFFFFF
        one = work.setdefault((int(threads.pid[row]), threads.comm[row]), _Work())
        if not one.cgroup and threads.cgroup[row]:
            one.cgroup, one.owner = threads.cgroup[row], owners.of(threads.cgroup[row])
        times = int(count)
        one.samples += times
        one.core_ns += times * weight
        one.user += times * (tree.mode[node] == Mode.USER)
        one.softirq += times * (tree.mode[node] == Mode.SOFTIRQ)
        names, kinds = _functions(tree, node), _kinds(tree, node)
        in_kernel = tree.mode[node] != Mode.USER
        one.unnamed += times * bool(in_kernel and FrameKind.KERNEL not in kinds)
        one.kernel_only &= bool(names) and in_kernel and not kinds & _OF_USERS
        one.begins_there |= in_kernel and _THREAD_OF_KERNEL in names
        for name in names:
            one.frames[name] += times
    for row, begin, end in _unbroken(rows, threads.tid.astype(np.int64)):
        one = work[int(threads.pid[row]), threads.comm[row]]
        run = Window(int(wall[begin]), int(wall[end - 1]) + weight)
        if run.seconds > one.longest.seconds:
            one.longest = run
    return int((modes == Mode.SOFTIRQ).sum()) * weight


def _unbroken(rows: I64, tid: I64) -> Iterator[tuple[int, int, int]]:
    """Runs of samples of one thread: its row, and where the run begins and ends."""
    who = tid[rows]
    edges = np.concatenate(([0], np.flatnonzero(np.diff(who)) + 1, [len(rows)]))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield int(rows[begin]), begin, end


def _functions(tree: StackTree, node: int) -> set[str]:
    return {
        frame.name
        for frame in stack_of(tree, node)
        if frame.kind in (FrameKind.KERNEL, FrameKind.USER)
    }


def _kinds(tree: StackTree, node: int) -> set[FrameKind]:
    return {frame.kind for frame in stack_of(tree, node)}


def _occupant(comm: str, pid: int, one: _Work, length_ns: int) -> Occupant:
    frames = {
        name: times / one.samples
        for name, times in sorted(one.frames.items(), key=lambda item: (-item[1], item[0]))
        if times >= _LEAST_SHARE * one.samples
    }
    return Occupant(
        comm=comm,
        pid=pid,
        cgroup=one.cgroup,
        unit=one.owner.unit,
        container=one.owner.container,
        pod=one.owner.pod,
        samples=one.samples,
        core_ns=one.core_ns,
        share_of_window=min(1.0, one.core_ns / length_ns),
        user_share=one.user / one.samples,
        softirq_share=one.softirq / one.samples,
        longest_run=one.longest,
        frames=dict(list(frames.items())[:MOST_FRAMES]),
        is_kernel_thread=one.is_of_kernel,
        unnamed_share=one.unnamed / one.samples,
    )
