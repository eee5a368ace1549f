"""Epochs with copies of programs' stacks → epochs with call chains: `--call-graph dwarf`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from exhume.ingest.rebuilt_stacks import USER, Stretches, rebuilt
from exhume.perf.dataorder import Epoch
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History
from exhume.perf.symbols.cfi import Cfi
from exhume.perf.unwind import Dumps, Unwinder

_DUMP = np.uint64(2**64 - 4001)
"""CONTEXT_DUMP of native.c: address of the code, stack and frame pointer and the memory follow."""
_HEAD_WORDS = 4
_WORD = 8
_WORTH_SAYING = 0.005
_PROGRAMS = (
    "stacks of programs were recorded as copies of their memory (--call-graph dwarf), and are "
    "unwound by the programs' own tables"
)


class Unwound(Struct, frozen=True):
    """How it went."""

    stacks: int = 0
    whole: int = 0
    """Those whose outermost function has no caller."""
    short: int = 0
    """Those that ended at once: of the innermost function no table is here."""

    def __add__(self, other: Unwound) -> Unwound:
        return Unwound(
            self.stacks + other.stacks, self.whole + other.whole, self.short + other.short
        )

    def note(self) -> str:
        """Empty where there were none."""
        if not self.stacks:
            return ""
        share = f"{_PROGRAMS}: {100 * self.whole / self.stacks:.0f} % to their outermost function"
        if self.short >= _WORTH_SAYING * self.stacks:
            share += (
                f", {100 * self.short / self.stacks:.0f} % not at all: the program's file is not "
                "here or not the same (--symfs tells where it is; text of `perf script`, made on "
                "its machine, has them all), or the code is a JIT's"
            )
        return share


class DumpedStacks:
    def __init__(self, history: History, cfi: Callable[[int], Cfi | None]) -> None:
        """`cfi`: of a mapped file, by its hash."""
        self._history = history
        self._unwinder = Unwinder(cfi)
        self.done = Unwound()

    def unwound(self, epoch: Epoch) -> Epoch:
        """The history must know of all that is in it."""
        if not len(epoch.samples):
            return epoch
        first, which = distinct_rows(epoch.stack)
        stack = epoch.stack[first]
        words = np.concatenate([np.empty(0, np.uint64), *epoch.words])
        start, end = epoch.word_start[stack], (epoch.word_start + epoch.word_count)[stack]
        marks = np.append(np.flatnonzero(words == _DUMP), len(words))
        mark = marks[np.searchsorted(marks, start)]
        has_dump = mark + _HEAD_WORDS <= end
        rows = np.flatnonzero(has_dump)
        if not len(rows):
            return epoch
        head, memory = mark[rows], mark[rows] + _HEAD_WORDS
        samples = first[rows]
        dumps = Dumps(
            space=self._history.space(
                epoch.samples.pid[samples], epoch.samples.time[samples].astype(np.int64)
            ),
            ip=words[head + 1],
            stack_pointer=words[head + 2],
            frame_pointer=words[head + 3],
            start=memory * _WORD,
            size=(end[rows] - memory) * _WORD,
            memory=words.view(np.uint8),
        )
        chains = self._unwinder.chains(dumps, self._history.mapping_in(dumps.space))
        is_short = ~chains.is_whole & (chains.count == 1)
        self.done += Unwound(len(dumps), int(chains.is_whole.sum()), int(is_short.sum()))
        none = np.zeros(len(stack), np.int64)
        chain_start, chain_count = none.copy(), none.copy()
        chain_start[rows], chain_count[rows] = chains.start, chains.count
        return rebuilt(
            epoch,
            which,
            [
                Stretches(words, start, np.where(has_dump, mark, end) - start),
                Stretches(np.array([USER]), none, has_dump.astype(np.int64)),
                Stretches(chains.addresses, chain_start, chain_count),
            ],
        )
