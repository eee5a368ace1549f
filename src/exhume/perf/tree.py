"""Prefix trees, grown in C: of addresses, as stacks come, and of the names they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from exhume.model.arrays import I32, I64, U8, U16, U32, U64
from exhume.model.stack import Frame, StackTree
from exhume.perf.native import library


class NodeKind(IntEnum):
    """As in native.c."""

    ROOT = 0
    SPACE = 1
    USER = 2
    KERNEL = 3


@dataclass(frozen=True, slots=True)
class _Nodes:
    parent: U32
    address: U64
    space: I32
    depth: U16
    kind: U8


class _Tree:
    """Owns the memory on the C side."""

    def __init__(self) -> None:
        self.library = library()
        self.handle = self.library.xh_tree_new()
        if not self.handle:
            raise MemoryError("no memory for a tree of stacks")

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.xh_tree_free(self.handle)

    def nodes(self) -> _Nodes:
        size = int(self.library.xh_tree_count(self.handle))
        parent, address = np.empty(size, np.uint32), np.empty(size, np.uint64)
        space, depth = np.empty(size, np.int32), np.empty(size, np.uint16)
        kind = np.empty(size, np.uint8)
        arrays = (parent, address, space, depth, kind)
        self.library.xh_tree_copy(self.handle, *(array.ctypes.data for array in arrays))
        return _Nodes(parent, address, space, depth, kind)


@dataclass(frozen=True, slots=True)
class AddressTree:
    """Stacks of addresses, root first; a parent comes before its children."""

    parent: U32
    address: U64
    """Return addresses already one byte earlier, so that they lie in the function that called."""
    space: I32
    """The address space that a user address is of."""
    depth: U16
    kind: U8
    ends: U32
    """Of each stack given, the node of its leaf; 0 (the root) for an empty one."""


def address_tree(words: U64, start: I64, count: I64, space: I64) -> AddressTree:
    """Stack i is words[start[i] : start[i] + count[i]], leaf first, with perf's context markers."""
    columns = [np.ascontiguousarray(column, np.int64) for column in (start, count, space)]
    words = np.ascontiguousarray(words, np.uint64)
    if len(start) and (
        min(int(columns[0].min()), int(columns[1].min())) < 0
        or (columns[0] > len(words) - columns[1]).any()
    ):
        raise ValueError("a stack reaches beyond the words")
    tree = _Tree()
    ends = np.empty(len(start), np.uint32)
    pointers = [column.ctypes.data for column in columns]
    if not tree.library.xh_tree_add(
        tree.handle, words.ctypes.data, *pointers, len(start), ends.ctypes.data
    ):
        raise MemoryError("no memory for a tree of stacks")
    nodes = tree.nodes()
    return AddressTree(nodes.parent, nodes.address, nodes.space, nodes.depth, nodes.kind, ends)


class TreeBuilder:
    """The tree of names. Nodes get numbers as they come; `finish` renumbers them breadth first."""

    def __init__(self) -> None:
        self._tree = _Tree()

    def children(self, parent: I64, frame: I64) -> I64:
        """The child of each node for that frame, made if need be."""
        parents = np.ascontiguousarray(parent, np.uint32)
        frames = np.ascontiguousarray(frame, np.uint64)
        found = np.empty(len(parents), np.uint32)
        if not self._tree.library.xh_tree_children(
            self._tree.handle,
            parents.ctypes.data,
            frames.ctypes.data,
            len(parents),
            found.ctypes.data,
        ):
            raise MemoryError("no memory for the tree of names")
        return found.astype(np.int64)

    def add(self, frames: I64, starts: I64, lengths: I64) -> I64:
        """Insert paths, root first: frames[starts[i] : starts[i] + lengths[i]]. Their ends."""
        node = np.zeros(len(starts), np.int64)
        for level in range(int(lengths.max(initial=0))):
            active = np.flatnonzero(lengths > level)
            node[active] = self.children(node[active], frames[starts[active] + level])
        return node

    def finish(self, frames: list[Frame], ends: I64, modes: U8) -> tuple[StackTree, I64]:
        """The tree, and each node's new number; `modes[i]` is of stacks ending at `ends[i]`."""
        nodes = self._tree.nodes()
        order = np.argsort(nodes.depth, kind="stable")
        renumbered = np.empty(len(order), np.int64)
        renumbered[order] = np.arange(len(order))
        parent = renumbered[nodes.parent[order]]
        parent[0] = -1
        mode = np.zeros(len(order), np.uint8)
        mode[renumbered[ends]] = modes
        tree = StackTree(
            parent=parent.astype(np.int32),
            frame=nodes.address[order].astype(np.int32),
            mode=mode,
            frames=tuple(frames),
        )
        return tree, renumbered
