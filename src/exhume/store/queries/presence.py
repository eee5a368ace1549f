"""When a process had a good part of a core, by whole seconds of the roll-up."""

from __future__ import annotations

import numpy as np

from exhume.model.window import Window
from exhume.store.recording import Recording
from exhume.store.rollups import SECOND_NS
from exhume.store.view import units_of_time

LEAST_SHARE = 0.3


def presence(
    recording: Recording,
    core: int,
    comms: tuple[str, ...],
    window: Window,
    least_share: float = LEAST_SHARE,
) -> dict[str, tuple[Window, ...]]:
    """By process name. Seconds that follow each other are one stretch."""
    seconds: dict[str, set[int]] = {comm: set() for comm in comms}
    for view in recording.views(window):
        with recording.sparing(view):
            rows, index = view.process_seconds(), view.threads()
            names, first = index.threads.comm, index.processes.first_thread
            for comm in comms:
                own = np.array([names[int(row)] == comm for row in first], np.bool_)
                here = np.flatnonzero((rows.core == core) & own[rows.process])
                took = np.bincount(rows.second[here], rows.weight_us[here])
                of_time = units_of_time(view, SECOND_NS, len(took))
                full = np.flatnonzero(of_time & (took >= least_share * 1e6))
                wall = view.clock.to_wall(view.start_ns + full.astype(np.int64) * SECOND_NS)
                seconds[comm].update((wall // (SECOND_NS // 10)).tolist())
    return {comm: _joined(sorted(found), window) for comm, found in seconds.items()}


def _joined(tenths: list[int], window: Window) -> tuple[Window, ...]:
    found: list[Window] = []
    for at in tenths:
        start = at * (SECOND_NS // 10)
        if not window.start_ns - SECOND_NS <= start < window.end_ns:
            continue
        if found and start - found[-1].end_ns <= SECOND_NS // 5:
            found[-1] = Window(found[-1].start_ns, start + SECOND_NS)
        else:
            found.append(Window(start, start + SECOND_NS))
    return tuple(found)
