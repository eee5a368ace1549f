"""Where the core time went, as a tree of calls."""

from __future__ import annotations

import numpy as np

from exhume.derive.flame import FrameTable, branches_of, flame_tree, joined, merge_trees
from exhume.model.answers import Filter, FlameTree
from exhume.model.arrays import I64
from exhume.model.window import Window
from exhume.store.queries.select import EVERYTHING, chosen, node_mask
from exhume.store.recording import Recording
from exhume.store.view import SegmentView, TreeIndex, runs

__all__ = ["flame", "merge_trees", "node_weights"]


def flame(
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    min_share: float = 0.0,
) -> FlameTree:
    """Branches with less than `min_share` of the selection are cut, and add to `pruned_ns`."""
    parts: list[tuple[TreeIndex, I64]] = []
    samples = 0
    for view in recording.views(window):
        with recording.sparing(view):
            own, count = node_weights(view, window, filter)
            if count:
                parts.append((view.tree(), own))
                samples += count
    if len(parts) == 1:  # mostly, and then frames need no common numbering
        ((index, own),) = parts
        alone = branches_of(index.tree, own, index.level_starts, None)
        return flame_tree(alone, index.tree.frames, window, samples, min_share)
    table = FrameTable()
    branches = [branches_of(i.tree, own, i.level_starts, table) for i, own in parts]
    return flame_tree(joined(branches), table.frames(), window, samples, min_share)


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
    by_owner = wanted.units or wanted.containers or wanted.pods
    if len(found) != 1 or wanted.cores or by_thread or by_owner:
        return None
    (run,) = found
    if run.start_ns > view.start_ns or run.end_ns < view.end_ns:
        return None
    counts = view.stack_counts()
    if (nodes := node_mask(view, wanted)) is not None:
        counts = np.where(nodes, counts, 0)
    return counts * run.weight_ns, int(counts.sum())
