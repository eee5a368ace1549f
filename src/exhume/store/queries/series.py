"""Any field of the catalogue over a window, as the kernel gave it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct, field

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.answers import SeriesAnswer
from exhume.model.arrays import I64
from exhume.model.fields import BY_ID
from exhume.model.series import MISSING
from exhume.model.window import Window
from exhume.store.minutes import Rows
from exhume.store.recording import Recording
from exhume.store.rollups import MINUTE_NS, SECOND_NS
from exhume.store.view import SegmentView

MAX_JOIN_NS = 15 * SECOND_NS
"""Readings of one boot no further apart belong together: some sources are read every 10 s."""


class Line(Struct):
    """One instance, put together view by view."""

    wall: list[I64] = field(default_factory=list)
    values: list[I64] = field(default_factory=list)
    pieces: list[int] = field(default_factory=list)
    end: tuple[str, int, int] = ("", 0, 0)
    """Boot, monotonic time and value of the last reading."""


def series(
    recording: Recording, field: str, window: Window, instances: Collection[str] = ()
) -> list[SeriesAnswer]:
    """One answer an instance (all, where none is named), in the order they were first seen."""
    if field not in BY_ID:
        raise ExhumeError(
            f"there is no field {field!r}",
            todo="docs/fields.md lists them",
            exit_code=EXIT_USAGE,
        )
    counter = BY_ID[field].kind == "counter"
    lines: dict[str, Line] = {}
    read: set[str] = set()
    for view in recording.views(window):
        with recording.sparing(view):
            _add(lines, view, field, window, instances, counter)
            read.add(view.name)
    if BY_ID[field].instance != "core":  # of those only the sum over all cores is left
        _add_minutes(lines, recording.minutes("series", window, read), field, instances)
    return [_answer(field, name, line) for name, line in lines.items()]


def _add(
    lines: dict[str, Line],
    view: SegmentView,
    field: str,
    window: Window,
    instances: Collection[str],
    counter: bool,
) -> None:
    boot = f"{view.origin.node} {view.origin.boot_id}"
    for block in view.blocks(field):
        wall = view.clock.to_wall(block.tick_ns)
        inside = (wall >= window.start_ns) & (wall < window.end_ns)
        if not inside.any():
            continue
        ticks = block.tick_ns[inside]
        for column, name in enumerate(block.instances):
            if instances and name not in instances:
                continue
            line = lines.setdefault(name, Line())
            # A log begins with the last reading of the one before, in its own clock's wall time.
            told = np.searchsorted(ticks, line.end[1], "right") if line.end[0] == boot else 0
            if told == len(ticks):
                continue
            values = block.values[inside, column][told:]
            known = np.flatnonzero(values != MISSING)
            first = int(values[known[0]]) if len(known) else MISSING
            joins = line.end[0] == boot and int(ticks[told]) - line.end[1] <= MAX_JOIN_NS
            # A counter that fell across the seam started anew, whatever the clock says.
            if line.pieces and joins and not (counter and MISSING < first < line.end[2]):
                line.pieces.append(line.pieces[-1])
            else:
                line.pieces.append(line.pieces[-1] + 1 if line.pieces else 0)
            line.wall.append(wall[inside][told:])
            line.values.append(values)
            last = int(values[known[-1]]) if len(known) else line.end[2]
            line.end = boot, int(ticks[-1]), last


def _add_minutes(
    lines: dict[str, Line], rows: Rows, field: str, instances: Collection[str]
) -> None:
    """Of segments that are gone: the first and the last reading of each minute, a piece each."""
    here = rows["field"] == field
    for source in np.unique(rows["source"][here].astype(str)):
        for name in np.unique(rows["instance"][here & (rows["source"] == source)].astype(str)):
            if instances and name not in instances:
                continue
            chosen = here & (rows["source"] == source) & (rows["instance"] == name)
            minute = rows["minute"][chosen].astype(np.int64) * MINUTE_NS
            line = lines.setdefault(str(name), Line())
            line.wall.append(np.stack([minute, minute + MINUTE_NS - SECOND_NS], axis=1).ravel())
            values = np.stack([rows["first"][chosen], rows["last"][chosen]], axis=1)
            line.values.append(values.astype(np.int64).ravel())
            line.pieces.append(max(line.pieces, default=-1) + 1)


def _answer(field: str, instance: str, line: Line) -> SeriesAnswer:
    order = sorted(range(len(line.wall)), key=lambda index: int(line.wall[index][0]))
    lengths = [len(line.wall[index]) for index in order]
    pieces = np.array([line.pieces[index] for index in order]) % 256
    return SeriesAnswer(
        field=field,
        instance=instance,
        wall_ns=np.concatenate([line.wall[index] for index in order]),
        values=np.concatenate([line.values[index] for index in order]),
        segment=np.repeat(pieces, lengths).astype(np.uint8),
    )
