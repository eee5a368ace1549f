"""How much of a window was recorded: what every rate an hour is counted over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from exhume.model.window import Window
from exhume.store.event_rows import event_rows
from exhume.store.recording import Recording
from exhume.store.view import SegmentView

_INPUT = re.compile(r"\(([0-9a-f]{16})\)")
_BY_CAPTURES = ("exec", "exit")


def recorded_seconds(recording: Recording, window: Window) -> float:
    """At least as roll-ups; overlaps count once.

    Of a log the time from line to line counts as well: nothing happened, and it would have told.
    """
    spans = [span.window for span in recording.spans() if span.state != "damaged"]
    parts = (one.clip(window) for one in (*spans, *_between_lines(recording, window)))
    total, until = 0, window.start_ns
    for part in sorted(part for part in parts if part is not None):
        total += max(0, part.end_ns - max(part.start_ns, until))
        until = max(until, part.end_ns)
    return total / 1e9


def _between_lines(recording: Recording, window: Window) -> Iterator[Window]:
    """Gaps between segments of an import that lines of one file lie on both sides of.

    A segment begins with the first thing that its files tell of, and ends with the last.
    """
    last: dict[str, Window] = {}
    for view in _around(recording.views(), window):
        inputs = () if view.origin.imported is None else _INPUT.findall(view.origin.imported[2])
        lines = 0
        with recording.sparing(view):
            lines = len(event_rows(view, (), _BY_CAPTURES)) if inputs else 0
        for one in inputs if lines else ():
            if one in last and last[one].end_ns < view.window.start_ns:
                yield Window(last[one].end_ns, view.window.start_ns)
            last[one] = view.window


def _around(views: list[SegmentView], window: Window) -> list[SegmentView]:
    """Those of the window, and the next on both sides of it."""
    if not any(view.origin.imported for view in views):
        return []
    inside = [n for n, view in enumerate(views) if view.window.overlaps(window)]
    before = [n for n, view in enumerate(views) if view.window.end_ns <= window.start_ns]
    first = inside[0] if inside else len(before)
    end = inside[-1] + 1 if inside else first
    return views[max(0, first - 1) : end + 1]
