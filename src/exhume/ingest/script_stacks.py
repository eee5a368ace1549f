"""Texts of stacks → nodes of the tree of names, each (process name, text) once."""

from __future__ import annotations

import numpy as np

from exhume.derive.kernel_frames import is_idle_loop, kernel_mode
from exhume.model.arrays import I64, U8, Bool
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.distinct import distinct_rows
from exhume.perf.script import ScriptBlock
from exhume.perf.script_frames import (
    MAX_DEPTH,
    REMEMBERED_LINES,
    StackReader,
    frames_only,
    stack_mode,
)
from exhume.perf.symbolize import LOST_STACK_FRAME, UNKNOWN_KERNEL_FRAME, FrameTable
from exhume.perf.tree import TreeBuilder


class ScriptStacks:
    def __init__(self) -> None:
        self._frames = FrameTable()
        self._tree = TreeBuilder()
        self._reader = StackReader()
        self._named: dict[bytes, int] = {}
        """Frames of lines that say the same in any stack: most of them."""
        self._said: list[Mode | None] = []
        """By frame, the mode it speaks for."""
        self._paths: list[list[int]] = []
        """Frames of each stack, root first, by the stack's number."""
        self._modes: list[int] = []
        self._idle: list[bool] = []
        self._nameless: list[bool] = []
        self._known: dict[tuple[int, int], int] = {}
        """(Process name, stack) → node."""
        self._ends: list[I64] = []
        self._end_modes: list[U8] = []

    @property
    def odd_lines(self) -> int:
        return self._reader.odd

    def learn(self, block: ScriptBlock) -> None:
        """The stacks that are new in a block."""
        if block.is_fresh:
            self._paths, self._modes, self._known = [], [], {}
            self._idle, self._nameless = [], []
        for text in block.columns.new_stacks:
            path = self._path(frames_only(text))
            self._paths.append(path)
            self._modes.append(self._mode(path))
            leaf = self._frames.frames[path[-1]]
            self._idle.append(_is_idle(leaf))
            self._nameless.append(leaf == UNKNOWN_KERNEL_FRAME)

    def _path(self, text: bytes) -> list[int]:
        lines = text.removesuffix(b"\n").split(b"\n", MAX_DEPTH)[:MAX_DEPTH]
        path = list(map(self._named.get, lines))
        for place, number in enumerate(path):
            if number is None and (frame := self._reader.named(lines[place])) is not None:
                path[place] = self._named[lines[place]] = self._frames.number(frame)
        if len(self._named) > REMEMBERED_LINES:
            self._named.clear()
        if None in path:
            frames = self._reader.read(text) or [LOST_STACK_FRAME]
            return [self._frames.number(frame) for frame in frames]
        path.reverse()
        return path  # type: ignore[return-value]

    def _mode(self, path: list[int]) -> int:
        self._said += map(kernel_mode, self._frames.frames[len(self._said) :])
        leaf = self._frames.frames[path[-1]]
        return int(stack_mode(leaf, map(self._said.__getitem__, reversed(path))))

    def is_idle(self) -> Bool:
        """By number of the stack: does it end in the idle loop itself?"""
        return np.array(self._idle, np.bool_)

    def is_nameless(self) -> Bool:
        """By number of the stack: was it in a function of the kernel that has no name?"""
        return np.array(self._nameless, np.bool_)

    def nodes(self, comm: I64, stack: I64, names: list[str]) -> I64:
        """`names` gives the process name of a number in `comm`. Numbers hold until `finish`."""
        first, which = distinct_rows(comm, stack)
        pairs = list(zip(comm[first].tolist(), stack[first].tolist(), strict=True))
        fresh = [pair for pair in pairs if pair not in self._known]
        if fresh:
            self._known.update(zip(fresh, self._insert(fresh, names).tolist(), strict=True))
        return np.array([self._known[pair] for pair in pairs], np.int64)[which]

    def _insert(self, pairs: list[tuple[int, int]], names: list[str]) -> I64:
        paths = [
            [self._frames.number(Frame(names[comm], "", FrameKind.PROCESS)), *self._paths[stack]]
            for comm, stack in pairs
        ]
        lengths = np.array([len(path) for path in paths], np.int64)
        flat = np.array([frame for path in paths for frame in path], np.int64)
        ends = self._tree.add(flat, np.cumsum(lengths) - lengths, lengths)
        self._ends.append(ends)
        self._end_modes.append(np.array([self._modes[stack] for _, stack in pairs], np.uint8))
        return ends

    def finish(self) -> tuple[StackTree, I64]:
        """The tree, and each node's new number."""
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        modes = np.concatenate([np.empty(0, np.uint8), *self._end_modes])
        return self._tree.finish(self._frames.frames, ends, modes)


def _is_idle(leaf: Frame) -> bool:
    return leaf.kind == FrameKind.KERNEL and is_idle_loop(leaf.name)
