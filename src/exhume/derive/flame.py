"""Flame trees: made of weighted stack trees, put together across segments, thinned out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from exhume.derive.stacks import level_starts, outermost, sum_up
from exhume.model.answers import FlameTree
from exhume.model.arrays import I32, I64, Bool
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.model.window import Window

EMPTY = Frame("", "", FrameKind.UNKNOWN)
"""The frame of the root."""
FrameKey = tuple[str, str, int]
"""Name, module and kind: hashed many times quicker than a `Frame`."""
_KINDS = {kind.value: kind for kind in FrameKind}


class Branches(Struct, frozen=True):
    """A tree in the making: breadth-first, frames as numbers of a common table."""

    parent: I32
    frame: I32
    total_ns: I64
    self_ns: I64


class FrameTable:
    """Frames of many trees as one numbering, equal ones (name, module, kind) as one."""

    def __init__(self) -> None:
        self._numbers: dict[FrameKey, int] = {}

    def numbers(self, frames: Sequence[Frame], used: I32) -> I32:
        """The common number of each of `used`, which index `frames`."""
        distinct, place = np.unique(used, return_inverse=True)
        found = [frames[index] for index in distinct]
        keys = [(frame.name, frame.module, frame.kind.value) for frame in found]
        return self.numbers_of(keys)[place]

    def numbers_of(self, keys: Iterable[FrameKey]) -> I32:
        known = self._numbers
        return np.array([known.setdefault(key, len(known)) for key in keys], np.int32)

    def __len__(self) -> int:
        return len(self._numbers)

    def frames(self) -> tuple[Frame, ...]:
        return tuple(Frame(name, module, _KINDS[kind]) for name, module, kind in self._numbers)

    def keys(self) -> tuple[FrameKey, ...]:
        return tuple(self._numbers)


def branches_of(
    tree: StackTree, own_ns: I64, starts: list[int], table: FrameTable | None
) -> Branches:
    """Only the nodes that hold any time. Without a table frames keep the tree's own numbers."""
    total = sum_up(tree.parent, own_ns, starts)
    keep = total > 0
    keep[:1] = True
    parent = _renumbered(tree.parent, keep)
    frame = tree.frame[keep]
    if table is not None:
        frame = table.numbers(tree.frames, frame)
    return Branches(parent, frame, total[keep], own_ns[keep])


def by_frame(branches: Branches, frames: int) -> tuple[I64, I64]:
    """Inclusive and own time of each of so many frames of the table; recursion counts once."""
    first = outermost(branches.parent, branches.frame)
    first[0] = False  # the root is nobody's frame
    inclusive = np.bincount(branches.frame[first], branches.total_ns[first], frames)
    own = np.bincount(branches.frame[1:], branches.self_ns[1:], frames)
    return inclusive.astype(np.int64), own.astype(np.int64)


def joined(parts: Sequence[Branches]) -> Branches:
    """Level by level: nodes with the same parent and frame become one."""
    if not parts:
        zero = np.zeros(1, np.int64)
        return Branches(np.array([-1], np.int32), np.zeros(1, np.int32), zero, zero)
    frames = 1 + max(int(part.frame.max(initial=0)) for part in parts)
    starts = [level_starts(part.parent) for part in parts]
    place = [np.zeros(len(part.parent), np.int64) for part in parts]
    root = (np.array([-1], np.int64), parts[0].frame[:1].astype(np.int64))
    parents, names = [root[0]], [root[1]]
    totals = [np.array([sum(int(p.total_ns[0]) for p in parts)], np.int64)]
    selfs = [np.array([sum(int(p.self_ns[0]) for p in parts)], np.int64)]
    count = 1
    for level in range(1, max(len(s) for s in starts) - 1):
        here = [
            (part, slice(s[level], s[level + 1]), at)
            for part, s, at in zip(parts, starts, place, strict=True)
            if level + 1 < len(s)
        ]
        keys = [at[part.parent[rows]] * frames + part.frame[rows] for part, rows, at in here]
        distinct, number = np.unique(np.concatenate(keys), return_inverse=True)
        begin = 0
        for (_, rows, at), key in zip(here, keys, strict=True):
            at[rows] = count + number[begin : begin + len(key)]
            begin += len(key)
        total = np.concatenate([part.total_ns[rows] for part, rows, _ in here])
        own = np.concatenate([part.self_ns[rows] for part, rows, _ in here])
        totals.append(np.bincount(number, total, len(distinct)).astype(np.int64))
        selfs.append(np.bincount(number, own, len(distinct)).astype(np.int64))
        parents.append(distinct // frames)
        names.append(distinct % frames)
        count += len(distinct)
    return Branches(
        np.concatenate(parents).astype(np.int32),
        np.concatenate(names).astype(np.int32),
        np.concatenate(totals),
        np.concatenate(selfs),
    )


def flame_tree(
    branches: Branches,
    frames: Sequence[Frame],
    window: Window,
    samples: int,
    min_share: float,
    already_pruned_ns: int = 0,
) -> FlameTree:
    """`frames` is what the branches number. Branches under `min_share` of everything go; their time
    stays in their ancestors' total."""
    kept, pruned = thick(branches, min_share)
    return FlameTree(
        window,
        kept.parent,
        (EMPTY, *(frames[number] for number in kept.frame.tolist()[1:])),
        kept.total_ns,
        kept.self_ns,
        samples,
        already_pruned_ns + pruned,
    )


def thick(branches: Branches, min_share: float) -> tuple[Branches, int]:
    """Those with at least this share of everything, and what the others held."""
    total = branches.total_ns
    keep = total >= min_share * float(total[0])
    keep[0] = True
    cut = ~keep
    cut[cut] = keep[branches.parent[cut]]
    kept = Branches(
        _renumbered(branches.parent, keep),
        branches.frame[keep],
        total[keep],
        branches.self_ns[keep],
    )
    return kept, int(total[cut].sum())


def merge_trees(trees: Sequence[FlameTree]) -> FlameTree:
    """Many windows or nodes as one tree; what was pruned before stays pruned."""
    table = FrameTable()
    parts = [
        Branches(
            tree.parent,
            table.numbers(tree.frames, np.arange(len(tree.frames), dtype=np.int32)),
            tree.total_ns,
            tree.self_ns,
        )
        for tree in trees
    ]
    window = Window(
        min((tree.window.start_ns for tree in trees), default=0),
        max((tree.window.end_ns for tree in trees), default=0),
    )
    samples = sum(tree.samples for tree in trees)
    pruned = sum(tree.pruned_ns for tree in trees)
    return flame_tree(joined(parts), table.frames(), window, samples, 0.0, pruned)


def _renumbered(parent: I32, keep: Bool) -> I32:
    number = np.cumsum(keep, dtype=np.int32) - 1
    kept = parent[keep]
    return np.where(kept < 0, -1, number[kept]).astype(np.int32)
