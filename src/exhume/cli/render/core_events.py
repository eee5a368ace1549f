"""Events above a map of cores: a mark in the column of each, and the worst of them in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text

from exhume.cli.figures import count
from exhume.cli.render.events import words
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.event_groups import HARM, most_severe, severity
from exhume.model.answers import EventAnswer
from exhume.model.window import Window

MARK, LESSER_MARK = "▲", "△"
"""Harm to somebody, and what may explain something."""
_WORDS_SHOWN = 3
_DIM = Style(dim=True)
_STYLES = {HARM: Style(color="red", bold=True), 2: Style(color="yellow", bold=True)}


def marks(events: Sequence[EventAnswer], window: Window, columns: int) -> Text:
    """A line of that many columns; where several fall together, the worst shows."""
    worst = [0] * columns
    span_ns = window.end_ns - window.start_ns
    for event in events:
        if window.contains(event.wall_ns):
            column = (event.wall_ns - window.start_ns) * columns // span_ns
            worst[column] = max(worst[column], severity(event))
    line = Text()
    for level in worst:
        sign = " " if not level else MARK if level >= HARM else LESSER_MARK
        line.append(sign, _STYLES.get(level, _DIM))
    return line


def in_words(events: Sequence[EventAnswer], view: Viewpoint, lead: int, width: int) -> list[Text]:
    """The most severe, a line each, and how many more there are."""
    groups = most_severe(events)
    found = []
    for group in groups[:_WORDS_SHOWN]:
        level = severity(group)
        line = Text(" " * lead)
        line.append(f"{MARK if level >= HARM else LESSER_MARK} ", _STYLES.get(level, _DIM))
        line.append(view.show(group.first_wall_ns), Style(bold=True))
        subject = f" {printable(group.subject)}" if group.subject else ""
        line.append(f" {group.kind}{subject}: {printable(words(group))}")
        times = f" × {group.count:,}" if group.count > 1 else ""
        line.truncate(max(20, width - len(times)), overflow="ellipsis")
        found.append(line.append(times, _DIM))
    if len(groups) > _WORDS_SHOWN:
        more = count(len(groups) - _WORDS_SHOWN, "other kind of line", "other kinds of lines")
        found.append(Text(f"{' ' * lead}and {more}; 'exhume events' lists them", _DIM))
    return found
