"""Addresses → frames: each unique address once, whole columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

import numpy as np

from exhume.model.arrays import I64, U64
from exhume.model.stack import Frame, FrameKind, Mode
from exhume.perf.bounds import MORE_NAMES
from exhume.perf.distinct import distinct_rows
from exhume.perf.symbols import kallsyms
from exhume.perf.symbols.demangle import demangle_all
from exhume.perf.symbols.mapped import is_made_code
from exhume.perf.symbols.table import NOWHERE, SymbolTable

KERNEL_MODULE = "kernel"
UNKNOWN_FRAME = Frame("[unknown]", "", FrameKind.UNKNOWN)
UNKNOWN_KERNEL_FRAME = Frame("[unknown]", KERNEL_MODULE, FrameKind.UNKNOWN)
"""Apart from the other: a stack that ends here is system time, one that ends there user time."""
LOST_STACK_FRAME = Frame("[stack lost]", "", FrameKind.UNKNOWN)
"""Instead of a stack whose addresses were in a damaged part of the log."""
CUT_SHORT_FRAMES = tuple(
    Frame(f"[more {mode.name.lower()} stacks than are kept]", "", FrameKind.UNKNOWN)
    for mode in Mode
)
"""Instead of stacks that a tree has no room for, by mode: all that end at a node are of one."""

NO_FILE_FRAME = Frame("[anon]", "", FrameKind.UNKNOWN)
"""Code of a JIT that left no map: its addresses mean nothing, and there are thousands."""

FindTable = Callable[[str], SymbolTable | None]


class FrameTable:
    """Frames by number; number 0 is the empty frame of the root."""

    def __init__(self, most: int | None = None) -> None:
        """`most`: those that come later are all `MORE_NAMES`, one for each kind."""
        self.frames: list[Frame] = [Frame("", "", FrameKind.PROCESS)]
        self._numbers: dict[Frame, int] = {self.frames[0]: 0}
        self._most = most

    @property
    def is_full(self) -> bool:
        return self._most is not None and len(self.frames) >= self._most

    def number(self, frame: Frame) -> int:
        return int(self.numbers([frame])[0])

    def numbers(self, frames: Iterable[Frame]) -> I64:
        # Programs without symbols make tens of thousands of them: one look-up each, no calls.
        known, found = self._numbers, []
        for frame in frames:
            number = known.get(frame)
            found.append(self._new(frame) if number is None else number)
        return np.array(found, np.int64)

    def _new(self, frame: Frame) -> int:
        if self.is_full:
            frame = Frame(MORE_NAMES, "", frame.kind)
        number = self._numbers.setdefault(frame, len(self.frames))
        if number == len(self.frames):
            self.frames.append(frame)
        return number


class Symbolizer:
    """Names addresses by the tables it is given; the rest of a file becomes module+address."""

    def __init__(
        self, frames: FrameTable, find_table: FindTable, kernel: SymbolTable | None
    ) -> None:
        self.frames = frames
        self._find_table = find_table
        self._kernel = kernel
        self.kernel_generation = 0
        """Rises when the kernel's symbols change: what was named before may have another name."""
        self._known: dict[str, dict[int, int]] = {}
        """Of each table the frames of the symbols seen so far; the kernel's is the empty name."""
        self.unknown = frames.number(UNKNOWN_FRAME)
        self.unknown_kernel = frames.number(UNKNOWN_KERNEL_FRAME)
        self.no_file = frames.number(NO_FILE_FRAME)
        self.lost_stack = frames.number(LOST_STACK_FRAME)

    def learn_kernel(self, symbols: Sequence[kallsyms.Ksymbol]) -> None:
        """Code that appeared in the kernel since its table was read: BPF programs, trampolines."""
        if self._kernel is not None and symbols:
            self._kernel = kallsyms.with_extra(self._kernel, symbols)
            self.kernel_generation += 1
            self._known.pop("", None)  # its symbols are numbered anew

    def kernel(self, addresses: U64) -> I64:
        table = self._kernel
        if table is None or not len(table):
            return np.full(len(addresses), self.unknown_kernel, np.int64)

        def name(symbols: list[int]) -> I64:
            return self.frames.numbers(
                Frame(table.name(one), table.module_name(one) or KERNEL_MODULE, FrameKind.KERNEL)
                for one in symbols
            )

        symbols = table.lookup(addresses)
        numbers = np.full(len(addresses), self.unknown_kernel, np.int64)
        has_name = symbols >= 0
        numbers[has_name] = self._named("", symbols[has_name], name)
        return numbers

    def user(self, key: str, path: str, offsets: U64) -> I64:
        """Frames of a file's code at these file offsets (for JIT code: absolute addresses).

        Ask for each offset once: a table is opened for it, and they do not all fit into memory.
        """
        module = PurePosixPath(path.removesuffix(" (deleted)")).name or path
        table = self._find_table(key)
        if table is None:
            return self._nameless(path, module, offsets)

        def name(symbols: list[int]) -> I64:
            names = demangle_all([table.name(one) for one in symbols])
            starts = table.start[symbols].tolist()
            return self.frames.numbers(
                Frame(name, module, FrameKind.USER) if name else _nameless(module, start)
                for name, start in zip(names, starts, strict=True)
            )

        where = table.vaddr_of_offset(offsets)
        where = np.where(where == NOWHERE, offsets, where)
        symbols = table.lookup(where)
        numbers = np.empty(len(offsets), np.int64)
        has_name = symbols >= 0
        numbers[has_name] = self._named(f"{key} {module}", symbols[has_name], name)
        numbers[~has_name] = self._nameless(path, module, where[~has_name])
        return numbers

    def _named(self, table: str, symbols: I64, name: Callable[[list[int]], I64]) -> I64:
        """Frames of symbols of a table; each is named once, however often it is asked for."""
        known = self._known.setdefault(table, {})
        first, which = distinct_rows(symbols)
        asked = symbols[first].tolist()
        fresh = [one for one in asked if one not in known]
        known.update(zip(fresh, name(fresh).tolist(), strict=True))
        return np.array([known[one] for one in asked], np.int64)[which]

    def _nameless(self, path: str, module: str, addresses: U64) -> I64:
        if is_made_code(path):
            return np.full(len(addresses), self.no_file, np.int64)
        if self.frames.is_full:  # to spell millions of names takes minutes
            other = self.frames.number(Frame(MORE_NAMES, "", FrameKind.UNKNOWN))
            return np.full(len(addresses), other, np.int64)
        unique, inverse = np.unique(addresses, return_inverse=True)  # in order they compress well
        numbers = self.frames.numbers(_nameless(module, address) for address in unique.tolist())
        return numbers[inverse]


def _nameless(module: str, address: int) -> Frame:
    """`address`: where its function begins, if that is known."""
    return Frame(f"{module}+{address:#x}", module, FrameKind.UNKNOWN)
