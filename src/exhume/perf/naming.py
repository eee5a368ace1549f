"""Samples as the kernel gives them → threads and nodes of the tree of named stacks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from exhume.derive.sets import distinct, is_in
from exhume.model.arrays import I32, I64, U16, U64
from exhume.model.sample import Threads
from exhume.model.stack import StackTree
from exhume.perf.asof import UNKNOWN
from exhume.perf.bounds import MORE_NAMES, MOST_NAMES, MOST_PLACES, MOST_THREADS
from exhume.perf.chains import Chains, chains_of
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History
from exhume.perf.joins import Rows
from exhume.perf.stack_names import MappedCode, StackNamer
from exhume.perf.symbolize import Symbolizer

_IDLE_NAME = "swapper"
_OTHERS = int(np.iinfo(np.int64).min)
"""The number of a name that stands for all that are not kept."""


class RawSamples(Struct, frozen=True):
    """A chunk of samples with one dictionary of stacks."""

    time: I64
    core: U16
    pid: I32
    tid: I32
    stack: I64
    """Index of a stack; those without an entry (its frame was damaged) are UNKNOWN."""
    cgroup: I64
    """Number in the caller's table of cgroups, or UNKNOWN."""
    words: tuple[U64, ...]
    """All stacks' words, leaf first, with perf's context markers; parts that follow each other."""
    word_start: I64
    word_count: I64


class Namer:
    """Holds what grows over a segment: frames, tree and threads."""

    def __init__(
        self,
        history: History,
        symbolizer: Symbolizer,
        files: Mapping[int, MappedCode],
        most_nodes: int | None = None,
        most_threads: int = MOST_THREADS,
        most_places: int = MOST_PLACES,
    ) -> None:
        """`most_nodes`: of its tree, where that has a bound."""
        self._history = history
        self._stacks = StackNamer(history, symbolizer, files, most_nodes, most_places)
        self._threads = Rows(4)
        """pid, tid, name, cgroup."""
        self._parents: list[I32] = []
        self._nameless: I64 = np.empty(0, np.int64)
        """Threads whose names are not known."""
        self._most_threads = most_threads
        self._has_more_threads = False

    def name(self, raw: RawSamples) -> tuple[I64, I64]:
        """For each sample its thread and the node its stack ends at (numbers until `finish`)."""
        comm = self._history.name(raw.tid, raw.time)
        nameless = np.flatnonzero(comm == UNKNOWN)
        if len(nameless):
            # A thread begins with the name of who made it: of one whose birth was not told (it fell
            # between perf's look at /proc and its start) that of its process is nearest.
            comm[nameless] = self._history.name(raw.pid[nameless], raw.time[nameless])
            nameless = nameless[comm[nameless] == UNKNOWN]
            # By its tid, as perf does. A reaped task has tid -1, with or without a pid.
            comm[nameless] = self._by_tid(raw.tid[nameless].astype(np.int64))
        cgroup = np.where(
            raw.cgroup == UNKNOWN, self._history.cgroup(raw.pid, raw.time), raw.cgroup
        )
        columns = raw.pid.astype(np.int64), raw.tid.astype(np.int64), comm, cgroup
        first, who = distinct_rows(*columns)
        threads = self._thread_numbers(raw, first, [column[first] for column in columns])
        names, name = distinct_rows(comm[first])
        chains = chains_of(raw.words, raw.word_start, raw.word_count)
        rows = name.take(who), self._spaces(raw, chains), raw.stack
        nodes = self._stacks.add(chains, comm[first[names]], rows, self.comm_text)
        return threads.take(who), nodes

    def _spaces(self, raw: RawSamples, chains: Chains) -> I64:
        """Until exec returns, the program's address is one of the program that was there before."""
        space, left = self._history.spaces_before(raw.pid, raw.time)
        rows = np.flatnonzero((left != UNKNOWN) & (raw.stack != UNKNOWN))
        address = chains.lone_user_words(raw.stack[rows])
        rows, address = rows[address != 0], address[address != 0]
        if not len(rows):
            return space
        maps = self._history.maps
        elsewhere = np.flatnonzero(maps.at(space[rows], address)[0] == 0)
        rows, address = rows[elsewhere], address[elsewhere]
        is_old = maps.at(left[rows], address)[0] != 0
        space[rows[is_old]] = left[rows[is_old]]
        return space

    def _thread_numbers(self, raw: RawSamples, first: I64, keys: list[I64]) -> I64:
        """Of each distinct thread; `first` is a sample of it."""
        # In order of pid and tid, as far as they come together: segments are 1 % smaller.
        order = np.lexsort(keys[::-1])
        before = len(self._threads)
        numbers = np.empty(len(first), np.int64)
        numbers[order] = self._threads.add(*(key[order] for key in keys), most=self._most_threads)
        fresh = order[numbers[order] >= before]
        parents = self._history.parent_pid(raw.pid[first[fresh]], raw.time[first[fresh]])
        self._parents.append(parents.astype(np.int32))
        if (numbers < 0).any():
            numbers[numbers < 0] = self._other_threads()
        return numbers

    def _other_threads(self) -> int:
        """The one that stands for all that come late."""
        if not self._has_more_threads:
            self._parents.append(np.array([UNKNOWN], np.int32))
        self._has_more_threads = True
        ids = (np.array([one], np.int64) for one in (UNKNOWN, UNKNOWN, _OTHERS, UNKNOWN))
        return int(self._threads.add(*ids)[0])

    def _by_tid(self, tid: I64) -> I64:
        """Instead of numbers of names."""
        fresh = distinct(tid)
        fresh = fresh[~is_in(fresh, self._nameless)][: MOST_NAMES - len(self._nameless)]
        if len(fresh):
            self._nameless = distinct(np.concatenate([self._nameless, fresh]))
        if len(self._nameless) < MOST_NAMES:
            return -2 - tid
        return np.where(is_in(tid, self._nameless), -2 - tid, _OTHERS)

    @property
    def has_too_many(self) -> bool:
        """Not all of what it was told is told apart."""
        return (
            self._has_more_threads
            or self._history.has_too_many
            or self._stacks.has_too_many
            or len(self._nameless) >= MOST_NAMES
        )

    def comm_text(self, comm: int) -> str:
        if comm >= 0:
            return self._history.names[comm]
        if comm == _OTHERS:
            return MORE_NAMES
        tid = -2 - comm
        return _IDLE_NAME if tid == 0 else f":{tid}"

    def finish(self) -> tuple[StackTree, I64, Threads, I64]:
        """The tree, each node's new number, the threads, and each thread's cgroup number."""
        tree, renumbered = self._stacks.finish()
        pid, tid, comm, cgroup = (self._threads.column(index) for index in range(4))
        first, which = distinct_rows(comm)
        texts = [self.comm_text(one) for one in comm[first].tolist()]
        threads = Threads(
            pid=pid.astype(np.int32),
            tid=tid.astype(np.int32),
            parent_pid=np.concatenate([np.empty(0, np.int32), *self._parents]),
            comm=tuple(np.array(texts, object)[which]),
            cgroup=(),
        )
        return tree, renumbered, threads, cgroup
