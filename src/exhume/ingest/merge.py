"""Pieces → the segments of a recording: ten minutes of wall time each, everything in one place.

An import's segments are on wall time throughout: pieces of several clocks have no other in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from operator import attrgetter

import numpy as np
from msgspec import Struct

from exhume.derive.stacks import level_starts, sum_up
from exhume.ingest.blocks import SEAM_NS, joined_blocks
from exhume.ingest.intervals import clipped, stretches_of
from exhume.ingest.overlaps import Span, without
from exhume.ingest.piece import Interval, Piece, Sampled
from exhume.ingest.row_table import RowTable
from exhume.ingest.same_events import without_repeats
from exhume.ingest.snapshots_fill import filled, is_core_time
from exhume.ingest.snapshots_zombies import with_zombies
from exhume.model.arrays import I32, I64, U16
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.event import Event
from exhume.model.sample import Samples, Threads
from exhume.model.segment import Origin, SegmentData
from exhume.model.series import Block
from exhume.model.stack import StackTree
from exhume.perf.joins import Rows
from exhume.perf.symbolize import FrameTable
from exhume.perf.tree import TreeBuilder

SEGMENT_NS = 600 * 1_000_000_000
MAX_ROWS = 2_000_000
"""Samples of one segment: more are cut into shorter ones. They take 30 bytes each while sorted, and
several processes may do that at once."""
_PIECE_ROWS = 1 << 15
_SECOND_NS = 1_000_000_000
_CORE_SHIFT = 40
_TIME_MASK = (1 << _CORE_SHIFT) - 1


class Placed(Struct, frozen=True):
    """A piece whose wall time is settled."""

    piece: Piece
    offset_ns: int
    """Wall time minus the piece's own."""
    with_samples: bool = True
    without: tuple[Span, ...] = ()
    """Stretches of wall time whose samples others have."""
    is_kernel_log: bool = False
    was_written: bool = False
    """By an earlier import: its times of cores may be sums of percentages, nobody knows now."""
    input_id: str = ""
    """Pieces of one input never tell the same event twice; those of two may."""

    def reach_ns(self) -> Span | None:
        """From when to when it matters: readings of counters, and lines of logs, may have to do
        with those of others next to them."""
        span = self.piece.span_ns()
        if span is None:
            return None
        is_apart = self.piece.sampled is not None and not self.piece.blocks
        margin_ns = 0 if is_apart else SEAM_NS
        return span[0] + self.offset_ns - margin_ns, span[1] + 1 + self.offset_ns + margin_ns


class Merged(Struct, frozen=True):
    data: SegmentData
    """Without its samples."""
    pieces: Callable[[], Iterator[Samples]]
    counts: I64
    """How many samples end at each node of its tree."""
    kept: dict[str, int]
    """How many are of which input."""


