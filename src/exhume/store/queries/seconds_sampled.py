"""How much of a window has samples behind it: what shares of one core are of."""

from __future__ import annotations

from exhume.model.window import Window
from exhume.store.recording import Recording
from exhume.store.view import runs


def seconds_sampled(recording: Recording, window: Window) -> float:
    return sum(
        (run.end_ns - run.start_ns) / 1e9
        for view in recording.views(window)
        for run in runs(view, window)
        if run.weight_ns
    )
