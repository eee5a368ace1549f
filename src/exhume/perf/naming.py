"""Samples as the kernel gives them → threads and nodes of the tree of named stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exhume.model.arrays import I32, I64, U16, U64
from exhume.model.sample import Threads
from exhume.model.stack import StackTree
from exhume.perf.asof import UNKNOWN
from exhume.perf.history import History
from exhume.perf.stack_names import LOST, MappedCode, StackNamer
from exhume.perf.symbolize import Symbolizer
from exhume.perf.tree import address_tree

_IDLE_NAME = "swapper"


@dataclass(frozen=True, slots=True)
class RawSamples:
    """A chunk of samples with one dictionary of stacks."""

    time: I64
    core: U16
    pid: I32
    tid: I32
    stack: I64
    """Index of a stack; those without an entry (its frame was damaged) are UNKNOWN."""
    cgroup: I64
    """Number in the caller's table of cgroups, or UNKNOWN."""
    words: U64
    """All stacks' words, leaf first, with perf's context markers."""
    word_start: I64
    word_count: I64


class Namer:
    """Holds what grows over a segment: frames, tree and threads."""

    def __init__(
        self, history: History, symbolizer: Symbolizer, files: Mapping[int, MappedCode]
    ) -> None:
        self._history = history
        self._stacks = StackNamer(history, symbolizer, files)
        self._threads: dict[tuple[int, int, int, int], int] = {}
        self._parents: list[int] = []

    def name(self, raw: RawSamples) -> tuple[I64, I64]:
        """For each sample its thread and the node its stack ends at (numbers until `finish`)."""
        comm = self._history.name(raw.tid, raw.time)
        # Nameless: by its tid, as perf does. A reaped task has tid -1, with or without a pid.
        comm = np.where(comm == UNKNOWN, -2 - raw.tid.astype(np.int64), comm)
        cgroup = np.where(
            raw.cgroup == UNKNOWN, self._history.cgroup(raw.pid, raw.time), raw.cgroup
        )
        threads = self._thread_numbers(raw, comm, cgroup)
        return threads, self._stack_nodes(raw, comm)

    def _thread_numbers(self, raw: RawSamples, comm: I64, cgroup: I64) -> I64:
        first, inverse = unique_rows(
            raw.pid.astype(np.int64), raw.tid.astype(np.int64), comm, cgroup
        )
        parents = self._history.parent_pid(raw.pid[first], raw.time[first])
        keys = zip(
            *(column[first].tolist() for column in (raw.pid, raw.tid, comm, cgroup)), strict=True
        )
        numbers = np.empty(len(first), np.int64)
        for index, (key, parent) in enumerate(zip(keys, parents.tolist(), strict=True)):
            number = self._threads.setdefault(key, len(self._threads))
            if number == len(self._parents):
                self._parents.append(parent)
            numbers[index] = number
        return numbers[inverse]

    def comm_text(self, comm: int) -> str:
        if comm >= 0:
            return self._history.names[comm]
        tid = -2 - comm
        return _IDLE_NAME if tid == 0 else f":{tid}"

    def _stack_nodes(self, raw: RawSamples, comm: I64) -> I64:
        """Each (address space, stack) is looked at once, each (process name, leaf) named once."""
        space = self._history.space(raw.pid, raw.time)
        known = raw.stack != UNKNOWN
        node = np.full(len(raw.stack), LOST, np.int64)
        first, which = unique_rows(space[known], raw.stack[known])
        stack = raw.stack[known][first]
        tree = address_tree(
            raw.words, raw.word_start[stack], raw.word_count[stack], space[known][first]
        )
        node[known] = tree.ends[which]
        first, which = unique_rows(comm, node)
        ends = self._stacks.add(tree, comm[first], node[first], self.comm_text)
        return ends[which]

    def finish(self) -> tuple[StackTree, I64, Threads, I64]:
        """The tree, each node's new number, the threads, and each thread's cgroup number."""
        tree, renumbered = self._stacks.finish()
        keys = list(self._threads)
        threads = Threads(
            pid=np.array([key[0] for key in keys], np.int32),
            tid=np.array([key[1] for key in keys], np.int32),
            parent_pid=np.array(self._parents, np.int32),
            comm=tuple(self.comm_text(key[2]) for key in keys),
            cgroup=(),
        )
        return tree, renumbered, threads, np.array([key[3] for key in keys], np.int64)


def unique_rows(*columns: I64) -> tuple[I64, I64]:
    """Of each distinct row its first index, and for each row which distinct one it is."""
    key = np.zeros(len(columns[0]), np.int64)
    room = 1
    for column in columns:
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        room *= width
        if room >= 1 << 62:  # does not fit one number: number the rows so far anew
            _, key = np.unique(key, return_inverse=True)
            room = (int(key.max(initial=0)) + 1) * width
        key = key * width + (column - low)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse
