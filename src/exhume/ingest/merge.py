"""Pieces → the segments of a recording: ten minutes of wall time each, everything in one place.

An import's segments are on wall time throughout: pieces of several clocks have no other in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

import numpy as np
from msgspec import Struct

from exhume.ingest.blocks import SEAM_NS, is_between, joined_blocks, tells_of
from exhume.ingest.intervals import clipped, stretches_of
from exhume.ingest.merged_samples import MergedSamples
from exhume.ingest.overlaps import Span, without
from exhume.ingest.piece import Interval, Piece
from exhume.ingest.row_table import RowTable
from exhume.ingest.same_events import without_repeats
from exhume.ingest.snapshots_fill import filled, is_core_time
from exhume.ingest.snapshots_zombies import with_zombies
from exhume.model.arrays import I64
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.event import Event
from exhume.model.sample import Samples
from exhume.model.segment import Origin, SegmentData
from exhume.model.series import Block
from exhume.perf.bounds import MOST_BIRTHS

SEGMENT_NS = 600 * 1_000_000_000
MAX_ROWS = 2_000_000
"""Samples of one segment: more are cut into shorter ones. They take 30 bytes each while sorted, and
several processes may do that at once."""
_SECOND_NS = 1_000_000_000
_BIRTHS = frozenset({"exec", "exit"})
NO_SAMPLES = Samples(
    np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0, np.int32), np.empty(0, np.int32),
    np.empty(0, np.uint32),
)  # fmt: skip


class Placed(Struct, frozen=True):
    """A piece whose wall time is settled."""

    load: Callable[[], Piece]
    """Pieces of hostile files are large: of several one at a time is held."""
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
        piece = self.load()
        span = piece.span_ns()
        if span is None:
            return None
        is_apart = piece.sampled is not None and not piece.blocks
        margin_ns = 0 if is_apart else SEAM_NS
        return span[0] + self.offset_ns - margin_ns, span[1] + 1 + self.offset_ns + margin_ns

    def rows(self) -> RowTable:
        sampled = self.load().sampled if self.with_samples else None
        return RowTable({}) if sampled is None else sampled.rows


class Merged(Struct, frozen=True):
    data: SegmentData
    """Without its samples."""
    pieces: Callable[[], Iterator[Samples]]
    counts: I64
    """How many samples end at each node of its tree."""
    kept: dict[str, int]
    """How many are of which input."""
    has_too_many: bool
    """Not all that its pieces tell apart is told apart in it."""


def windows(
    placed: Sequence[Placed], start_ns: int, end_ns: int, shares: int = 1
) -> list[tuple[int, int]]:
    """[start, end) of wall time cut into what fits one segment each. None of several is empty.

    `shares`: so many at a time, alike in size, as far as whole seconds allow.
    """
    seconds = np.zeros(-(-(end_ns - start_ns) // _SECOND_NS), np.int64)
    for p in placed:
        rows = p.rows()
        for begin, end in _whole_seconds(without([(start_ns, end_ns)], p.without), start_ns):
            first = (begin - start_ns) // _SECOND_NS
            found = rows.counted(begin - p.offset_ns, end - p.offset_ns, _SECOND_NS)
            seconds[first : first + len(found)] += found
    total = int(seconds.sum())
    if total <= MAX_ROWS and shares == 1:
        return [(start_ns, end_ns)]
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
    piece = p.load()
    if p.with_samples and piece.sampled is not None:
        for span in without([(start_ns, end_ns)], p.without):
            if any(clipped(piece.sampled.intervals, p.offset_ns, *span)):
                return True
    first, last = start_ns - p.offset_ns, end_ns - p.offset_ns
    return any(first <= event.time_ns < last for event in piece.events) or any(
        tells_of(block, first, last) for block in piece.blocks
    )


def _whole_seconds(spans: Sequence[Span], start_ns: int) -> Iterator[Span]:
    """Each with the seconds, counted from the start, that it begins and ends in."""
    for begin, end in spans:
        yield begin - (begin - start_ns) % _SECOND_NS, end + (start_ns - end) % _SECOND_NS


def merge(placed: Sequence[Placed], start_ns: int, end_ns: int, origin: Origin) -> Merged | None:
    """What lies in [start, end) of wall time; None where there is nothing."""
    samples, told = MergedSamples(start_ns), _Told(start_ns, end_ns)
    intervals: list[Interval] = []
    counters: list[_Counters] = []
    written: list[Span] = []
    kept: Counter[str] = Counter()
    for p in placed:
        piece = p.load()
        if p.with_samples and piece.sampled is not None:
            spans = without([(start_ns, end_ns)], p.without)
            kept[p.input_id] += samples.add(piece.sampled, p.offset_ns, spans)
            for span in spans:
                intervals += clipped(piece.sampled.intervals, p.offset_ns, *span)
        counters.append(_Counters(piece.blocks, p.offset_ns, p.was_written, piece.is_filler))
        told.add(p, piece.events)
        if p.was_written and piece.told_ns is not None:  # what lay beyond its edges it has no more
            written.append(piece.told_ns)
        del piece  # before the next one is loaded
    blocks, events = _blocks(counters, start_ns, end_ns), told.events()
    instants = [i.start_ns for i in intervals] + [i.end_ns for i in intervals]
    for block in blocks:
        instants += [max(start_ns, int(block.tick_ns[0])), int(block.tick_ns[-1]) + 1]
    instants += [event.time_ns for event in events[:1]]
    instants += [event.time_ns + 1 for event in events[-1:]]
    if not instants:
        return None
    for begin, end in written:
        if begin < end_ns and start_ns < end:
            instants += [max(start_ns, begin), min(end_ns, end)]
    instants += [
        edge
        for edge in (start_ns, end_ns)
        if any(is_between(block, edge - p.offset_ns) for p in counters for block in p.blocks)
    ]
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
            events=events,
        ),
        pieces,
        counts,
        kept,
        samples.has_too_many or told.has_more,
    )


class _Counters(Struct, frozen=True):
    """Of one piece."""

    blocks: tuple[Block, ...]
    offset_ns: int
    was_written: bool
    is_filler: bool


def _blocks(parts: Sequence[_Counters], start_ns: int, end_ns: int) -> tuple[Block, ...]:
    """Exact counters first; then, where they leave holes, what was there and what was derived."""
    exact: list[tuple[Sequence[Block], int]] = []
    fillers: list[tuple[Sequence[Block], int]] = []
    for p in sorted(parts, key=lambda p: not p.was_written):
        if p.is_filler:
            fillers.append((p.blocks, p.offset_ns))
        elif p.was_written:
            fillers.append(([b for b in p.blocks if is_core_time(b)], p.offset_ns))
    for p in parts:
        if not p.is_filler:
            kept = [b for b in p.blocks if not (p.was_written and is_core_time(b))]
            exact.append((kept, p.offset_ns))
    blocks = joined_blocks(exact, start_ns, end_ns)
    for part in fillers:
        blocks = filled(blocks, joined_blocks([part], start_ns, end_ns))
    return with_zombies(blocks)


class _Told:
    """Events of [start, end) of wall time."""

    def __init__(self, start_ns: int, end_ns: int) -> None:
        self._start_ns, self._end_ns = start_ns, end_ns
        self._before: dict[str, list[Event]] = {}
        """By input, of those that were written by an earlier import: they count first."""
        self._fresh: dict[str, list[Event]] = {}
        self._births = 0
        self.has_more = False
        """Some births and deaths of processes are left out."""

    def add(self, placed: Placed, events: Sequence[Event]) -> None:
        of = self._before if placed.was_written else self._fresh
        found = of.setdefault(placed.input_id, [])
        for event in events:
            at = event.time_ns + placed.offset_ns
            if not self._start_ns <= at < self._end_ns:
                continue
            if event.kind in _BIRTHS:
                self._births += 1
                if self._births > MOST_BIRTHS:
                    self.has_more = True
                    continue
            found.append(
                Event(
                    at, event.kind, event.subject, event.text, event.core, event.pid, event.count,
                    event.fields,
                )
            )  # fmt: skip

    def events(self) -> tuple[Event, ...]:
        """In order of time; what two inputs tell once."""
        groups = [*self._before.values(), *self._fresh.values()]
        return tuple(sorted(without_repeats(groups), key=attrgetter("time_ns")))


def _clock(placed: Sequence[Placed], at_ns: int) -> ClockMap:
    kernel = next((at_ns - p.offset_ns for p in placed if p.is_kernel_log), None)
    return ClockMap.of([ClockPair(at_ns, at_ns, kernel)])
