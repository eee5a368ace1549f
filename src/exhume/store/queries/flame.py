"""Where the core time went, as a tree of calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exhume.derive.flame import Branches, FrameTable, branches_of, flame_tree, joined, merge_trees
from exhume.model.answers import Filter, FlameTree
from exhume.model.arrays import I64
from exhume.model.window import Window
from exhume.store.queries.select import EVERYTHING, chosen, node_mask
from exhume.store.recording import Recording
from exhume.store.segment import Segment
from exhume.store.trunk import FINENESS, TRUNK_SHARE, Trunk, one_trunk
from exhume.store.view import Run, SegmentView, TreeIndex, runs

__all__ = ["flame", "merge_trees", "node_weights"]

MANY_VIEWS = 12
"""Two hours: from here on to read every stack takes longer than a person waits."""


def flame(
    recording: Recording,
    window: Window,
    filter: Filter = EVERYTHING,  # noqa: A002
    min_share: float = 0.0,
) -> FlameTree:
    """Branches with less than `min_share` of the selection are cut, and add to `pruned_ns`."""
    views = recording.views(window)
    is_coarse = min_share >= FINENESS * TRUNK_SHARE
    if len(views) >= MANY_VIEWS and filter == EVERYTHING and is_coarse:
        return _of_many(recording, views, window, min_share)
    parts: list[tuple[TreeIndex, I64]] = []
    samples = 0
    for view in views:
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


def _of_many(
    recording: Recording, views: Sequence[SegmentView], window: Window, min_share: float
) -> FlameTree:
    """Of hours: segments that lie in the window as a whole by their thick branches alone."""
    whole: list[tuple[Segment, int]] = []
    table = FrameTable()
    parts: list[Branches] = []
    samples = 0
    for view in views:
        run = _whole_run(view, window)
        if isinstance(view, Segment) and run is not None:
            whole.append((view, run.weight_ns))
            continue
        with recording.sparing(view):
            own, count = node_weights(view, window, EVERYTHING)
            if count:
                index = view.tree()
                parts.append(branches_of(index.tree, own, index.level_starts, table))
                samples += count
    trunk = _trunk(recording, whole)
    parts.append(trunk.numbered(table))
    samples += trunk.samples
    return flame_tree(joined(parts), table.frames(), window, samples, min_share, trunk.pruned_ns)


def _trunk(recording: Recording, segments: Sequence[tuple[Segment, int]]) -> Trunk:
    """Of all these with their weights, put together once."""

    def make() -> Trunk:
        trunks: list[Trunk] = []
        for segment, weight_ns in segments:
            with recording.sparing(segment):
                trunks.append(segment.trunk().weighted(weight_ns))
        return one_trunk(trunks)

    keys = tuple((segment.key, weight_ns) for segment, weight_ns in segments)
    return recording.kept(("trunk", keys), make, lambda trunk: trunk.nbytes)


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
    by_thread = wanted.comms or wanted.pids or wanted.tids or wanted.cgroups
    by_owner = wanted.units or wanted.containers or wanted.pods
    run = _whole_run(view, window)
    if run is None or wanted.cores or by_thread or by_owner:
        return None
    counts = view.stack_counts()
    if (nodes := node_mask(view, wanted)) is not None:
        counts = np.where(nodes, counts, 0)
    return counts * run.weight_ns, int(counts.sum())


def _whole_run(view: SegmentView, window: Window) -> Run | None:
    """The run that is all of the view; None where only part is wanted, or the rate changed."""
    found = runs(view, window)
    if len(found) != 1 or found[0].start_ns > view.start_ns or found[0].end_ns < view.end_ns:
        return None
    return found[0]
