"""Who spends core time in and below certain functions of the kernel, by samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from exhume.derive.stacks import level_starts
from exhume.model.answers import Filter
from exhume.model.arrays import Bool
from exhume.model.stack import FrameKind, Mode, StackTree
from exhume.model.window import Window
from exhume.store.queries.select import chosen
from exhume.store.recording import Recording


def frame_users(
    recording: Recording, is_wanted: Callable[[str], bool], windows: Sequence[Window]
) -> dict[str, int]:
    """Core time (ns) by process name. The roll-up of frames keeps only the largest of a minute.

    A softirq is on top of whoever was there: it is nobody's own doing.
    """
    found: Counter[str] = Counter()
    for window in windows:
        for view in recording.views(window):
            with recording.sparing(view):
                tree, names = view.tree().tree, view.threads().threads.comm
                inside = _inside(tree, is_wanted)
                for part in chosen(view, window, Filter(), of_time=True):
                    row = part.thread()[inside[part.stack()]]
                    for thread, count in zip(*np.unique(row, return_counts=True), strict=True):
                        found[names[int(thread)]] += int(count) * part.run.weight_ns
    return dict(found)


def _inside(tree: StackTree, is_wanted: Callable[[str], bool]) -> Bool:
    """Stacks that have such a function anywhere."""
    wanted = np.array(
        [frame.kind == FrameKind.KERNEL and is_wanted(frame.name) for frame in tree.frames],
        np.bool_,
    )
    inside: Bool = wanted[tree.frame]
    for begin, end in list(pairwise(level_starts(tree.parent)))[1:]:
        inside[begin:end] |= inside[tree.parent[begin:end]]
    inside &= tree.mode != Mode.SOFTIRQ
    return inside
