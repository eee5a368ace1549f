"""What happened in a window: execs, exits, cores going off line, changes of rate, gaps."""

from __future__ import annotations

from collections.abc import Collection

from exhume.model.answers import EventAnswer
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
            for event in view.events():
                if kinds and event.kind not in kinds:
                    continue
                if subject is not None and event.subject != subject:
                    continue
                wall_ns = view.clock.wall(event.time_ns)
                if window.contains(wall_ns):
                    found.append(
                        EventAnswer(
                            wall_ns,
                            event.kind,
                            event.subject,
                            event.text,
                            event.core,
                            event.pid,
                            event.count,
                            dict(event.fields),
                        )
                    )
    return sorted(found, key=lambda event: event.wall_ns)
