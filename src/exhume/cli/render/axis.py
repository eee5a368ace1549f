"""The time axis below a map: ticks at round times of the zone, labels that don't collide."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text

from exhume.cli.figures import NS
from exhume.cli.times import Viewpoint
from exhume.model.window import Window

_DAY = 86_400
_STEPS_SECONDS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY,
)  # fmt: skip
_SPACE = 3  # between labels


def axis(window: Window, columns: int, view: Viewpoint) -> tuple[Text, Text]:
    """A line with ticks and a line with labels, each `columns` wide at most."""
    places = ticks(window, columns, view)
    line, labels = ["─"] * columns, ""
    for place, label in places:
        line[place] = "┬"
        labels = labels.ljust(place) + label
    if not places:  # a window too short to hold a round second
        labels = view.show(window.start_ns, 3)[:columns]
    return Text("".join(line), Style(dim=True)), Text(labels)


def ticks(window: Window, columns: int, view: Viewpoint) -> list[tuple[int, str]]:
    """Column and label of each tick, left to right."""
    span_ns = window.end_ns - window.start_ns
    for step in _STEPS_SECONDS:
        width = len(_label(window.start_ns, step, view))
        if step * NS * columns / span_ns >= width + _SPACE:
            break
    offset = view.local(window.start_ns).utcoffset()
    offset_ns = round(offset.total_seconds()) * NS if offset else 0
    step_ns = step * NS
    first = -(-(window.start_ns + offset_ns) // step_ns) * step_ns - offset_ns
    found: list[tuple[int, str]] = []
    for wall_ns in range(first, window.end_ns, step_ns):
        place = (wall_ns - window.start_ns) * columns // span_ns
        label = _label(wall_ns, step, view)
        if place + len(label) <= columns:
            found.append((place, label))
    return found


def _label(wall_ns: int, step: int, view: Viewpoint) -> str:
    local = view.local(wall_ns)
    if step >= _DAY:
        return local.strftime("%m-%d")
    return local.strftime("%H:%M:%S" if step < 60 else "%H:%M")
