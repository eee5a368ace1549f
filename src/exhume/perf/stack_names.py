"""Stacks of addresses → the one tree of names that a segment keeps.

Names are looked up once a place of code (a file, and an offset in it) in the whole segment: what
was named before C finds again. Whatever leads to the same names, with the same process name on top,
is then one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

from exhume.derive.kernel_frames import kernel_mode
from exhume.model.arrays import I8, I64
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.asof import UNKNOWN
from exhume.perf.bounds import MOST_PLACES
from exhume.perf.chains import Chains
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History
from exhume.perf.places import Places
from exhume.perf.symbolize import CUT_SHORT_FRAMES, Symbolizer
from exhume.perf.tree import CodeMaps, CodeNames, TreeBuilder

_KERNEL = -2
"""The number of the kernel as code, and those below it: after its symbols changed."""


class MappedCode(Struct, frozen=True):
    """Where to look for the names of a mapped file's code."""

    key: str
    path: str


class StackNamer:
    def __init__(
        self,
        history: History,
        symbolizer: Symbolizer,
        files: Mapping[int, MappedCode],
        most_nodes: int | None = None,
        most_places: int = MOST_PLACES,
    ) -> None:
        """`most_nodes`: where there are more, stacks are cut short."""
        self._history = history
        self._symbols = symbolizer
        self._files = files
        self._tree = TreeBuilder(most_nodes)
        self._others: tuple[int, ...] = (0,) * len(Mode)
        if most_nodes is not None:
            self._others = tuple(symbolizer.frames.numbers(CUT_SHORT_FRAMES).tolist())
        self._said: I8 = np.empty(0, np.int8)
        """The mode that each frame so far speaks for; -1 where it does not."""
        self._places = Places()
        self._most_places = most_places
        self._codes: dict[tuple[str, str], int] = {}

    def add(
        self, chains: Chains, comm: I64, rows: tuple[I64, I64, I64], text: Callable[[int], str]
    ) -> I64:
        """The node of the tree of names for each row of a process, an address space and a stack.

        `comm[process]` is a number of a process name, which `text` gives; a stack that is not known
        (its frame of the log was damaged) is UNKNOWN.
        """
        process, space, stack = rows
        numbers = self._symbols.frames.numbers(
            Frame(text(one), "", FrameKind.PROCESS) for one in comm.tolist()
        )
        top = self._tree.children(np.zeros(len(comm), np.int64), numbers)
        lost = np.flatnonzero(stack == UNKNOWN)
        if not len(lost):
            return self._nodes(chains, top, rows)
        known = np.flatnonzero(stack != UNKNOWN)
        nodes = np.empty(len(stack), np.int64)
        nodes[known] = self._nodes(chains, top, (process[known], space[known], stack[known]))
        frames = np.full(len(lost), self._symbols.lost_stack, np.int64)
        nodes[lost] = self._tree.children(top[process[lost]], frames)
        self._tree.modes[nodes[lost]] = Mode.SYSTEM
        return nodes

    @property
    def has_too_many(self) -> bool:
        """Not all stacks or functions are told apart."""
        return self._tree.is_full or self._symbols.frames.is_full

    def finish(self) -> tuple[StackTree, I64]:
        """The tree, and each node's new number."""
        modes = self._tree.modes
        return self._tree.finish(self._symbols.frames.frames, np.arange(len(modes)), modes)

    def _nodes(self, chains: Chains, top: I64, rows: tuple[I64, I64, I64]) -> I64:
        maps = self._code_maps(rows[1])
        parts: list[I64] = []
        left = rows
        while True:
            nodes = self._tree.name(chains, maps, self._code_names(), top, left, self._most_places)
            later = np.flatnonzero(nodes == 0)
            if len(later):
                self._name_places()
                again = left[0][later], left[1][later], left[2][later]
                nodes[later] = self._tree.name(chains, maps, self._code_names(), top, again)
            parts.append(nodes)
            done = len(nodes)
            if done == len(left[0]):
                return nodes if len(parts) == 1 else np.concatenate(parts)
            self._places.forget()
            left = left[0][done:], left[1][done:], left[2][done:]

    def _code_maps(self, spaces: I64) -> CodeMaps:
        """Where whose code is mapped now, in these alone: most that come and go have no sample."""
        maps = self._history.maps.of(spaces[distinct_rows(spaces)[0]]).with_remains()
        first, which = distinct_rows(maps.file.view(np.int64))
        found = [self._files.get(hash_) for hash_ in maps.file[first].tolist()]
        codes = np.array(
            [UNKNOWN if code is None else self._code(code.key, code.path) for code in found],
            np.int64,
        )[which]
        # Code without a file (a JIT's): its map is the process's own, by absolute address.
        is_own = np.array([code is not None and not code.key for code in found], np.bool_)[which]
        own = np.flatnonzero(is_own)
        one_each, kind = distinct_rows(maps.space[own], which[own])
        jits = [
            self._jit_code(int(maps.space[row]), found[which[row]])
            for row in own[one_each].tolist()
        ]
        codes[own] = np.array(jits, np.int64)[kind]
        return CodeMaps(
            maps.space,
            maps.start.view(np.int64),
            maps.end.view(np.int64),
            np.where(is_own, maps.start, maps.offset).view(np.int64),
            codes,
        )

    def _jit_code(self, space: int, code: MappedCode | None) -> int:
        pid = self._history.maker(space)
        return self._code(f"jit-{pid}", (code.path if code else "") or "[anon]")

    def _code(self, key: str, path: str) -> int:
        return self._codes.setdefault((key, path), len(self._codes))

    def _code_names(self) -> CodeNames:
        symbols = self._symbols
        self._said = np.concatenate(
            [self._said, self._modes(symbols.frames.frames[len(self._said) :])]
        )
        return CodeNames(
            self._places, self._said, _KERNEL - symbols.kernel_generation,
            symbols.unknown, symbols.unknown_kernel, symbols.no_file, self._others,
        )  # fmt: skip

    @staticmethod
    def _modes(frames: list[Frame]) -> I8:
        said = np.full(len(frames), -1, np.int8)
        for number, one in enumerate(frames):
            if one.kind is FrameKind.KERNEL and (mode := kernel_mode(one)) is not None:
                said[number] = mode
        return said

    def _name_places(self) -> None:
        """Those that were met since the last time."""
        codes, offsets = self._places.nameless()
        by_number = list(self._codes)
        fresh = np.empty(len(codes), np.uint32)
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
        for rows in np.split(order, first[1:]):
            one = int(codes[rows[0]])
            if one < 0:
                fresh[rows] = self._symbols.kernel(offsets[rows])
            else:
                key, path = by_number[one]
                fresh[rows] = self._symbols.user(key, path, offsets[rows])
        self._places.name(fresh)
