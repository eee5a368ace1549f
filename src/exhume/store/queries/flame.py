"""Where the core time went, as a tree of calls."""

from __future__ import annotations

import numpy as np

from exhume.derive.flame import Branches, FrameTable, branches_of, flame_tree, joined, merge_trees
from exhume.model.answers import Filter, FlameTree
from exhume.model.arrays import I64
from exhume.model.window import Window
from exhume.store.queries.select import EVERYTHING, chosen, node_mask
from exhume.store.recording import Recording
from exhume.store.view import SegmentView, runs

__all__ = ["flame", "merge_trees", "node_weights"]


def flame(
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    min_share: float = 0.0,
) -> FlameTree:
    """Branches with less than `min_share` of the selection are cut, and add to `pruned_ns`."""
    table = FrameTable()
    parts: list[Branches] = []
    samples = 0
    for view in recording.views(window):
        with recording.sparing(view):
            own, count = node_weights(view, window, filter)
            if count:
                index = view.tree()
                parts.append(branches_of(index.tree, own, index.level_starts, table))
                samples += count
    tree = parts[0] if len(parts) == 1 else joined(parts)
    return flame_tree(tree, table, window, samples, min_share)


def node_weights(view: SegmentView, window: Window, wanted: Filter) -> tuple[I64, int]:
    """The core time of the samples that end at each node of the view's tree, and their number."""
    if (whole := _whole_view(view, window, wanted)) is not None:
        return whole
    own = np.zeros(len(view.tree().tree.parent), np.int64)
    samples = 0
    for part in chosen(view, window, wanted):
        stack = part.stack()
        own += np.bincount(stack, minlength=len(own)) * part.run.weight_ns
        samples += len(stack)
    return own, samples


def _whole_view(view: SegmentView, window: Window, wanted: Filter) -> tuple[I64, int] | None:
    """All of a view at one rate: its stacks were counted when it was closed."""
    found = runs(view, window)
    by_thread = wanted.comms or wanted.pids or wanted.tids or wanted.cgroups
    if len(found) != 1 or wanted.cores or by_thread:
        return None
    (run,) = found
    if run.start_ns > view.start_ns or run.end_ns < view.end_ns:
        return None
    counts = view.stack_counts()
    if (nodes := node_mask(view, wanted)) is not None:
        counts = np.where(nodes, counts, 0)
    return counts * run.weight_ns, int(counts.sum())
