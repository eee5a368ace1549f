"""Captures of one node that were taken at the same time: what two of them tell counts once.

A segment says of each instant which event was sampled and how often, so two measures can't be mixed
in it; and two captures of the whole machine would make each thread take its time twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from exhume.derive.sets import distinct
from exhume.ingest.record_options import is_of_all, record_options
from exhume.model.arrays import I32
from exhume.perf.eventnames import is_of_a_part, is_time_like, preference

Span = tuple[int, int]
"""[start, end), in nanoseconds."""

THREADS_TOLD = 256
_NEAR_NS = 2_500_000_000
"""Times by file names are a second or two off: captures that follow each other seem to overlap."""
_IDLE_TASK = 0


class Covered(Struct, frozen=True):
    """When, where and of whom an input has samples."""

    node: str
    path: str
    spans: tuple[Span, ...]
    """Of wall time, in order."""
    event: str
    rate_hz: float
    is_whole: bool
    """Whoever ran on its cores was sampled, not some processes alone."""
    cores: tuple[int, ...]
    """Empty where it does not say."""
    threads: tuple[int, ...]
    """Some: the same ones of the same."""
    rows: int

    @property
    def rank(self) -> tuple[bool, bool, bool, int, float, int, str]:
        """Lower is better."""
        is_other = not is_time_like(self.event)
        return (
            is_other, not self.is_whole, is_of_a_part(self.event), preference(self.event),
            -self.rate_hz, -self.rows, self.path,
        )  # fmt: skip


def some_threads(tid: I32) -> tuple[int, ...]:
    """Those whose number is smallest when stirred, but for the idle task."""
    stirred = distinct(tid[tid > _IDLE_TASK]).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return tuple(np.sort(stirred)[:THREADS_TOLD].tolist())


def is_whole(command: str, idle: int, tid: I32) -> bool:
    """Does a capture tell of whoever ran? By its command, or by the idle task, which nobody asks
    for by its number."""
    return idle > 0 or bool((tid == _IDLE_TASK).any()) or is_of_all(record_options(command))


def left_out(one: Covered, better: Sequence[Covered]) -> list[tuple[Span, Covered]]:
    """The stretches of `one` that others cover already, and who does.

    What is no measure of time is taken where there is no other: as within one capture.
    """
    others = [other for other in better if other.node == one.node and other.spans]
    if not is_time_like(one.event):
        for other in others:
            if is_time_like(other.event):
                return [(span, other) for span in one.spans]
    if not one.spans:
        return []
    # The pieces of a night are many, and few of them meet.
    first, last = one.spans[0][0], one.spans[-1][1]
    met = [other for other in others if other.spans[0][0] < last and other.spans[-1][1] > first]
    return [
        (common, other)
        for other in met
        if _contradict(one, other)
        for span in one.spans
        for common in _common(span, other.spans)
        if _is_sure(common, one, other)
    ]


def _contradict(one: Covered, other: Covered) -> bool:
    if one.event != other.event:
        return True
    if one.cores and other.cores and not set(one.cores) & set(other.cores):
        return False
    return one.is_whole or other.is_whole or not set(one.threads).isdisjoint(other.threads)


def _common(span: Span, others: Iterable[Span]) -> Iterator[Span]:
    for start, end in others:
        start, end = max(span[0], start), min(span[1], end)
        if start < end:
            yield start, end


def _is_sure(span: Span, one: Covered, other: Covered) -> bool:
    length = span[1] - span[0]
    return length > _NEAR_NS or 2 * length > min(_length_ns(one.spans), _length_ns(other.spans))


def joined(spans: Iterable[Span], gap_ns: int = 0) -> tuple[Span, ...]:
    """Those between which there is no more than that are one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] + gap_ns:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return tuple(found)


def without(spans: Iterable[Span], taken: Iterable[Span]) -> tuple[Span, ...]:
    """What is left of them."""
    left = list(spans)
    for start, end in taken:
        left = [
            part
            for span in left
            for part in ((span[0], min(span[1], start)), (max(span[0], end), span[1]))
            if part[0] < part[1]
        ]
    return tuple(left)


def note(taken: Sequence[tuple[Span, Covered]], one: Covered) -> str:
    """What to say of an input whose samples were left out, all or in part."""
    names = ", ".join(dict.fromkeys(Path(other.path).name for _, other in taken))
    event = taken[0][1].event
    if one.event == event:
        why = f"{names} has that time too, and it would count twice"
    elif is_time_like(event):
        why = f"{names} has samples of {event}, which measures time better"
    else:
        why = f"{names} has that time too, and {one.event} can't be mixed with {event}"
    left_ns = _length_ns(without(one.spans, (span for span, _ in taken)))
    which = f"{(_length_ns(one.spans) - left_ns) / 1e9:.3g} s of its samples" if left_ns else ""
    return f"{which or 'its samples'} are left out: {why}; import it alone to see them"


def _length_ns(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)
