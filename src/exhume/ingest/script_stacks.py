"""Texts of stacks → nodes of the tree of names, each (process name, text) once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from exhume.derive.kernel_frames import is_idle_loop, kernel_mode
from exhume.model.arrays import I32, I64, U8, U64, Bool
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.bounds import MOST_NAMES, MOST_NODES
from exhume.perf.distinct import distinct_rows
from exhume.perf.joins import Rows
from exhume.perf.script import ScriptBlock
from exhume.perf.script_frames import (
    MAX_DEPTH,
    NAMELESS,
    StackReader,
    frames_only,
    has_more_than_frames,
    stack_mode,
)
from exhume.perf.script_scan import Scanned
from exhume.perf.symbolize import (
    CUT_SHORT_FRAMES,
    LOST_STACK_FRAME,
    UNKNOWN_KERNEL_FRAME,
    FrameTable,
)
from exhume.perf.tree import TreeBuilder

_SPECIAL = -1
# `\tffffffffb44a2e1e [unknown] ([kernel.kallsyms])`, the leaf first
_LEAF = re.compile(rb"\s*(?:0x)?([0-9a-f]{8,16})\s")


class ScriptStacks:
    def __init__(self) -> None:
        self._frames = FrameTable(MOST_NAMES)
        self._others = self._frames.numbers(CUT_SHORT_FRAMES)
        self._tree = TreeBuilder(MOST_NODES)
        self._reader = StackReader()
        self._lines: I64 = np.empty(0, np.int64)
        """By number of a line its frame, or that it takes the others of its stack to tell."""
        self._said: list[Mode | None] = []
        """By frame, the mode it speaks for."""
        self._paths: list[I32] = []
        """Frames of each stack, root first, by the stack's number."""
        self._modes: U8 = np.empty(0, np.uint8)
        self.is_idle: Bool = np.empty(0, np.bool_)
        """By number of the stack: does it end in the idle loop itself?"""
        self.is_nameless: Bool = np.empty(0, np.bool_)
        """By number of the stack: was it in a function of the kernel that has no name?"""
        self.nameless_ip: U64 = np.empty(0, np.uint64)
        """Where that was; 0 where it does not say."""
        self._pairs = Rows(2)
        """(Process name, stack) seen so far, and their nodes."""
        self._nodes: I64 = np.empty(0, np.int64)
        self._ends: list[I64] = []
        self._end_modes: list[U8] = []

    @property
    def odd_lines(self) -> int:
        return self._reader.odd

    @property
    def has_too_many(self) -> bool:
        """Not all of them are told apart."""
        return self._tree.is_full or self._frames.is_full

    def learn(self, block: ScriptBlock) -> None:
        """The stacks that are new in a block."""
        if block.is_fresh:
            self._paths, self._modes = [], np.empty(0, np.uint8)
            self.is_idle = self.is_nameless = np.empty(0, np.bool_)
            self.nameless_ip = np.empty(0, np.uint64)
            self._lines = np.empty(0, np.int64)
            self._pairs, self._nodes = Rows(2), np.empty(0, np.int64)
        columns = block.columns
        lines = [self._line(text) for text in columns.new_lines]
        self._lines = np.concatenate([self._lines, np.array(lines, np.int64)])
        paths = []
        for text, path in zip(columns.new_stacks, self._line_paths(columns), strict=True):
            if path is None:
                frames = self._reader.read(frames_only(text)) or [LOST_STACK_FRAME]
                path = [self._frames.number(frame) for frame in frames]
            paths.append(path)
        self._paths += (np.array(path, np.int32) for path in paths)
        leaves = [self._frames.frames[path[-1]] for path in paths]
        self._modes = np.append(self._modes, np.array([*map(self._mode, paths)], np.uint8))
        self.is_idle = np.append(self.is_idle, np.array([*map(_is_idle, leaves)], np.bool_))
        nameless = [leaf == UNKNOWN_KERNEL_FRAME for leaf in leaves]
        self.is_nameless = np.append(self.is_nameless, np.array(nameless, np.bool_))
        places = [
            _address(text) if is_one else 0
            for text, is_one in zip(columns.new_stacks, nameless, strict=True)
        ]
        self.nameless_ip = np.append(self.nameless_ip, np.array(places, np.uint64))

    def _line(self, text: bytes) -> int:
        frame = self._reader.frame(text)
        return _SPECIAL if frame is None else self._frames.number(frame)

    def _line_paths(self, columns: Scanned) -> Iterator[list[int] | None]:
        """Of each new stack its frames, root first; None where its lines must be read together."""
        count = columns.line_count.astype(np.int64)
        stack, frame = np.repeat(np.arange(len(count)), count), self._lines[columns.stack_lines]
        special = np.bincount(stack[frame == _SPECIAL], minlength=len(count)) > 0
        special |= (count == 0) | (count > MAX_DEPTH)
        special |= np.array([*map(has_more_than_frames, columns.new_stacks)], np.bool_)
        is_nameless = np.isin(frame, [self._frames.number(one) for one in NAMELESS])
        repeats = is_nameless[1:] & (frame[1:] == frame[:-1]) & (stack[1:] == stack[:-1])
        kept = np.append(True, ~repeats)[: len(frame)]
        path = frame[kept][::-1].tolist()
        count = np.bincount(stack[kept], minlength=len(count))
        begin = (len(path) - np.cumsum(count)).tolist()
        for is_special, at, length in zip(special.tolist(), begin, count.tolist(), strict=True):
            yield None if is_special else path[at : at + length]

    def _mode(self, path: list[int]) -> int:
        self._said += map(kernel_mode, self._frames.frames[len(self._said) :])
        leaf = self._frames.frames[path[-1]]
        return int(stack_mode(leaf, map(self._said.__getitem__, reversed(path))))

    def nodes(self, comm: I64, stack: I64, names: list[str]) -> I64:
        """`names` gives the process name of a number in `comm`. Numbers hold until `finish`."""
        known = len(self._pairs)
        numbers = self._pairs.add(comm, stack)
        if len(self._pairs) > known:
            fresh = self._insert(self._pairs.column(0, known), self._pairs.column(1, known), names)
            self._nodes = np.concatenate([self._nodes, fresh])
        return self._nodes[numbers]

    def _insert(self, comm: I64, stack: I64, names: list[str]) -> I64:
        first, which = distinct_rows(comm)
        processes = [Frame(names[one], "", FrameKind.PROCESS) for one in comm[first].tolist()]
        numbers = self._frames.numbers(processes)
        below = self._tree.children(np.zeros(len(first), np.int64), numbers)[which]
        if self._tree.is_full:
            ends = self._cut_short(stack, below)
        else:
            paths = [self._paths[one] for one in stack.tolist()]
            lengths = np.fromiter(map(len, paths), np.int64, len(paths))
            ends = self._tree.add(
                np.concatenate(paths).astype(np.int64), np.cumsum(lengths) - lengths, lengths, below
            )
        self._ends.append(ends)
        self._end_modes.append(self._modes[stack])
        return ends

    def _cut_short(self, stack: I64, below: I64) -> I64:
        """Nodes of stacks that the tree has no room for."""
        ends = self._tree.children(below, self._others[self._modes[stack]])
        if len(self._tree) >= 2 * MOST_NODES:
            return ends
        leaves = [int(self._paths[one][-1]) for one in stack.tolist()]
        return self._tree.children(ends, np.array(leaves, np.int64))

    def finish(self) -> tuple[StackTree, I64]:
        """The tree, and each node's new number."""
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        modes = np.concatenate([np.empty(0, np.uint8), *self._end_modes])
        return self._tree.finish(self._frames.frames, ends, modes)


def _is_idle(leaf: Frame) -> bool:
    return leaf.kind == FrameKind.KERNEL and is_idle_loop(leaf.name)


def _address(stack: bytes) -> int:
    found = _LEAF.match(stack)
    return int(found[1], 16) if found else 0
