"""What happened in a window: kernel log lines, restarts, execs and exits, cores going off, gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from exhume.model.answers import EventAnswer
from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.model.evidence import EventTally
from exhume.model.window import Window
from exhume.store.event_rows import EventRows, event_rows
from exhume.store.recording import Recording
from exhume.store.rollups import SECOND_NS
from exhume.store.view import SegmentView

LATE_NS = 60 * SECOND_NS
"""Some things are told of after the fact: a unit's start when systemd is next asked."""
GOES_ON_NS = 5 * SECOND_NS
"""A view that begins so soon after another ended has the same recorder behind it."""


def events(
    recording: Recording,
    window: Window,
    kinds: Collection[str] = (),
    subject: str | None = None,
    besides: Collection[str] = (),
) -> list[EventAnswer]:
    """In order of wall time; of all kinds, of some, or of all but some."""
    found: list[EventAnswer] = []
    for rows, wall in rows_within(recording, window, kinds, besides):
        found.extend(
            _answer(rows.event(row), at)
            for row, at in enumerate(wall.tolist())
            if window.contains(at) and subject in (None, rows.subject[row])
        )
    return sorted(found, key=lambda event: event.wall_ns)


def event_tallies(
    recording: Recording, window: Window, kinds: Collection[str]
) -> tuple[EventTally, ...]:
    """How many of each kind and name there were; the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for rows, wall in rows_within(recording, window, kinds):
        inside = (wall >= window.start_ns) & (wall < window.end_ns)
        for row in np.flatnonzero(inside).tolist():
            counts[rows.kind[row], rows.subject[row]] += rows.count[row]
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(EventTally(kind, name, count) for (kind, name), count in ranked)


def rows_within(
    recording: Recording, window: Window, kinds: Collection[str], besides: Collection[str] = ()
) -> Iterator[tuple[EventRows, I64]]:
    """The events of each view that may have some in the window, and their wall times."""
    for view in views_of(recording, window):
        with recording.sparing(view):
            rows = event_rows(view, kinds, besides)
            yield rows, view.clock.to_wall(rows.time_ns)


def views_of(recording: Recording, window: Window) -> list[SegmentView]:
    """Views that may tell of the window: those of its time, and later ones that look back.

    The kernel log is replayed from boot when a recorder starts, so the first view of each run may
    hold lines of hours before it. One that goes on where another ended holds a minute's at most.
    """
    every = recording.views()
    found = []
    for view in every:
        begins = view.window.start_ns
        if view.window.overlaps(window) or window.end_ns <= begins < window.end_ns + LATE_NS:
            found.append(view)
        elif begins >= window.end_ns:
            booted_ns = view.clock.wall(0)
            if booted_ns < window.end_ns and not any(_goes_on(other, view) for other in every):
                found.append(view)
    return found


def _goes_on(before: SegmentView, after: SegmentView) -> bool:
    apart = after.start_ns - before.end_ns
    is_same = before.origin.boot_id == after.origin.boot_id and before.start_ns < after.start_ns
    return is_same and apart <= GOES_ON_NS


def _answer(event: Event, wall_ns: int) -> EventAnswer:
    return EventAnswer(
        wall_ns,
        event.kind,
        event.subject,
        event.text,
        event.core,
        event.pid,
        event.count,
        dict(event.fields),
    )
