"""Samples of several pieces → one table: their trees become one, and so do their threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from exhume.derive.stacks import level_starts, sum_up
from exhume.ingest.overlaps import Span
from exhume.ingest.piece import Sampled
from exhume.model.arrays import I32, I64, U8, U16
from exhume.model.sample import Samples, Threads
from exhume.model.stack import StackTree
from exhume.perf.bounds import MORE_NAMES, MOST_NAMES, MOST_NODES, MOST_THREADS
from exhume.perf.joins import Rows
from exhume.perf.symbolize import CUT_SHORT_FRAMES, FrameTable
from exhume.perf.tree import TreeBuilder

MOST_MERGED_NODES, MOST_MERGED_NAMES = MOST_NODES * 3 // 2, MOST_NAMES * 3 // 2
"""More than one capture has: of a node's captures of the same minutes most is the same."""
_PIECE_ROWS = 1 << 15
_CORE_SHIFT = 40
_TIME_MASK = (1 << _CORE_SHIFT) - 1


class MergedSamples:
    """Of pieces that are added one by one, and need not be kept for it."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._frames = FrameTable(MOST_MERGED_NAMES)
        self._tree = TreeBuilder(MOST_MERGED_NODES)
        self._ends: list[I64] = []
        self._modes: list[U8] = []
        self._has_cut = False
        self._threads = Rows(5)
        """pid, tid, the parent's pid, and numbers of the texts for name and cgroup."""
        self._texts: dict[str, int] = {}
        self._keys: list[I64] = []
        """Core and time since the start, as one number that sorts like both."""
        self._nodes: list[I32] = []
        self._rows: list[I32] = []

    def add(self, sampled: Sampled, offset_ns: int, spans: Sequence[Span]) -> int:
        """Those of these stretches of wall time; returns how many they are."""
        nodes: list[I32] = []
        threads: list[I32] = []
        own = ((start - offset_ns, end - offset_ns) for start, end in spans)
        for rows in chain.from_iterable(sampled.rows.between(*span) for span in own):
            since = rows.time + (offset_ns - self._start_ns)
            self._keys.append((rows.core.astype(np.int64) << _CORE_SHIFT) | since)
            nodes.append(rows.node)
            threads.append(rows.thread)
        node = np.concatenate([np.empty(0, np.int32), *nodes])
        thread = np.concatenate([np.empty(0, np.int32), *threads])
        # `take`: looking up by 32-bit numbers in brackets is three times slower.
        self._nodes.append(self._tree_nodes(sampled.tree, node).astype(np.int32).take(node))
        self._rows.append(self._thread_rows(sampled.threads, thread).take(thread))
        return len(node)

    @property
    def has_too_many(self) -> bool:
        """Not all of their names, stacks and threads are told apart."""
        return self._has_cut or self._frames.is_full

    def _tree_nodes(self, tree: StackTree, used: I32) -> I64:
        """Of each node of a piece's tree that is used, its node in the common one."""
        counts = np.bincount(used, minlength=len(tree.parent))
        starts = level_starts(tree.parent)
        is_used = sum_up(tree.parent, counts, starts) > 0
        wanted = np.flatnonzero(np.bincount(tree.frame[is_used], minlength=len(tree.frames)))
        frame = np.zeros(len(tree.frames), np.int64)
        frame[wanted] = self._frames.numbers(tree.frames[number] for number in wanted.tolist())
        found = np.zeros(len(tree.parent), np.int64)
        ends = np.flatnonzero(counts)
        for begin, end in pairwise(starts[1:]):
            level = begin + np.flatnonzero(is_used[begin:end])
            if len(self._tree) + len(level) > MOST_MERGED_NODES:
                self._cut_short(tree, found, begin, ends)
                break
            found[level] = self._tree.children(found[tree.parent[level]], frame[tree.frame[level]])
        self._ends.append(found[ends])
        self._modes.append(tree.mode[ends])
        return found

    def _cut_short(self, tree: StackTree, found: I64, begin: int, ends: I64) -> None:
        """There is no room for nodes from `begin` on: stacks go as far as they are known, and then
        to a frame that says so. What ends there is of one mode."""
        self._has_cut = True
        above = ends[ends >= begin]
        deeper = above
        while (is_deeper := above >= begin).any():
            above = np.where(is_deeper, tree.parent[above], above)
        others = self._frames.numbers(CUT_SHORT_FRAMES)
        found[deeper] = self._tree.children(found[above], others[tree.mode[deeper]])

    def _thread_rows(self, threads: Threads, used: I32) -> I32:
        """Of each thread of a piece that is used, its row in the common table."""
        rows = np.flatnonzero(np.bincount(used, minlength=len(threads)))
        ids = (threads.pid[rows], threads.tid[rows], threads.parent_pid[rows])
        texts = (self._numbers(column, rows) for column in (threads.comm, threads.cgroup))
        held = (*(column.astype(np.int64) for column in ids), *texts)
        numbers = self._threads.add(*held, most=MOST_THREADS)
        if (is_new := numbers < 0).any():
            numbers[is_new] = self._other_threads()
        found = np.zeros(len(threads), np.int32)
        found[rows] = numbers
        return found

    def _other_threads(self) -> int:
        """The one that stands for all that there is no room for."""
        self._has_cut = True
        name, cgroup = (self._texts.setdefault(one, len(self._texts)) for one in (MORE_NAMES, ""))
        row = (-1, -1, -1, name, cgroup)
        return int(self._threads.add(*(np.array([one], np.int64) for one in row))[0])

    def _numbers(self, texts: Sequence[str], rows: I64) -> I64:
        known = self._texts
        numbers = [known.setdefault(texts[row], len(known)) for row in rows.tolist()]
        return np.array(numbers, np.int64)

    def finish(self) -> tuple[StackTree, Threads, Callable[[], Iterator[Samples]], I64]:
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        modes = np.concatenate([np.empty(0, np.uint8), *self._modes])
        tree, renumbered = self._tree.finish(self._frames.frames, ends, modes)
        pid, tid, parent_pid = (self._threads.column(n).astype(np.int32) for n in range(3))
        texts = list(self._texts)
        comm, cgroup = (
            tuple(texts[number] for number in self._threads.column(n).tolist()) for n in (3, 4)
        )
        threads = Threads(pid, tid, parent_pid, comm, cgroup)
        key = np.concatenate([np.empty(0, np.int64), *self._keys])
        node = np.concatenate([np.empty(0, np.int32), *self._nodes])
        thread = np.concatenate([np.empty(0, np.int32), *self._rows])
        self._keys, self._nodes, self._rows = [], [], []
        order = _order(key)
        start_ns = self._start_ns

        def pieces() -> Iterator[Samples]:
            for begin in range(0, len(order), _PIECE_ROWS):
                rows = order[begin : begin + _PIECE_ROWS]
                here = key[rows]
                time = (here & _TIME_MASK) + start_ns
                core: U16 = (here >> _CORE_SHIFT).astype(np.uint16)
                stack: I32 = renumbered.take(node[rows]).astype(np.int32)
                yield Samples(time, core, thread[rows], stack, np.zeros(len(rows), np.uint32))

        counts = np.zeros(len(renumbered), np.int64)
        counts[renumbered] = np.bincount(node, minlength=len(renumbered))
        return tree, threads, pieces, counts


def _order(key: I64) -> I64:
    """By core, then by time. A capture has the samples of each core in order, but seldom all."""
    core = (key >> _CORE_SHIFT).astype(np.uint16)  # 16 bits: sorted by radix
    order = np.argsort(core, kind="stable")
    counts = np.bincount(core)
    end = 0
    for count in counts[counts > 0].tolist():  # one by one, which takes less memory
        begin, end = end, end + count
        rows = order[begin:end]
        ordered = key[rows]
        if (ordered[1:] < ordered[:-1]).any():
            order[begin:end] = rows[np.argsort(ordered, kind="stable")]
    return order
