"""The prefix tree of names, grown in C as stacks come."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.model.arrays import I8, I64, U8, U32, Bool
from exhume.model.stack import Frame, StackTree
from exhume.perf.joins import library
from exhume.perf.paths import Paths

_NODE = np.dtype([(name, np.uint32) for name in ("frame", "parent", "depth", "last_child")])
"""As xh_node in paths.c."""


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


class NamedPlaces(Struct, frozen=True):
    """What is known of each place of some paths."""

    frame: U32
    mode: I8
    """That its frame speaks for; -1 where it says nothing."""
    is_nameless: Bool
    """Of a run of nameless addresses the first stands for all."""


class _Named(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("frame", "mode", "nameless", "kind")]


class TreeBuilder:
    """The tree of names. Nodes get numbers as they come; `finish` renumbers them breadth first."""

    def __init__(self) -> None:
        self._tree = _Tree()

    def __len__(self) -> int:
        return len(self._tree)

    def children(self, parent: I64, frame: I64) -> I64:
        """The child of each node for that frame, made if need be."""
        parents = np.ascontiguousarray(parent, np.uint32)
        frames = np.ascontiguousarray(frame, np.uint32)
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
        self, paths: Paths, named: NamedPlaces, top: I64, process: I64, path: I64
    ) -> tuple[U32, U8]:
        """The node and the mode of stacks that go by `path`, below `top[process]`.

        Whatever leads to the same names is one node. Rows of one process should come together.
        """
        tops, processes, which = (
            np.ascontiguousarray(column, np.uint32) for column in (top, process, path)
        )
        facts = (
            np.ascontiguousarray(named.frame, np.uint32),
            np.ascontiguousarray(named.mode, np.int8),
            np.ascontiguousarray(named.is_nameless, np.uint8),
            np.ascontiguousarray(paths.places.kind, np.uint8),
        )
        if min(len(fact) for fact in facts) < len(paths.places):
            raise ValueError("not all places are named")
        if len(which) and (
            int(processes.max()) >= len(tops)
            or int(which.max()) >= len(paths)
            or int(tops.max()) >= len(self)
        ):
            raise ValueError("a process, path or node that there is not")
        ends, modes = np.empty(len(which), np.uint32), np.empty(len(which), np.uint8)
        known = _Named(*(fact.ctypes.data for fact in facts))
        if not self._tree.library.xh_tree_join(
            self._tree.handle, paths.steps.ctypes.data, paths.start.ctypes.data,
            paths.length.ctypes.data, ctypes.addressof(known), tops.ctypes.data,
            processes.ctypes.data, which.ctypes.data, len(which), ends.ctypes.data,
            modes.ctypes.data,
        ):  # fmt: skip
            raise MemoryError("no memory for the tree of names")
        return ends, modes

    def add(self, frames: I64, starts: I64, lengths: I64, below: I64) -> I64:
        """Insert paths frames[starts[i] : starts[i] + lengths[i]] below nodes. Where they end."""
        node = below.copy()
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
            frame=nodes["frame"][order].astype(np.int32),
            mode=mode,
            frames=tuple(frames),
        )
        return tree, renumbered
