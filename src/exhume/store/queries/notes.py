"""What weakens an answer, in words: lost samples, gaps, a lowered rate, damaged stretches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exhume.model.series import MISSING
from exhume.model.window import Window
from exhume.perf.eventnames import is_of_a_part, is_time_like, no_time, of_a_part
from exhume.store.queries.not_in_files import no_samples
from exhume.store.recording import Recording
from exhume.store.view import SegmentView, runs, stretch_at


def notes(
    recording: Recording, window: Window, cores: tuple[int, ...], seconds_recorded: float
) -> tuple[str, ...]:
    found: list[str] = []
    if missing := no_samples(recording):
        found.extend(missing)
    elif window.seconds - seconds_recorded > max(0.05, window.seconds * 0.01):
        found.append(
            f"samples cover {seconds_recorded:.1f} s of the {window.seconds:.1f} s asked for"
        )
    found.extend(map(no_time, no_time_events(recording, window)))
    found.extend(map(of_a_part, events_of_a_part(recording, window)))
    lost = 0
    found.extend(_lowered_rate(recording.views(window), window))
    for view in recording.views(window):
        with recording.sparing(view):
            lost += lost_samples(view, window, cores)
        with recording.sparing(view):
            found.extend(_gaps(view, window))
    if lost:
        found.append(f"the kernel dropped {lost} samples because a ring was full")
    found.extend(recording.problems(window))
    return tuple(dict.fromkeys(found))


def lost_samples(view: SegmentView, window: Window, cores: tuple[int, ...] = ()) -> int:
    """How far the counter of dropped samples rose within the window."""
    lost = 0
    names = {str(core) for core in cores}
    for block in view.blocks("sampler.lost"):
        wall = view.clock.to_wall(block.tick_ns)
        inside = np.flatnonzero((wall >= window.start_ns) & (wall < window.end_ns))
        # A rise is told by the first tick after it, so the tick before the window counts too.
        before = max(0, int(inside[0]) - 1) if len(inside) else 0
        last = min(len(wall), int(inside[-1]) + 2) if len(inside) else 0
        columns = [i for i, name in enumerate(block.instances) if not names or name in names]
        values = block.values[before:last][:, columns]
        known = (values[1:] != MISSING) & (values[:-1] != MISSING)
        rises = np.where(known, values[1:] - np.where(known, values[:-1], 0), 0)
        lost += int(np.maximum(rises, 0).sum())
    return lost


def _lowered_rate(views: Sequence[SegmentView], window: Window) -> list[str]:
    """Only of what measures time: others come when they like."""
    highest = max(
        (one.rate_hz for view in views for one in view.stretches if is_time_like(one.event)),
        default=0.0,
    )
    periods = [
        run.weight_ns
        for view in views
        for run in runs(view, window)
        if run.weight_ns and run.is_of_time
    ]
    lowest = 1e9 / max(periods) if periods else highest
    if _hertz(lowest) == _hertz(highest):
        return []
    return [f"the sampling rate was down to {_hertz(lowest)} Hz of {_hertz(highest)} in part of it"]


def _hertz(rate: float) -> str:
    """Captures may have less than one a second."""
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"


def no_time_events(recording: Recording, window: Window) -> tuple[str, ...]:
    """What was sampled in the window that is no measure of time on a core: faults, switches."""
    return tuple(name for name in _events(recording, window) if not is_time_like(name))


def events_of_a_part(recording: Recording, window: Window) -> tuple[str, ...]:
    """What was sampled in the window in one mode alone: of programs, or of the kernel."""
    return tuple(filter(is_of_a_part, _events(recording, window)))


def _events(recording: Recording, window: Window) -> list[str]:
    names = {
        stretch_at(view.stretches, run.start_ns).event
        for view in recording.views(window)
        for run in runs(view, window)
        if run.weight_ns
    }
    return sorted(names)


def _gaps(view: SegmentView, window: Window) -> list[str]:
    return [
        f"gap: {event.text or event.subject}"
        for event in view.events()
        if event.kind == "gap" and window.contains(view.clock.wall(event.time_ns))
    ]