def windows(
    placed: Sequence[Placed], start_ns: int, end_ns: int, shares: int = 1
) -> list[tuple[int, int]]:
    """[start, end) of wall time cut into what fits one segment each. None of several is empty.

    `shares`: so many at a time, alike in size, as far as whole seconds allow.
    """
    total = sum(len(_rows(p)) for p in placed)
    if total <= MAX_ROWS and shares == 1:
        return [(start_ns, end_ns)]
    seconds = np.zeros(-(-(end_ns - start_ns) // _SECOND_NS), np.int64)
    for p in placed:
        for begin, end in _whole_seconds(without([(start_ns, end_ns)], p.without), start_ns):
            first = (begin - start_ns) // _SECOND_NS
            found = _rows(p).counted(begin - p.offset_ns, end - p.offset_ns, _SECOND_NS)
            seconds[first : first + len(found)] += found
    total = int(seconds.sum())
    rounds = -(-total // (shares * MAX_ROWS * 9 // 10))  # seconds are not alike
    shares *= max(1, rounds)
    edges, held, before = [start_ns], 0, 0
    for second, count in enumerate(seconds.tolist()):
        is_shared = len(edges) < shares and before + count // 2 >= len(edges) * total // shares
        if held and (held + count > MAX_ROWS or (is_shared and count)):
            edges.append(start_ns + second * _SECOND_NS)
            held = 0
        held += count
        before += count
    return list(pairwise([*edges, end_ns]))


def is_empty(placed: Sequence[Placed], start_ns: int, end_ns: int) -> bool:
    """Does none of them tell anything of [start, end)?"""
    return not any(_tells(p, start_ns, end_ns) for p in placed)


def _tells(p: Placed, start_ns: int, end_ns: int) -> bool:
    if p.with_samples and p.piece.sampled is not None:
        for span in without([(start_ns, end_ns)], p.without):
            if any(clipped(p.piece.sampled.intervals, p.offset_ns, *span)):
                return True
    first, last = start_ns - p.offset_ns, end_ns - p.offset_ns
    return any(first <= event.time_ns < last for event in p.piece.events) or any(
        bool(((block.tick_ns >= first) & (block.tick_ns < last)).any()) for block in p.piece.blocks
    )


def _whole_seconds(spans: Sequence[Span], start_ns: int) -> Iterator[Span]:
    """Each with the seconds, counted from the start, that it begins and ends in."""
    for begin, end in spans:
        yield begin - (begin - start_ns) % _SECOND_NS, end + (start_ns - end) % _SECOND_NS


def _rows(placed: Placed) -> RowTable:
    sampled = placed.piece.sampled if placed.with_samples else None
    return RowTable({}) if sampled is None else sampled.rows


def merge(placed: Sequence[Placed], start_ns: int, end_ns: int, origin: Origin) -> Merged | None:
    """What lies in [start, end) of wall time; None where there is nothing."""
    samples = _Samples(start_ns)
    intervals: list[Interval] = []
    kept: Counter[str] = Counter()
    for p in placed:
        if p.with_samples and p.piece.sampled is not None:
            spans = without([(start_ns, end_ns)], p.without)
            kept[p.input_id] += samples.add(p.piece.sampled, p.offset_ns, spans)
            for span in spans:
                intervals += clipped(p.piece.sampled.intervals, p.offset_ns, *span)
    blocks = _blocks(placed, start_ns, end_ns)
    told: dict[str, list[Event]] = {}
    for p in sorted(placed, key=lambda p: not p.was_written):
        told.setdefault(p.input_id, []).extend(_moved_events(p, start_ns, end_ns))
    events = sorted(without_repeats(list(told.values())), key=attrgetter("time_ns"))
    instants = [i.start_ns for i in intervals] + [i.end_ns for i in intervals]
    for block in blocks:
        instants += [max(start_ns, int(block.tick_ns[0])), int(block.tick_ns[-1]) + 1]
    instants += [event.time_ns for event in events[:1]]
    instants += [event.time_ns + 1 for event in events[-1:]]
    if not instants:
        return None
    first, last = min(instants), max(instants)
    tree, threads, pieces, counts = samples.finish()
    return Merged(
        SegmentData(
            origin=origin,
            clock=_clock(placed, first),
            start_ns=first,
            end_ns=last,
            stretches=stretches_of(intervals, first, last),
            samples=NO_SAMPLES,
            tree=tree,
            threads=threads,
            blocks=blocks,
            events=tuple(events),
        ),
        pieces,
        counts,
        kept,
    )


def _blocks(placed: Sequence[Placed], start_ns: int, end_ns: int) -> tuple[Block, ...]:
    """Exact counters first; then, where they leave holes, what was there and what was derived."""
    exact: list[tuple[Sequence[Block], int]] = []
    fillers: list[tuple[Sequence[Block], int]] = []
    for p in sorted(placed, key=lambda p: not p.was_written):
        if p.piece.is_filler:
            fillers.append((p.piece.blocks, p.offset_ns))
        elif p.was_written:
            fillers.append(([b for b in p.piece.blocks if is_core_time(b)], p.offset_ns))
    for p in placed:
        if not p.piece.is_filler:
            kept = [b for b in p.piece.blocks if not (p.was_written and is_core_time(b))]
            exact.append((kept, p.offset_ns))
    blocks = joined_blocks(exact, start_ns, end_ns)
    for part in fillers:
        blocks = filled(blocks, joined_blocks([part], start_ns, end_ns))
    return with_zombies(blocks)


NO_SAMPLES = Samples(
    np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0, np.int32), np.empty(0, np.int32),
    np.empty(0, np.uint32),
)  # fmt: skip


class _Samples:
    """Collects samples of several pieces: their trees become one, and so do their threads."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._frames = FrameTable()
        self._tree = TreeBuilder()
        self._ends: list[I64] = []
        self._modes: list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]] = []
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

    def _tree_nodes(self, tree: StackTree, used: I32) -> I64:
        """Of each node of a piece's tree that is used, its node in the common one."""
        counts = np.bincount(used, minlength=len(tree.parent))
        starts = level_starts(tree.parent)
        is_used = sum_up(tree.parent, counts, starts) > 0
        wanted = np.flatnonzero(np.bincount(tree.frame[is_used], minlength=len(tree.frames)))
        frame = np.zeros(len(tree.frames), np.int64)
        frame[wanted] = self._frames.numbers(tree.frames[number] for number in wanted.tolist())
        found = np.zeros(len(tree.parent), np.int64)
        for begin, end in pairwise(starts[1:]):
            level = begin + np.flatnonzero(is_used[begin:end])
            found[level] = self._tree.children(found[tree.parent[level]], frame[tree.frame[level]])
        ends = np.flatnonzero(counts)
        self._ends.append(found[ends])
        self._modes.append(tree.mode[ends])
        return found

    def _thread_rows(self, threads: Threads, used: I32) -> I32:
        """Of each thread of a piece that is used, its row in the common table."""
        rows = np.flatnonzero(np.bincount(used, minlength=len(threads)))
        ids = (threads.pid[rows], threads.tid[rows], threads.parent_pid[rows])
        texts = (self._numbers(column, rows) for column in (threads.comm, threads.cgroup))
        found = np.zeros(len(threads), np.int32)
        found[rows] = self._threads.add(*(column.astype(np.int64) for column in ids), *texts)
        return found

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


def _moved_events(placed: Placed, start_ns: int, end_ns: int) -> Iterator[Event]:
    for event in placed.piece.events:
        at = event.time_ns + placed.offset_ns
        if start_ns <= at < end_ns:
            yield Event(
                at, event.kind, event.subject, event.text, event.core, event.pid, event.count,
                event.fields,
            )  # fmt: skip


def _clock(placed: Sequence[Placed], at_ns: int) -> ClockMap:
    kernel = next((at_ns - p.offset_ns for p in placed if p.is_kernel_log), None)
    return ClockMap.of([ClockPair(at_ns, at_ns, kernel)])
