"""Samples one by one, as they were taken."""

from __future__ import annotations

import numpy as np

from exhume.model.answers import Filter, SampleAnswer, SamplesAnswer
from exhume.model.ids import told_id
from exhume.model.stack import Mode
from exhume.model.window import Window
from exhume.store.queries.select import EVERYTHING, Chosen, chosen
from exhume.store.queries.who import stack_of
from exhume.store.recording import Recording
from exhume.store.view import SegmentView


def samples(
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    limit: int = 200,
) -> SamplesAnswer:
    """The first `limit` in order of time, and how many there are."""
    found: list[SampleAnswer] = []
    total = 0
    for view in recording.views(window):
        with recording.sparing(view):
            for part in chosen(view, window, filter):
                total += len(part)
                found.extend(_first(view, part, limit))
    found.sort(key=lambda one: (one.wall_ns, one.core))
    return SamplesAnswer(window, total, tuple(found[:limit]))


def _first(view: SegmentView, part: Chosen, limit: int) -> list[SampleAnswer]:
    threads, tree = view.threads().threads, view.tree().tree
    time, core = part.time_ns(), part.core()
    thread, stack = part.thread(), part.stack()
    order = np.argsort(time, kind="stable")[:limit]
    wall = view.clock.to_wall(time[order]).tolist()
    return [
        SampleAnswer(
            wall_ns=at,
            core=int(core[row]),
            comm=threads.comm[thread[row]],
            pid=told_id(int(threads.pid[thread[row]])),
            tid=told_id(int(threads.tid[thread[row]])),
            mode=Mode(int(tree.mode[stack[row]])).name.lower(),
            weight_ns=part.run.weight_ns,
            stack=tuple(frame.name for frame in stack_of(tree, int(stack[row]))),
        )
        for row, at in zip(order.tolist(), wall, strict=True)
    ]
