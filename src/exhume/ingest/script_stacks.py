"""Texts of stacks → nodes of the tree of names, each (process name, text) once."""

from __future__ import annotations

import re

import numpy as np

from exhume.derive.kernel_frames import is_idle_loop, kernel_mode
from exhume.model.arrays import I8, I32, I64, U8, U64, Bool
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
_NO_MODE = -1
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
        self._is_kernel: Bool = np.empty(0, np.bool_)
        self._is_idle: Bool = np.empty(0, np.bool_)
        self._is_unknown: Bool = np.empty(0, np.bool_)
        self._said: I8 = np.empty(0, np.int8)
        """By frame: is it code of the kernel, the idle loop, code of the kernel without a name, and
        the mode it speaks for."""
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
        self._lines = np.append(self._lines, self._line_frames(columns.new_lines))
        paths = self._new_paths(columns)
        self._paths += paths
        lengths = np.fromiter(map(len, paths), np.int64, len(paths))
        frame = np.concatenate([np.empty(0, np.int32), *paths])
        leaf = frame[np.cumsum(lengths) - 1]
        self._learn_frames()
        self._modes = np.append(self._modes, self._modes_of(frame, lengths, leaf))
        self.is_idle = np.append(self.is_idle, self._is_idle[leaf])
        is_nameless = self._is_unknown[leaf]
        self.is_nameless = np.append(self.is_nameless, is_nameless)
        places = np.zeros(len(paths), np.uint64)
        for one in np.flatnonzero(is_nameless).tolist():
            places[one] = _address(columns.new_stacks[one])
        self.nameless_ip = np.append(self.nameless_ip, places)

    def _line_frames(self, texts: list[bytes]) -> I64:
        """Of each line the number of its frame, or _SPECIAL."""
        frames = [self._reader.frame(text) for text in texts]
        numbers = np.full(len(texts), _SPECIAL, np.int64)
        is_one = np.array([frame is not None for frame in frames], np.bool_)
        numbers[is_one] = self._frames.numbers(frame for frame in frames if frame is not None)
        return numbers

    def _new_paths(self, columns: Scanned) -> list[I32]:
        """Of each new stack its frames, root first."""
        count = columns.line_count.astype(np.int64)
        stack, frame = np.repeat(np.arange(len(count)), count), self._lines[columns.stack_lines]
        special = np.bincount(stack[frame == _SPECIAL], minlength=len(count)) > 0
        special |= (count == 0) | (count > MAX_DEPTH)
        special |= np.array([*map(has_more_than_frames, columns.new_stacks)], np.bool_)
        is_nameless = np.isin(frame, [self._frames.number(one) for one in NAMELESS])
        repeats = is_nameless[1:] & (frame[1:] == frame[:-1]) & (stack[1:] == stack[:-1])
        kept = np.append(True, ~repeats)[: len(frame)]
        path = frame[kept][::-1].astype(np.int32)
        count = np.bincount(stack[kept], minlength=len(count))
        begin = len(path) - np.cumsum(count)
        paths = [
            path[at:end] for at, end in zip(begin.tolist(), (begin + count).tolist(), strict=True)
        ]
        for one in np.flatnonzero(special).tolist():  # its lines must be read together
            text = frames_only(columns.new_stacks[one])
            frames = self._reader.read(text) or [LOST_STACK_FRAME]
            paths[one] = self._frames.numbers(frames).astype(np.int32)
        return paths

    def _learn_frames(self) -> None:
        """What is to be known of the new ones."""
        fresh = self._frames.frames[len(self._said) :]
        said = np.full(len(fresh), _NO_MODE, np.int8)
        of_kernel, idle, unknown = np.zeros((3, len(fresh)), np.bool_)
        for number, frame in enumerate(fresh):
            if frame.kind == FrameKind.KERNEL:
                mode = kernel_mode(frame)
                said[number] = _NO_MODE if mode is None else mode
                of_kernel[number], idle[number] = True, is_idle_loop(frame.name)
            elif frame == UNKNOWN_KERNEL_FRAME:
                of_kernel[number] = unknown[number] = True
        self._said = np.append(self._said, said)
        self._is_kernel = np.append(self._is_kernel, of_kernel)
        self._is_idle = np.append(self._is_idle, idle)
        self._is_unknown = np.append(self._is_unknown, unknown)

    def _modes_of(self, frame: I32, lengths: I64, leaf: I32) -> U8:
        """User where the leaf is user code; else what the innermost telling kernel frame says."""
        modes = np.where(self._is_kernel[leaf], np.uint8(Mode.SYSTEM), np.uint8(Mode.USER))
        stack, said = np.repeat(np.arange(len(lengths)), lengths), self._said[frame]
        tells = (said != _NO_MODE) & self._is_kernel[leaf][stack]
        modes[stack[tells]] = said[tells]  # from the root on: the last one holds
        return modes

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

    def finish(self, *, lost_in_kernel: bool = False) -> tuple[StackTree, I64]:
        """The tree, and each node's new number. `lost_in_kernel`: where no stack is told at all,
        it was code of the kernel that was sampled."""
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        modes = np.concatenate([np.empty(0, np.uint8), *self._end_modes])
        tree, renumbered = self._tree.finish(self._frames.frames, ends, modes)
        if lost_in_kernel and LOST_STACK_FRAME in tree.frames:
            tree.mode[tree.frame == tree.frames.index(LOST_STACK_FRAME)] = Mode.SYSTEM
        return tree, renumbered


def _address(stack: bytes) -> int:
    found = _LEAF.match(stack)
    return int(found[1], 16) if found else 0
