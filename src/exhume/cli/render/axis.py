"""The time axis below a map: ticks at round times of the zone, labels that don't collide."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import MAXYEAR, UTC, datetime
from itertools import count

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
_STEPS_MONTHS = (2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400, 6_000)
"""No round number of seconds: a log may reach back for years."""
_SHORTEST_MONTH = 28 * _DAY
_QUARTER_DAY = 21_600
"""From here on a change of the clocks must not move what follows it off midnight."""
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
    found: list[tuple[int, str]] = []
    for wall_ns, label in _labelled(window, columns, view):
        place = (wall_ns - window.start_ns) * columns // span_ns
        is_free = not found or place > found[-1][0] + len(found[-1][1])
        if is_free and place + len(label) <= columns:
            found.append((place, label))
    return found


def _labelled(window: Window, columns: int, view: Viewpoint) -> Iterator[tuple[int, str]]:
    """The closest round times whose labels have room."""
    column_ns = (window.end_ns - window.start_ns) / columns
    for step in _STEPS_SECONDS:
        form = "%m-%d" if step >= _DAY else "%H:%M:%S" if step < 60 else "%H:%M"
        if _has_room(step, column_ns, _label(window.start_ns, form, view)):
            return ((at, _label(at, form, view)) for at in _round_times(window, step, view))
    form = "%Y-%m"
    room = _label(window.start_ns, form, view)
    wide = (one for one in _STEPS_MONTHS if _has_room(one * _SHORTEST_MONTH, column_ns, room))
    months = next(wide, _STEPS_MONTHS[-1])
    return ((at, _label(at, form, view)) for at in _first_days(window, months, view))


def _has_room(seconds: int, column_ns: float, label: str) -> bool:
    return seconds * NS / column_ns >= len(label) + _SPACE


def _round_times(window: Window, step: int, view: Viewpoint) -> Iterator[int]:
    """Round in the zone that is shown: midnight is not a multiple of a day everywhere."""
    step_ns = step * NS
    ahead_ns = _ahead_ns(window.start_ns, view)
    first_ns = -(-(window.start_ns + ahead_ns) // step_ns) * step_ns
    for local_ns in count(first_ns, step_ns):
        wall_ns = local_ns - ahead_ns if step < _QUARTER_DAY else _wall_ns(local_ns, view)
        if wall_ns >= window.end_ns:
            return
        yield wall_ns


def _first_days(window: Window, months: int, view: Viewpoint) -> Iterator[int]:
    start = view.local(window.start_ns)
    begin = (start.year * 12 + start.month - 1) // months * months
    for month in range(max(12, begin), 12 * MAXYEAR + 12, months):
        first = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
        wall_ns = _wall_ns(round(first.timestamp()) * NS, view)
        if wall_ns >= window.end_ns:
            return
        if wall_ns >= window.start_ns:
            yield wall_ns


def _wall_ns(local_ns: int, view: Viewpoint) -> int:
    """When a clock of the zone shows what one of UTC shows at that time."""
    return local_ns - _ahead_ns(local_ns - _ahead_ns(local_ns, view), view)


def _ahead_ns(wall_ns: int, view: Viewpoint) -> int:
    offset = view.local(wall_ns).utcoffset()
    return round(offset.total_seconds()) * NS if offset else 0


def _label(wall_ns: int, form: str, view: Viewpoint) -> str:
    return view.local(wall_ns).strftime(form)
