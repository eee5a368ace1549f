"""Addresses → frames: each unique address once, whole columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

import numpy as np

from exhume.model.arrays import I64, U64
from exhume.model.stack import Frame, FrameKind
from exhume.perf.symbols.demangle import demangle_all
from exhume.perf.symbols.table import NOWHERE, SymbolTable

KERNEL_MODULE = "kernel"
UNKNOWN_FRAME = Frame("[unknown]", "", FrameKind.UNKNOWN)
UNKNOWN_KERNEL_FRAME = Frame("[unknown]", KERNEL_MODULE, FrameKind.UNKNOWN)
"""Apart from the other: a stack that ends here is system time, one that ends there user time."""
LOST_STACK_FRAME = Frame("[stack lost]", "", FrameKind.UNKNOWN)
"""Instead of a stack whose addresses were in a damaged part of the log."""

FindTable = Callable[[str], SymbolTable | None]


class FrameTable:
    """Frames by number; number 0 is the empty frame of the root."""

    def __init__(self) -> None:
        self.frames: list[Frame] = [Frame("", "", FrameKind.PROCESS)]
        self._numbers: dict[Frame, int] = {self.frames[0]: 0}

    def number(self, frame: Frame) -> int:
        found = self._numbers.get(frame)
        if found is None:
            found = self._numbers[frame] = len(self.frames)
            self.frames.append(frame)
        return found

    def numbers(self, frames: Iterable[Frame]) -> I64:
        return np.array([self.number(frame) for frame in frames], np.int64)


class Symbolizer:
    """Names addresses by the tables it is given; what has no name becomes module+offset."""

    def __init__(
        self, frames: FrameTable, find_table: FindTable, kernel: SymbolTable | None
    ) -> None:
        self.frames = frames
        self._find_table = find_table
        self._kernel = kernel
        self.unknown = frames.number(UNKNOWN_FRAME)
        self.unknown_kernel = frames.number(UNKNOWN_KERNEL_FRAME)
        self.lost_stack = frames.number(LOST_STACK_FRAME)

    def kernel(self, addresses: U64) -> I64:
        unique, inverse = np.unique(addresses, return_inverse=True)
        table = self._kernel
        if table is None or not len(table):
            numbers = np.full(len(unique), self.unknown_kernel, np.int64)
            return numbers[inverse]
        symbols = table.lookup(unique)
        named, back = np.unique(symbols, return_inverse=True)
        numbers = self.frames.numbers(
            Frame(table.name(index), table.module_name(index) or KERNEL_MODULE, FrameKind.KERNEL)
            if index >= 0
            else UNKNOWN_KERNEL_FRAME
            for index in named.tolist()
        )
        return numbers[back][inverse]

    def user(self, key: str, path: str, offsets: U64) -> I64:
        """Frames of a file's code at these file offsets (for JIT code: absolute addresses)."""
        unique, inverse = np.unique(offsets, return_inverse=True)
        module = PurePosixPath(path.removesuffix(" (deleted)")).name or path
        table = self._find_table(key)
        symbols = np.full(len(unique), -1, np.int64)
        where = unique
        if table is not None:
            where = table.vaddr_of_offset(unique)
            where = np.where(where == NOWHERE, unique, where)
            symbols = table.lookup(where)
        known = np.unique(symbols[symbols >= 0])
        names = demangle_all([table.name(index) for index in known.tolist()]) if table else []
        by_symbol = self.frames.numbers(Frame(name, module, FrameKind.USER) for name in names)
        numbers = np.empty(len(unique), np.int64)
        has_name = symbols >= 0
        numbers[has_name] = by_symbol[np.searchsorted(known, symbols[has_name])]
        numbers[~has_name] = self.frames.numbers(
            Frame(f"{module}+{address:#x}", module, FrameKind.UNKNOWN)
            for address in where[~has_name].tolist()
        )
        return numbers[inverse]
