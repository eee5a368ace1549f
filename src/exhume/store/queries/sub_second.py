"""FlameScope's heat map: when within each second the samples fell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exhume.model.answers import Filter, SubSecondMap
from exhume.model.arrays import I64
from exhume.model.window import Window
from exhume.store.queries.select import EVERYTHING, Chosen, chosen
from exhume.store.recording import Recording
from exhume.store.rollups import SECOND_NS
from exhume.store.view import SegmentView


def sub_second(
    recording: Recording,
    window: Window,
    rows: int = 50,
    filter: Filter = EVERYTHING,  # noqa: A002
) -> SubSecondMap:
    """Whole seconds, from the one the window begins in; outside the window cells are 0."""
    start_ns = window.start_ns // SECOND_NS * SECOND_NS
    columns = max(1, -(-(window.end_ns - start_ns) // SECOND_NS))
    counts = np.zeros(columns * rows, np.int64)
    core_ns = np.zeros(columns * rows, np.int64)
    for view in recording.views(window):
        with recording.sparing(view):
            for part in chosen(view, window, filter, cut_at_clocks=True):
                here = _slices(view, part, start_ns, rows, len(counts))
                counts += here
                core_ns += here * part.run.weight_ns
    shape = columns, rows
    return SubSecondMap(
        window,
        rows,
        start_ns,
        counts.reshape(shape).T.astype(np.int32),
        core_ns.reshape(shape).T,
    )


def _slices(view: SegmentView, part: Chosen, start_ns: int, rows: int, cells: int) -> I64:
    """How many samples fell into each slice of a second since `start_ns`."""
    columns = part.columns
    time: NDArray[Any] = part.rows.of(columns.time)
    if part.keep is not None:
        time = time[part.keep]
    # Within a run wall time is a straight line: two points give it for millions of samples.
    ends = np.array([part.run.start_ns, part.run.end_ns - 1], np.int64)
    first, last = (view.clock.to_wall(ends) - start_ns) * (rows / SECOND_NS)
    slope = (last - first) / max(1, part.run.end_ns - 1 - part.run.start_ns)
    begin = first + (columns.base_ns - part.run.start_ns) * slope
    place = time * np.float64(slope * columns.unit_ns) + begin
    index = np.clip(place.astype(np.int64), 0, cells - 1)
    return np.bincount(index, minlength=cells)
