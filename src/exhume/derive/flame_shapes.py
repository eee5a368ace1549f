"""Other shapes of a flame tree: without a frame, only a frame, its callers, its callees, against
another tree. Pure: trees in, trees out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from exhume.derive.flame import Branches, FrameTable, flame_tree, joined
from exhume.derive.kernel_frames import kernel_mode
from exhume.derive.stacks import level_starts, sum_up
from exhume.model.answers import FlameTree
from exhume.model.arrays import I32, I64, U8, Bool
from exhume.model.stack import Frame, FrameKind, Mode

PAINTS = ("process", "user", "kernel", "softirq", "irq", "unknown")
"""What a frame is drawn as. Below a frame that begins an interrupt everything is of it."""
_OF_KIND = {
    FrameKind.PROCESS: 0,
    FrameKind.USER: 1,
    FrameKind.KERNEL: 2,
    FrameKind.UNKNOWN: 5,
}


def paints(tree: FlameTree) -> U8:
    """Of each node, a number of PAINTS."""
    begins = {Mode.SOFTIRQ: 3, Mode.IRQ: 4}
    found = np.array([_OF_KIND[frame.kind] for frame in tree.frames], np.uint8)
    modes: dict[Frame, Mode | None] = {}
    for node, above in enumerate(tree.parent.tolist()):
        frame = tree.frames[node]
        if frame.kind not in (FrameKind.KERNEL, FrameKind.UNKNOWN) or above < 0:
            continue
        if frame not in modes:
            modes[frame] = kernel_mode(frame)
        mode = modes[frame]
        if mode is not None:
            found[node] = begins[mode]
        elif found[above] >= 3 and found[above] != 5:
            found[node] = found[above]
    return found


def thinned(tree: FlameTree, min_share: float) -> FlameTree:
    """Without branches under `min_share` of everything; their time stays in what calls them."""
    numbers, table = _numbered(tree)
    branches = Branches(tree.parent, numbers, tree.total_ns, tree.self_ns)
    return flame_tree(
        branches, table.frames(), tree.window, tree.samples, min_share, tree.pruned_ns
    )


def without(tree: FlameTree, name: str) -> FlameTree:
    """As if no stack with that frame had been sampled."""
    return _kept(tree, ~_at_or_below(tree, name))


def only(tree: FlameTree, name: str) -> FlameTree:
    """Only stacks that have the frame, from the process on."""
    return _kept(tree, _at_or_below(tree, name))


def collapsed(tree: FlameTree) -> FlameTree:
    """A frame that calls itself, directly, as one."""
    parent = tree.parent
    numbers, _ = _numbered(tree)
    keep = np.ones(len(parent), np.bool_)
    keep[1:] = numbers[1:] != numbers[parent[1:]]
    return _squeezed(tree, keep)


def callees(tree: FlameTree, name: str) -> FlameTree:
    """What the frame calls, wherever it is called from: all its outermost calls as one."""
    return _rooted(tree, name, _below)


def callers(tree: FlameTree, name: str) -> FlameTree:
    """Who calls the frame: below it its callers, the nearest first."""
    return _rooted(tree, name, _above)


def against(tree: FlameTree, other: FlameTree) -> tuple[FlameTree, I64, I64]:
    """Both as one tree: the times are the first's; then the other's total and own time by node."""
    table = FrameTable()
    first, second = _branches(tree, table), _branches(other, table)
    nothing = [_nothing(part) for part in (first, second)]
    # What `joined` makes of structure depends on parents and frames alone, so both fit.
    mine = joined([first, nothing[1]])
    theirs = joined([nothing[0], second])
    both = flame_tree(mine, table.frames(), tree.window, tree.samples, 0.0, tree.pruned_ns)
    return both, theirs.total_ns, theirs.self_ns


def _branches(tree: FlameTree, table: FrameTable) -> Branches:
    numbers = table.numbers(tree.frames, np.arange(len(tree.frames), dtype=np.int32))
    return Branches(tree.parent, numbers, tree.total_ns, tree.self_ns)


def _nothing(part: Branches) -> Branches:
    zero = np.zeros(len(part.parent), np.int64)
    return replace(part, total_ns=zero, self_ns=zero)


def _numbered(tree: FlameTree) -> tuple[I32, FrameTable]:
    table = FrameTable()
    return table.numbers(tree.frames, np.arange(len(tree.frames), dtype=np.int32)), table


def _named(tree: FlameTree, name: str) -> Bool:
    return np.array([frame.name == name for frame in tree.frames], np.bool_)


def _at_or_below(tree: FlameTree, name: str) -> Bool:
    found = _named(tree, name)
    for node, above in enumerate(tree.parent.tolist()):
        if above >= 0 and found[above]:
            found[node] = True
    return found


def _pruned_ns(tree: FlameTree) -> I64:
    """Of each node, what was cut off right below it."""
    parent = tree.parent
    inside = np.bincount(parent[1:], tree.total_ns[1:], len(parent)).astype(np.int64)
    return tree.total_ns - tree.self_ns - inside


def _kept(tree: FlameTree, keep: Bool) -> FlameTree:
    """The samples that end at these nodes; what was pruned below them goes with them."""
    own = np.where(keep, tree.self_ns, 0)
    thin = np.where(keep, _pruned_ns(tree), 0)
    return _summed(tree, own, thin)


def _summed(tree: FlameTree, own: I64, thin: I64) -> FlameTree:
    total = sum_up(tree.parent, own + thin, level_starts(tree.parent))
    numbers, table = _numbered(tree)
    alive = total > 0
    alive[0] = True
    place = np.cumsum(alive, dtype=np.int32) - 1
    kept = tree.parent[alive]
    parent = np.where(kept < 0, -1, place[kept]).astype(np.int32)
    branches = Branches(parent, numbers[alive], total[alive], own[alive])
    return flame_tree(branches, table.frames(), tree.window, tree.samples, 0.0, int(thin.sum()))


def _squeezed(tree: FlameTree, keep: Bool) -> FlameTree:
    """Nodes that are not kept give their time and their children to the nearest kept above."""
    nearest = np.arange(len(keep), dtype=np.int32)
    parents = tree.parent.tolist()
    for node, above in enumerate(parents):
        if not keep[node]:
            nearest[node] = nearest[above]
    numbers, table = _numbered(tree)
    paths = _Paths()
    for node, above in enumerate(parents):
        into = paths.root if above < 0 else paths.of[int(nearest[above])]
        paths.of[node] = (
            paths.child(into, int(numbers[node])) if keep[node] and above >= 0 else into
        )
        paths.add(paths.of[node], int(tree.self_ns[node]))
    thin = _pruned_ns(tree)
    for node in np.flatnonzero(thin).tolist():
        paths.add(paths.of[node], 0, int(thin[node]))
    return paths.tree(tree, table)


class _Paths:
    """A tree put together path by path, then in breadth-first order."""

    def __init__(self) -> None:
        self.root = 0
        self.of: dict[int, int] = {}
        self._children: dict[tuple[int, int], int] = {}
        self._parent, self._frame, self._depth = [-1], [-1], [0]
        self._own, self._thin = [0], [0]

    def child(self, node: int, frame: int) -> int:
        key = node, frame
        if key not in self._children:
            self._children[key] = len(self._parent)
            self._parent.append(node)
            self._frame.append(frame)
            self._depth.append(self._depth[node] + 1)
            self._own.append(0)
            self._thin.append(0)
        return self._children[key]

    def add(self, node: int, own_ns: int, thin_ns: int = 0) -> None:
        self._own[node] += own_ns
        self._thin[node] += thin_ns

    def tree(self, like: FlameTree, table: FrameTable) -> FlameTree:
        order = np.argsort(np.array(self._depth), kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        parent = np.array(self._parent, np.int32)[order]
        parent = np.where(parent < 0, -1, place[parent]).astype(np.int32)
        own = np.array(self._own, np.int64)[order]
        thin = np.array(self._thin, np.int64)[order]
        total = sum_up(parent, own + thin, level_starts(parent))
        frame = np.maximum(np.array(self._frame, np.int32)[order], 0)
        branches = Branches(parent, frame, total, own)
        return flame_tree(branches, table.frames(), like.window, like.samples, 0.0, int(thin.sum()))


_Grow = Callable[[FlameTree, I32, Bool, Bool, _Paths], None]


def _rooted(tree: FlameTree, name: str, grow: _Grow) -> FlameTree:
    named = _named(tree, name)
    numbers, table = _numbered(tree)
    paths = _Paths()
    inside = np.zeros(len(named), np.bool_)
    for node, above in enumerate(tree.parent.tolist()):
        inside[node] = above >= 0 and (inside[above] or named[above])
    outermost = named & ~inside
    grow(tree, numbers, outermost, inside | named, paths)
    return paths.tree(tree, table)


def _below(tree: FlameTree, numbers: I32, outermost: Bool, inside: Bool, paths: _Paths) -> None:
    thin = _pruned_ns(tree)
    for node, above in enumerate(tree.parent.tolist()):
        if outermost[node]:
            paths.of[node] = paths.child(paths.root, int(numbers[node]))
        elif inside[node]:
            paths.of[node] = paths.child(paths.of[above], int(numbers[node]))
        else:
            continue
        paths.add(paths.of[node], int(tree.self_ns[node]), int(thin[node]))


def _above(tree: FlameTree, numbers: I32, outermost: Bool, inside: Bool, paths: _Paths) -> None:
    del inside
    for node in np.flatnonzero(outermost).tolist():
        at, up = paths.root, node
        while up > 0:
            at = paths.child(at, int(numbers[up]))
            up = int(tree.parent[up])
        paths.add(at, int(tree.total_ns[node]))
