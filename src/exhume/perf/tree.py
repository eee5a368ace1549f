"""Prefix trees, grown in C: of addresses, as stacks come, and of the names they stand for."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.model.arrays import I8, I32, I64, U8, U16, U32, U64, Bool
from exhume.model.stack import Frame, StackTree
from exhume.perf.joins import library

_NODE = np.dtype(
    [
        ("address", np.uint64),
        ("parent", np.uint32),
        ("space", np.int32),
        ("depth", np.uint16),
        ("kind", np.uint8),
    ],
    align=True,
)
"""As xh_node in joins.c."""
_FAILED = 0xFFFF_FFFF


class NodeKind(IntEnum):
    """As in joins.c."""

    ROOT = 0
    SPACE = 1
    USER = 2
    KERNEL = 3


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

    def __len__(self) -> int:
        return int(self.library.xh_tree_count(self.handle))

    def nodes(self) -> NDArray[Any]:
        """Not a copy: good until the tree grows."""
        where = self.library.xh_tree_nodes(self.handle)
        memory = (ctypes.c_uint8 * (len(self) * _NODE.itemsize)).from_address(where)
        memory.owner = self  # type: ignore[attr-defined]
        nodes: NDArray[Any] = np.frombuffer(memoryview(memory), _NODE)
        return nodes


class Places(Struct, frozen=True):
    """The distinct places of code in a tree of addresses; number 0 is none."""

    of_node: U32
    kind: U8
    space: I32
    """The address space that a user address is of."""
    address: U64


class AddressTree:
    """Stacks of addresses, root first; a parent comes before its children."""

    def __init__(self, tree: _Tree, ends: U32) -> None:
        self.tree = tree
        self._nodes = tree.nodes()
        self.ends = ends
        """Of each stack given, the node of its leaf; 0 (the root) for an empty one."""

    @property
    def parent(self) -> U32:
        return self._column("parent")

    @property
    def address(self) -> U64:
        """Return addresses already one byte earlier, so that they lie in the calling function."""
        return self._column("address")

    @property
    def space(self) -> I32:
        return self._column("space")

    @property
    def depth(self) -> U16:
        return self._column("depth")

    @property
    def kind(self) -> U8:
        return self._column("kind")

    def _column(self, name: str) -> NDArray[Any]:
        return self._nodes[name]

    def places(self) -> Places:
        of_node, first = (np.empty(len(self._nodes), np.uint32) for _ in range(2))
        count = self.tree.library.xh_tree_places(
            self.tree.handle, of_node.ctypes.data, first.ctypes.data
        )
        if count == _FAILED:
            raise MemoryError("no memory for the places of a tree of stacks")
        nodes = self._nodes[first[:count]]
        return Places(of_node, nodes["kind"], nodes["space"], nodes["address"])


def address_tree(words: Sequence[U64], start: I64, count: I64, space: I64) -> AddressTree:
    """Stack i is words[start[i] : start[i] + count[i]], leaf first, with perf's context markers.

    The words may come in parts: `start` counts through them all, and no stack is in two.
    """
    tree = _Tree()
    ends = np.empty(len(start), np.uint32)
    borders = np.cumsum([0, *map(len, words)])
    part_of = np.searchsorted(borders[1:-1], start, "right")
    for number, part in enumerate(words or [np.empty(0, np.uint64)]):
        rows = np.flatnonzero(part_of == number)
        ends[rows] = _added(tree, part, start[rows] - borders[number], count[rows], space[rows])
    return AddressTree(tree, ends)


def _added(tree: _Tree, words: U64, start: I64, count: I64, space: I64) -> U32:
    columns = [np.ascontiguousarray(column, np.int64) for column in (start, count, space)]
    words = np.ascontiguousarray(words, np.uint64)
    if len(start) and (
        min(int(columns[0].min()), int(columns[1].min())) < 0
        or (columns[0] > len(words) - columns[1]).any()
    ):
        raise ValueError("a stack reaches beyond the words")
    ends = np.empty(len(start), np.uint32)
    pointers = [column.ctypes.data for column in columns]
    if not tree.library.xh_tree_add(
        tree.handle, words.ctypes.data, *pointers, len(start), ends.ctypes.data
    ):
        raise MemoryError("no memory for a tree of stacks")
    return ends


class NamedPlaces(Struct, frozen=True):
    """What is known of each place of a tree of addresses."""

    frame: U32
    mode: I8
    """That its frame speaks for; -1 where it says nothing."""
    is_nameless: Bool
    """Of a run of nameless addresses the first stands for all."""


class _Named(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("frame", "mode", "nameless")]


class TreeBuilder:
    """The tree of names. Nodes get numbers as they come; `finish` renumbers them breadth first."""

    def __init__(self) -> None:
        self._tree = _Tree()

    def __len__(self) -> int:
        return len(self._tree)

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

    def join(
        self, stacks: AddressTree, places: Places, named: NamedPlaces,
        top: I64, process: I64, node: I64,
    ) -> tuple[U32, U8]:  # fmt: skip
        """The node and the mode of stacks that end at `node` of addresses, below `top[process]`.

        Whatever leads to the same names is one node. Rows of one process should come together.
        """
        held = [np.ascontiguousarray(column, np.uint32) for column in (top, process, node)]
        frame = np.ascontiguousarray(named.frame, np.uint32)
        mode = np.ascontiguousarray(named.mode, np.int8)
        nameless = np.ascontiguousarray(named.is_nameless, np.uint8)
        if min(len(frame), len(mode), len(nameless)) < len(places.kind):
            raise ValueError("not all places are named")
        if len(process) and (
            int(held[1].max()) >= len(held[0]) or int(held[2].max()) >= len(stacks.tree)
        ):
            raise ValueError("a process or node that there is not")
        ends, modes = np.empty(len(held[2]), np.uint32), np.empty(len(held[2]), np.uint8)
        facts = _Named(frame.ctypes.data, mode.ctypes.data, nameless.ctypes.data)
        if not self._tree.library.xh_tree_join(
            stacks.tree.handle, places.of_node.ctypes.data, ctypes.addressof(facts),
            self._tree.handle, *(column.ctypes.data for column in held), len(ends),
            ends.ctypes.data, modes.ctypes.data,
        ):  # fmt: skip
            raise MemoryError("no memory for the tree of names")
        return ends, modes

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
        order = np.argsort(nodes["depth"], kind="stable")
        renumbered = np.empty(len(order), np.int64)
        renumbered[order] = np.arange(len(order))
        parent = renumbered[nodes["parent"][order]]
        parent[0] = -1
        mode = np.zeros(len(order), np.uint8)
        mode[renumbered[ends]] = modes
        tree = StackTree(
            parent=parent.astype(np.int32),
            frame=nodes["address"][order].astype(np.int32),
            mode=mode,
            frames=tuple(frames),
        )
        return tree, renumbered
