"""What happened in a window: execs, exits, cores going off line, changes of rate, gaps."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from exhume.model.answers import EventAnswer
from exhume.model.event import Event
from exhume.model.window import Window
from exhume.store.recording import Recording


def events(
    recording: Recording,
    window: Window,
    kinds: Collection[str] = (),
    subject: str | None = None,
) -> list[EventAnswer]:
    """In order of wall time."""
    found: list[EventAnswer] = []
    for view in recording.views(window):
        with recording.sparing(view):
            wanted = [
                event
                for event in view.events()
                if (not kinds or event.kind in kinds) and subject in (None, event.subject)
            ]
            times = np.array([event.time_ns for event in wanted], np.int64)
            for event, wall_ns in zip(wanted, view.clock.to_wall(times).tolist(), strict=True):
                if window.contains(wall_ns):
                    found.append(_answer(event, wall_ns))
    return sorted(found, key=lambda event: event.wall_ns)


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
