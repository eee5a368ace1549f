"""How much of a window has samples behind it, and where: what shares of one core are of."""

from __future__ import annotations

from exhume.model.window import Window
from exhume.store import layout
from exhume.store.recording import Recording
from exhume.store.segment import Segment
from exhume.store.view import runs, wall_window

_SEAM_NS = 2_000_000_000
_NEEDED = {layout.SAMPLES, layout.STACKS, layout.FRAMES}


def seconds_sampled(recording: Recording, window: Window, *, of_time: bool = False) -> float:
    """Without what proved to be damaged, so ask for the samples first: shares of one core would be
    of time that nobody could read. `of_time`: by samples that measure time on a core."""
    return sum(
        (run.end_ns - run.start_ns) / 1e9
        for view in recording.views(window)
        if not (isinstance(view, Segment) and _NEEDED & view.problems.keys())
        for run in runs(view, window)
        if run.weight_ns and run.is_of_time >= of_time
    )


def sampled_windows(
    recording: Recording, window: Window, *, of_time: bool = False
) -> tuple[Window, ...]:
    """Where there are samples, and with them every start and end of a process. What lies within a
    seam of each other, as segments do, is one."""
    found: list[Window] = []
    for view in recording.views(window):
        for run in runs(view, window):
            if run.weight_ns and run.is_of_time >= of_time:
                own = wall_window(view.clock, run.start_ns, run.end_ns)
                if found and own.start_ns <= found[-1].end_ns + _SEAM_NS:
                    own = Window(found[-1].start_ns, max(found[-1].end_ns, own.end_ns))
                    found.pop()
                found.append(own)
    return tuple(found)
