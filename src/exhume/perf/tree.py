"""Grows the prefix tree of stacks, many paths at a time, level by level."""

from __future__ import annotations

import numpy as np

from exhume.model.arrays import I64, U8
from exhume.model.stack import Frame, StackTree

_FRAME_BITS = 32


class TreeBuilder:
    """Nodes get numbers as they come; `finish` renumbers them breadth first."""

    def __init__(self) -> None:
        self._parent: list[I64] = [np.array([-1], np.int64)]
        self._frame: list[I64] = [np.array([0], np.int64)]
        self._depth: list[I64] = [np.array([0], np.int64)]
        self._count = 1
        # Sorted (parent << 32 | frame) and the node each leads to.
        self._keys: I64 = np.empty(0, np.int64)
        self._nodes: I64 = np.empty(0, np.int64)

    def add(self, frames: I64, starts: I64, lengths: I64) -> I64:
        """Insert paths, root first: frames[starts[i] : starts[i] + lengths[i]]. Their ends."""
        node = np.zeros(len(starts), np.int64)
        for level in range(int(lengths.max(initial=0))):
            active = np.flatnonzero(lengths > level)
            key = (node[active] << _FRAME_BITS) | frames[starts[active] + level]
            node[active] = self._children(key, level + 1)
        return node

    def _children(self, key: I64, depth: int) -> I64:
        unique, inverse = np.unique(key, return_inverse=True)
        at = np.searchsorted(self._keys, unique)
        known = np.zeros(len(unique), np.bool_)
        inside = at < len(self._keys)
        known[inside] = self._keys[at[inside]] == unique[inside]
        nodes = np.empty(len(unique), np.int64)
        nodes[known] = self._nodes[at[known]]
        fresh = unique[~known]
        if len(fresh):
            nodes[~known] = np.arange(self._count, self._count + len(fresh))
            self._count += len(fresh)
            self._parent.append(fresh >> _FRAME_BITS)
            self._frame.append(fresh & ((1 << _FRAME_BITS) - 1))
            self._depth.append(np.full(len(fresh), depth, np.int64))
            self._keys = np.insert(self._keys, at[~known], fresh)
            self._nodes = np.insert(self._nodes, at[~known], nodes[~known])
        return nodes[inverse]

    def finish(self, frames: list[Frame], ends: I64, modes: U8) -> tuple[StackTree, I64]:
        """The tree, and each node's new number; `modes[i]` is of stacks ending at `ends[i]`."""
        depth = np.concatenate(self._depth)
        order = np.argsort(depth, kind="stable")
        renumbered = np.empty(len(order), np.int64)
        renumbered[order] = np.arange(len(order))
        parent = np.concatenate(self._parent)[order]
        parent[1:] = renumbered[parent[1:]]
        mode = np.zeros(len(order), np.uint8)
        mode[renumbered[ends]] = modes
        tree = StackTree(
            parent=parent.astype(np.int32),
            frame=np.concatenate(self._frame)[order].astype(np.int32),
            mode=mode,
            frames=tuple(frames),
        )
        return tree, renumbered
