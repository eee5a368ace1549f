"""When samples were taken how → the stretches that a segment tells of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from exhume.ingest.piece import Interval
from exhume.model.sample import Stretch
from exhume.store.layout import TICK_NS

_LEAST_GAP_NS, _MOST_GAP_NS = 100_000_000, 2_000_000_000
"""Between these, by how often was sampled: less without samples is not told as a gap."""

_TOGETHER_NS = 100_000_000
"""Cores that begin so shortly after each other begin together."""


def growing(whole: Interval, begins_ns: Mapping[int, int]) -> tuple[Interval, ...]:
    """`whole`, cut where one more of its cores begins to tell; those that are not in `begins_ns`
    do from its start on."""
    edges = [whole.start_ns]
    for at in sorted(begins_ns[core] for core in whole.cores if core in begins_ns):
        if at >= edges[-1] + _TOGETHER_NS:
            edges.append(at)
    return tuple(
        replace(
            whole,
            start_ns=start_ns,
            end_ns=end_ns,
            cores=tuple(core for core in whole.cores if begins_ns.get(core, 0) < end_ns),
        )
        for start_ns, end_ns in pairwise([*edges, whole.end_ns])
    )


def clipped(
    intervals: Sequence[Interval], offset_ns: int, start_ns: int, end_ns: int
) -> Iterator[Interval]:
    for one in intervals:
        begin, end = max(one.start_ns + offset_ns, start_ns), min(one.end_ns + offset_ns, end_ns)
        if begin < end:
            yield replace(one, start_ns=begin, end_ns=end)


def stretches_of(intervals: Sequence[Interval], first_ns: int, last_ns: int) -> tuple[Stretch, ...]:
    """At each instant the highest rate of those in force, and all cores that any of them watched;
    none where nothing was sampled."""
    covered = [_whole_ticks(one, first_ns, last_ns) for one in _without_small_gaps(intervals)]
    edges = sorted(
        {first_ns, last_ns, *(i.start_ns for i in covered), *(i.end_ns for i in covered)}
    )
    found: list[Stretch] = []
    for at in edges[:-1] or [first_ns]:
        inside = [i for i in covered if i.start_ns <= at < i.end_ns]
        best = max(inside, key=lambda i: i.rate_hz, default=None)
        cores = tuple(sorted({core for i in inside for core in i.cores}))
        here = Stretch(at, best.event, best.rate_hz, cores) if best else Stretch(at, "none", 0.0)
        if not found or replace(here, start_ns=found[-1].start_ns) != found[-1]:
            found.append(here)
    return tuple(found)


def _whole_ticks(one: Interval, first_ns: int, last_ns: int) -> Interval:
    """A segment keeps the times of samples in ticks: the first one's is before its time."""
    start_ns = first_ns + (one.start_ns - first_ns) // TICK_NS * TICK_NS
    end_ns = first_ns - (first_ns - one.end_ns) // TICK_NS * TICK_NS
    return replace(one, start_ns=start_ns, end_ns=min(end_ns, last_ns))


def _without_small_gaps(intervals: Sequence[Interval]) -> list[Interval]:
    ordered = sorted(intervals, key=lambda i: i.start_ns)
    found: list[Interval] = []
    for one in ordered:
        before = found[-1] if found else None
        if (
            before is not None
            and one.start_ns - before.end_ns <= _small_gap_ns(one.rate_hz)
            and (one.event, one.rate_hz) == (before.event, before.rate_hz)
        ):
            if one.cores == before.cores:
                found[-1] = replace(before, end_ns=max(one.end_ns, before.end_ns))
                continue
            found[-1] = replace(before, end_ns=max(one.start_ns, before.end_ns))
        found.append(one)
    return found


def _small_gap_ns(rate_hz: float) -> int:
    """Of two captures, one started when the other ended, the first sample comes within a period or
    two. What is longer nobody sampled: as sampled time, cores would look idle in it."""
    two_periods = round(2e9 / rate_hz) if rate_hz else 0
    return min(_MOST_GAP_NS, max(_LEAST_GAP_NS, two_periods))
