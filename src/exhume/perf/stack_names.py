"""Trees of addresses → the one tree of names that a segment keeps.

Names are looked up once a node of the tree of addresses. The two trees are then joined level by
level: whatever leads to the same names, with the same process name on top, is one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from exhume.derive.kernel_frames import kernel_mode
from exhume.model.arrays import I64, U8, U64, Bool
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.asof import UNKNOWN
from exhume.perf.history import History
from exhume.perf.symbolize import Symbolizer
from exhume.perf.tree import AddressTree, NodeKind, TreeBuilder

LOST = -1
"""Instead of a node: the stack is not known (its frame of the log was damaged)."""


@dataclass(frozen=True, slots=True)
class MappedCode:
    """Where to look for the names of a mapped file's code."""

    key: str
    path: str


class StackNamer:
    def __init__(
        self, history: History, symbolizer: Symbolizer, files: Mapping[int, MappedCode]
    ) -> None:
        self._history = history
        self._symbols = symbolizer
        self._files = files
        self._tree = TreeBuilder()
        self._ends: list[I64] = []
        self._modes: list[U8] = []
        self._said: I64 = np.empty(0, np.int64)
        """The mode that each frame so far speaks for; -1 where it does not."""

    def add(self, tree: AddressTree, comm: I64, node: I64, text: Callable[[int], str]) -> I64:
        """For each distinct (process name, node of addresses) the node of the tree of names.

        `text` gives the process name of a number in `comm`.
        """
        frame = self._frames(tree)
        is_folded = self._folded(tree, frame)
        modes = self._node_modes(tree, frame)
        ends = self._join(tree, frame, is_folded, comm, node, text)
        lost = node == LOST
        lost_frames = np.full(int(lost.sum()), self._symbols.lost_stack, np.int64)
        ends[lost] = self._tree.children(ends[lost], lost_frames)
        self._ends.append(ends)
        self._modes.append(np.where(lost, Mode.SYSTEM, modes[np.maximum(node, 0)]).astype(np.uint8))
        return ends

    def finish(self) -> tuple[StackTree, I64]:
        """The tree, and each node's new number."""
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        modes = np.concatenate([np.empty(0, np.uint8), *self._modes])
        return self._tree.finish(self._symbols.frames.frames, ends, modes)

    def _frames(self, tree: AddressTree) -> I64:
        frame = np.full(len(tree.parent), self._symbols.unknown, np.int64)
        is_kernel, is_user = tree.kind == NodeKind.KERNEL, tree.kind == NodeKind.USER
        frame[is_kernel] = self._symbols.kernel(tree.address[is_kernel])
        space = tree.space[is_user].astype(np.int64)
        frame[is_user] = self._user_frames(space, tree.address[is_user])
        return frame

    def _user_frames(self, space: I64, address: U64) -> I64:
        frame = np.full(len(address), self._symbols.unknown, np.int64)
        if not len(address):
            return frame
        file, offset = self._history.mapping(space, address)
        order = np.argsort(file, kind="stable")
        hashes, first = np.unique(file[order], return_index=True)
        for hash_, rows in zip(hashes.tolist(), np.split(order, first[1:]), strict=True):
            code = self._files.get(hash_)
            if code is None:
                continue
            if code.key:
                frame[rows] = self._symbols.user(code.key, code.path, offset[rows])
                continue
            # Code without a file (a JIT's): its map is the process's own, by absolute address.
            for one in np.unique(space[rows]).tolist():
                some = rows[space[rows] == one]
                pid = self._history.space_pid.get(one, UNKNOWN)
                frame[some] = self._symbols.user(f"jit-{pid}", code.path or "[anon]", address[some])
        return frame

    def _folded(self, tree: AddressTree, frame: I64) -> Bool:
        """Nodes that add nothing: spaces, and all but the first of a run of nameless addresses."""
        is_garbage = (frame == self._symbols.unknown) | (frame == self._symbols.unknown_kernel)
        is_garbage &= (tree.kind == NodeKind.USER) | (tree.kind == NodeKind.KERNEL)
        repeats: Bool = is_garbage & is_garbage[tree.parent] & (frame == frame[tree.parent])
        repeats |= tree.kind == NodeKind.SPACE
        return repeats

    def _node_modes(self, tree: AddressTree, frame: I64) -> U8:
        """User where the leaf is user code; else what the innermost telling kernel frame says."""
        fresh = [kernel_mode(one) for one in self._symbols.frames.frames[len(self._said) :]]
        new = np.array([-1 if mode is None else int(mode) for mode in fresh], np.int64)
        self._said = np.concatenate([self._said, new])
        said = self._said[frame]
        said[tree.kind != NodeKind.KERNEL] = -1
        for rows in _levels(tree):
            silent = rows[said[rows] < 0]
            said[silent] = said[tree.parent[silent]]
        modes = np.where(said >= 0, said, Mode.SYSTEM)
        return np.where(tree.kind == NodeKind.USER, Mode.USER, modes).astype(np.uint8)

    def _join(
        self, tree: AddressTree, frame: I64, is_folded: Bool, comm: I64, node: I64,
        text: Callable[[int], str],
    ) -> I64:  # fmt: skip
        """Level by level: the pairs (process name, node) that lead to those asked for, top down."""
        comms, comm_index = np.unique(comm, return_inverse=True)
        size = len(tree.parent)
        asked = comm_index * size + np.maximum(node, 0)
        depth = tree.depth[np.maximum(node, 0)]
        levels: list[I64] = [np.empty(0, np.int64)] * (int(depth.max(initial=0)) + 1)
        above = np.empty(0, np.int64)
        for level in range(len(levels) - 1, -1, -1):
            pairs = np.unique(np.concatenate([asked[depth == level], above]))
            levels[level] = pairs
            above = pairs - pairs % size + tree.parent[pairs % size]
        names = [Frame(text(number), "", FrameKind.PROCESS) for number in comms.tolist()]
        top = self._tree.children(
            np.zeros(len(comms), np.int64), self._symbols.frames.numbers(names)
        )
        ends = np.empty(len(asked), np.int64)
        before, named_before = levels[0], top[levels[0] // size]
        ends[depth == 0] = top[comm_index[depth == 0]]
        for level in range(1, len(levels)):
            pairs = levels[level]
            nodes = pairs % size
            parents = pairs - nodes + tree.parent[nodes]
            named = named_before[np.searchsorted(before, parents)]
            grows = ~is_folded[nodes]
            named[grows] = self._tree.children(named[grows], frame[nodes[grows]])
            here = depth == level
            ends[here] = named[np.searchsorted(pairs, asked[here])]
            before, named_before = pairs, named
        return ends


def _levels(tree: AddressTree) -> list[I64]:
    """The nodes of each depth below the root."""
    order = np.argsort(tree.depth, kind="stable")
    edges = np.searchsorted(tree.depth[order], np.arange(1, int(tree.depth.max(initial=0)) + 2))
    return [order[a:b] for a, b in pairwise(edges)]
