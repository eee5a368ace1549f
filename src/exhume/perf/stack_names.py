"""Paths of places of code → the one tree of names that a segment keeps.

Names are looked up once a place of code, in the whole segment; what was named before is only found
again. Whatever leads to the same names, with the same process name on top, is then one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

from exhume.derive.kernel_frames import kernel_mode
from exhume.derive.sets import distinct
from exhume.model.arrays import I8, I64, U8, U32, U64, Bool
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.asof import UNKNOWN
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History
from exhume.perf.joins import Rows
from exhume.perf.paths import Paths, PlaceKind, Places
from exhume.perf.symbolize import Symbolizer
from exhume.perf.tree import NamedPlaces, TreeBuilder

LOST = -1
"""Instead of a path: the stack is not known (its frame of the log was damaged)."""
_KERNEL = -2
"""The number of the kernel as code, and those below it: after its symbols changed."""


class MappedCode(Struct, frozen=True):
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
        self._mode: U8 = np.empty(0, np.uint8)
        """Of each node of the tree: of a stack that ends there."""
        self._said: I8 = np.empty(0, np.int8)
        """The mode that each frame so far speaks for; -1 where it does not."""
        self._places = Rows(2)
        """(code, offset in it) named so far, and their frames."""
        self._frames: U32 = np.empty(0, np.uint32)
        self._codes: dict[tuple[str, str], int] = {}

    def add(self, paths: Paths, comm: I64, path: I64, text: Callable[[int], str]) -> I64:
        """For each (process name, number of a path) the node of the tree of names.

        `text` gives the process name of a number in `comm`.
        """
        first, which = distinct_rows(comm)
        names = [Frame(text(one), "", FrameKind.PROCESS) for one in comm[first].tolist()]
        numbers = self._symbols.frames.numbers(names)
        top = self._tree.children(np.zeros(len(names), np.int64), numbers)
        order = np.argsort(which, kind="stable")
        order = order[path[order] != LOST]
        ends, modes = np.empty(len(path), np.int64), np.empty(len(path), np.uint8)
        ends[order], modes[order] = self._tree.join(
            paths, self._named(paths.places), top, which[order], path[order]
        )
        lost = path == LOST
        if lost.any():
            frames = np.full(int(lost.sum()), self._symbols.lost_stack, np.int64)
            ends[lost] = self._tree.children(top[which[lost]], frames)
            modes[lost] = Mode.SYSTEM
        self._mode = _grown(self._mode, len(self._tree))
        self._mode[ends] = modes
        return ends

    def finish(self) -> tuple[StackTree, I64]:
        """The tree, and each node's new number."""
        modes = _grown(self._mode, len(self._tree))[: len(self._tree)]
        return self._tree.finish(self._symbols.frames.frames, np.arange(len(modes)), modes)

    def _named(self, places: Places) -> NamedPlaces:
        frame = np.full(len(places.kind), self._symbols.unknown, np.uint32)
        is_kernel = places.kind == PlaceKind.KERNEL
        kernel = _KERNEL - self._symbols.kernel_generation
        frame[is_kernel] = self._known_frames(
            np.full(int(is_kernel.sum()), kernel, np.int64),
            places.address[is_kernel],
            lambda _, addresses: self._symbols.kernel(addresses),
        )
        is_user = places.kind == PlaceKind.USER
        space = places.space[is_user].astype(np.int64)
        frame[is_user] = self._user_frames(space, places.address[is_user])
        nameless = (frame == self._symbols.unknown) | (frame == self._symbols.unknown_kernel)
        return NamedPlaces(frame, self._modes(frame, is_kernel), nameless)

    def _user_frames(self, space: I64, address: U64) -> U32:
        frame = np.full(len(address), self._symbols.unknown, np.uint32)
        if not len(address):
            return frame
        file, offset = self._history.mapping(space, address)
        first, which = distinct_rows(file.view(np.int64))
        found = [self._files.get(hash_) for hash_ in file[first].tolist()]
        codes = np.array(
            [UNKNOWN if code is None else self._code(code.key, code.path) for code in found],
            np.int64,
        )[which]
        # Code without a file (a JIT's): its map is the process's own, by absolute address.
        is_own = np.array([code is not None and not code.key for code in found])[which]
        for one in distinct(space[is_own]).tolist():
            some = is_own & (space == one)
            pid = self._history.space_pid.get(one, UNKNOWN)
            for index in distinct(which[some]).tolist():
                code = found[index]
                if code is not None:
                    rows = some & (which == index)
                    codes[rows] = self._code(f"jit-{pid}", code.path or "[anon]")
        offset = np.where(is_own, address, offset)
        has_code = codes != UNKNOWN
        by_number = list(self._codes)
        frame[has_code] = self._known_frames(
            codes[has_code],
            offset[has_code],
            lambda code, offsets: self._symbols.user(*by_number[code], offsets),
        )
        return frame

    def _code(self, key: str, path: str) -> int:
        return self._codes.setdefault((key, path), len(self._codes))

    def _known_frames(self, code: I64, offset: U64, look_up: Callable[[int, U64], I64]) -> U32:
        """Frames at offsets of code; only those that were never asked for are looked up."""
        before = len(self._frames)
        numbers = self._places.add(code, offset.view(np.int64))
        if len(self._places) > before:
            codes = self._places.column(0, before)
            offsets = self._places.column(1, before).view(np.uint64)
            fresh = np.empty(len(codes), np.uint32)
            for one in distinct(codes).tolist():
                rows = codes == one
                fresh[rows] = look_up(one, offsets[rows])
            self._frames = np.concatenate([self._frames, fresh])
        return self._frames.take(numbers)

    def _modes(self, frame: U32, is_kernel: Bool) -> I8:
        new = self._symbols.frames.frames[len(self._said) :]
        said = np.full(len(new), -1, np.int8)
        for number, one in enumerate(new):
            if one.kind is FrameKind.KERNEL and (mode := kernel_mode(one)) is not None:
                said[number] = mode
        self._said = np.concatenate([self._said, said])
        return np.where(is_kernel, self._said.take(frame), np.int8(-1))


def _grown(column: U8, length: int) -> U8:
    if length <= len(column):
        return column
    # Some room ahead: it grows a little with every chunk of samples.
    return np.concatenate([column, np.zeros(length + length // 8 - len(column), np.uint8)])
