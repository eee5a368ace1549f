"""The prefix tree of names, grown in C as stacks come."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.model.arrays import I8, I64, U8
from exhume.model.stack import Frame, StackTree
from exhume.perf.chains import Chains
from exhume.perf.joins import MOST_ROWS, library
from exhume.perf.places import Places

_NODE = np.dtype([(name, np.uint32) for name in ("frame", "parent", "depth", "last_child")])
"""As xh_node in stacks.c."""
_MAP_COLUMNS = ("space", "start", "end", "offset", "code")


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
        return self._memory(self.library.xh_tree_nodes(self.handle), _NODE)

    def modes(self) -> U8:
        return self._memory(self.library.xh_tree_modes(self.handle), np.dtype(np.uint8))

    def _memory(self, where: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """A value a node. Not a copy: good until the tree grows."""
        memory = (ctypes.c_uint8 * (len(self) * dtype.itemsize)).from_address(where)
        memory.owner = self  # type: ignore[attr-defined]
        values: NDArray[Any] = np.frombuffer(memoryview(memory), dtype)
        return values


class CodeMaps(Struct, frozen=True):
    """What is mapped where in which address space, in any order."""

    space: I64
    start: I64
    end: I64
    offset: I64
    """Of its start, in the code that it is of."""
    code: I64
    """A number of the caller's; below 0 where it has no names."""


class CodeNames(Struct, frozen=True):
    """What is known of code."""

    places: Places
    mode: I8
    """By frame: what it speaks for, -1 where it says nothing."""
    kernel: int
    """The kernel as code: its offsets are addresses."""
    unknown: int
    unknown_kernel: int
    no_file: int
    """Nameless frames: of a run of one the first stands for all."""
    others: tuple[int, ...] = (0, 0, 0, 0)
    """By mode: instead of stacks that the tree has no room for."""


class _Maps(ctypes.Structure):
    """As xh_maps."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in _MAP_COLUMNS),
        ("count", ctypes.c_uint32),
    ]


class _Names(ctypes.Structure):
    """As xh_names."""

    _fields_ = [
        ("places", ctypes.c_void_p),
        ("kernel", ctypes.c_int64),
        ("mode", ctypes.c_void_p),
        ("unknown", ctypes.c_uint32),
        ("unknown_kernel", ctypes.c_uint32),
        ("no_file", ctypes.c_uint32),
        ("most_nodes", ctypes.c_uint32),
        ("others", ctypes.c_uint32 * 4),
        ("most_places", ctypes.c_uint32),
    ]


class _Chains(ctypes.Structure):
    """As xh_chains."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("words", "count")]


class _Seen(ctypes.Structure):
    """As xh_seen."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("process", "space", "stack")),
        ("count", ctypes.c_uint64),
    ]


class TreeBuilder:
    """The tree of names. Nodes get numbers as they come; `finish` renumbers them breadth first."""

    def __init__(self, most: int | None = None) -> None:
        """`most`: so many nodes, and as many again of stacks that `name` has cut short."""
        self._tree = _Tree()
        self._most = most

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def is_full(self) -> bool:
        return self._most is not None and len(self) >= self._most

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

    def name(
        self,
        chains: Chains,
        maps: CodeMaps,
        names: CodeNames,
        top: I64,
        rows: tuple[I64, I64, I64],
        most_places: int = MOST_ROWS,
    ) -> I64:
        """Of rows of a process, its address space and a stack: the node below `top[process]`.

        0, the root, where the stack has a place without a frame: it is among the places from then
        on, and who gives it one may ask again. Whatever leads to the same names is one node. Where
        there are `most_places`, what comes then is not answered.
        """
        tops, process = (np.ascontiguousarray(one, np.uint32) for one in (top, rows[0]))
        space, stack = (np.ascontiguousarray(one, np.int64) for one in rows[1:])
        if len(process) and (
            int(process.max()) >= len(tops)
            or int(tops.max()) >= len(self)
            or int(stack.min()) < 0
            or int(stack.max()) >= len(chains)
        ):
            raise ValueError("a process, stack or node that there is not")
        mode = np.ascontiguousarray(names.mode, np.int8)
        nameless = names.unknown, names.unknown_kernel, names.no_file
        if max(names.places.last_frame, *nameless, *names.others) >= len(mode):
            raise ValueError("not all frames are told of")
        columns = [np.ascontiguousarray(getattr(maps, name), np.int64) for name in _MAP_COLUMNS]
        where = [column.ctypes.data for column in columns]
        facts = (
            _Names(
                names.places.handle, names.kernel, mode.ctypes.data, *nameless,
                MOST_ROWS if self._most is None else self._most, names.others, most_places,
            ),
            _Maps(*where, len(columns[0])),
            _Chains(chains.at.ctypes.data, chains.count.ctypes.data),
        )  # fmt: skip
        seen = _Seen(process.ctypes.data, space.ctypes.data, stack.ctypes.data, len(process))
        found = np.empty(len(process), np.uint32)
        done = self._tree.library.xh_tree_name(
            self._tree.handle,
            *map(ctypes.addressof, facts),
            tops.ctypes.data,
            ctypes.addressof(seen),
            found.ctypes.data,
        )
        if done < 0:
            raise MemoryError("no memory for the tree of names")
        return found[:done].astype(np.int64)

    @property
    def modes(self) -> U8:
        """Of each node: what a core did whose stack ends there. Good until the tree grows."""
        return self._tree.modes()

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
