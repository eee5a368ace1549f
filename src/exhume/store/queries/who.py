"""Who was on this core at this instant."""

from __future__ import annotations

import numpy as np

from exhume.model.answers import CoreMoment
from exhume.model.arrays import I32
from exhume.model.ids import told_id
from exhume.model.stack import Frame, Mode, StackTree
from exhume.model.window import Window
from exhume.store.recording import Recording
from exhume.store.rollups import SECOND_NS
from exhume.store.view import Rows, SegmentView, runs


def who(
    recording: Recording, core: int, wall_ns: int, within_ns: int = SECOND_NS
) -> CoreMoment | None:
    """The nearest sample; None where none is that near: the core was idle, or not recorded."""
    around = Window(wall_ns - within_ns, wall_ns + within_ns + 1)
    best: CoreMoment | None = None
    for view in recording.views(around):
        with recording.sparing(view):
            moment = _nearest(view, core, wall_ns, around)
            if moment and (best is None or moment.distance_ns < best.distance_ns):
                best = moment
    return best


def _nearest(view: SegmentView, core: int, wall_ns: int, around: Window) -> CoreMoment | None:
    columns = view.samples((core,))
    row, at_ns, distance = -1, 0, 1 << 62
    for run in runs(view, around):
        rows = columns.rows(run.start_ns, run.end_ns, (core,))
        if not len(rows):
            continue
        wall = view.clock.to_wall(columns.time_ns(rows))
        nearest = int(np.abs(wall - wall_ns).argmin())
        if (apart := abs(int(wall[nearest]) - wall_ns)) < distance:
            row, at_ns, distance = rows.begins[0] + nearest, int(wall[nearest]), apart
    if row < 0:
        return None
    threads, tree = view.threads().threads, view.tree().tree
    found = Rows.one(core, row)
    thread, node = int(columns.thread_of(found)[0]), int(columns.stack_of(found)[0])
    return CoreMoment(
        core=core,
        wall_ns=at_ns,
        distance_ns=distance,
        comm=threads.comm[thread],
        pid=told_id(int(threads.pid[thread])),
        tid=told_id(int(threads.tid[thread])),
        cgroup=threads.cgroup[thread],
        stack=stack_of(tree, node),
        mode=Mode(int(tree.mode[node])).name.lower(),
    )


def stack_of(tree: StackTree, node: int) -> tuple[Frame, ...]:
    """From the process down to the leaf."""
    parent: I32 = tree.parent
    frames: list[Frame] = []
    while node > 0:
        frames.append(tree.frames[int(tree.frame[node])])
        node = int(parent[node])
    return tuple(reversed(frames))
