"""Events as lines: when, what kind, to whom, how often, and the words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import NS, core_name, count, duration
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.derive.event_groups import HARM, each, folded, severity
from exhume.model.answers import EventAnswer
from exhume.model.evidence import EventGroup, EventsAnswer, EventTally

FOLD_FROM = 40
"""With more events than this, like ones are folded."""
MOST_LINES = 300
_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_STYLES = {HARM: Style(color="red", bold=True), 2: Style(color="yellow", bold=True)}
_NAMES_SHOWN = 8
_TEXT_LINES = 3
_LEAST_TEXT = 44
"""With less room than this beside it, a longer text goes below."""
_INDENT = 10
_MOST_SUBJECT = 28


def render(
    answer: EventsAnswer,
    view: Viewpoint,
    look: Look,
    *,
    everything: bool = False,
    following: bool = False,
    is_filtered: bool = False,
) -> RenderableType:
    total = sum(event.count for event in answer.events)
    zone = view.zone_name(answer.window.start_ns)
    title = Text(f"{view.show_window(answer.window)} {zone}", _BOLD)
    title.append(f" · {count(total, 'event')}", _DIM)
    fold = not everything and len(answer.events) > FOLD_FROM
    groups = folded(answer.events) if fold else each(answer.events)
    if fold and len(groups) < len(answer.events):
        title.append(f", like ones in {count(len(groups), 'line')}; --all lists each", _DIM)
    parts: list[RenderableType] = [title, Text()]
    left_out = 0
    if not everything and len(groups) > MOST_LINES:
        left_out, groups = len(groups) - MOST_LINES, groups[-MOST_LINES:]
    if groups:
        parts += _drawn(groups, view, look, most=1000 if everything else _TEXT_LINES)
    else:
        parts.append(Text(_nothing(answer, following=following, is_filtered=is_filtered)))
    if left_out:
        parts.append(Text(f"{left_out:,} earlier lines are not shown; --all shows them.", _DIM))
    if answer.counted:
        parts += [Text(), *_counted(answer.counted)]
    parts += [Text(f"Note: {printable(note)}", _DIM) for note in answer.notes]
    return Group(*parts)


def _nothing(answer: EventsAnswer, *, following: bool, is_filtered: bool) -> str:
    if following:
        return "Nothing yet."
    if is_filtered:
        return "No event of this window fits the filter."
    return (
        "Nothing but starts and ends of processes."
        if answer.counted
        else "Nothing happened that anybody told of."
    )


def lines(events: Sequence[EventAnswer], view: Viewpoint, look: Look) -> list[Text]:
    """For what is followed: the same without headings, in columns that don't move."""
    groups = [_counted_in_words(group) for group in each(events)]
    return _drawn(groups, view, look, most=1000, widths=(8, 0, 0, 15, 12))[1:]


def _drawn(
    groups: Sequence[EventGroup],
    view: Viewpoint,
    look: Look,
    *,
    most: int,
    widths: Sequence[int] = (0, 0, 0, 0, 0),
) -> list[Text]:
    """The words of a kernel log line are what it is about: they are wrapped, not cut."""
    rows = [_cells(group, view) for group in groups]
    headings = ("time", "until", "×", "kind", "subject")
    needed = []
    for column, heading in enumerate(headings):
        filled = max(cell_len(row[column]) for row in rows)
        needed.append(max(filled, len(heading), widths[column]) if filled else widths[column])
    needed[4] = min(needed[4], _MOST_SUBJECT)
    before = sum(width + 2 for width in needed if width)
    room = look.width - before
    found = [_line([*headings, "text"], needed, [_DIM] * 6)]
    for group, row in zip(groups, rows, strict=True):
        kind = _STYLES.get(severity(group), Style())
        styles = [_DIM, _DIM, _BOLD if group.count > 1 else _DIM, kind, _BOLD, Style()]
        below = room < _LEAST_TEXT and cell_len(row[5]) > room
        indent = _INDENT if below else before
        wrapped = _wrapped(row[5], look.width - indent, most)
        first = [] if below else wrapped[:1]
        found.append(_line([*row[:5], *(first or [""])], needed, styles))
        found += [Text(" " * indent + more) for more in wrapped[len(first) :]]
    for line in found:
        line.no_wrap, line.overflow = True, "crop"
    return found


def _wrapped(text: str, room: int, most: int) -> list[str]:
    lines = textwrap.wrap(text, max(10, room), break_on_hyphens=False)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], set_cell_size(lines[most - 1], room - 1).rstrip() + "…"]


def _line(cells: Sequence[str], widths: Sequence[int], styles: Sequence[Style]) -> Text:
    line = Text()
    for column, (width, cell) in enumerate(zip(widths, cells[:5], strict=True)):
        if width:
            cut = cell if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"
            space = " " * (width - cell_len(cut))
            line.append(space + cut if column == 2 else cut + space, styles[column])
            line.append("  ")
    line.append(cells[5], styles[5])
    line.rstrip()
    return line


def _cells(group: EventGroup, view: Viewpoint) -> list[str]:
    spread = group.last_wall_ns - group.first_wall_ns >= NS
    return [
        view.show(group.first_wall_ns),
        view.show(group.last_wall_ns, with_date=False) if spread else "",
        f"{group.count:,}" if group.count > 1 else "",
        group.kind,
        printable(group.subject),
        printable(words(group)),
    ]


def words(group: EventGroup) -> str:
    """Its text; or, where it has none, what its fields say."""
    if group.text:
        return group.text
    fields = group.fields
    said: list[str] = []
    if "exit_code" in fields:
        said.append(f"exit code {fields['exit_code']}")
    if "lifetime_seconds" in fields and group.count == 1:
        said.append(f"after {duration(round(float(fields['lifetime_seconds']) * NS))}")
    if "restarts_total" in fields and group.count == 1:
        said.append(f"restart {fields['restarts_total']}")
    if fields.get("sub_state") == "auto-restart":
        said.append("auto-restart")
    if fields.get("state") == "restarting":
        said.append("restarting")
    if fields.get("image"):
        said.append(f"image {fields['image']}")
    if "parent" in fields:
        said.append(f"by {fields['parent']}")
    if group.core is not None:
        said.append(f"core {core_name(group.core)}")
    if group.pid is not None:
        said.append(f"pid {group.pid}")
    return ", ".join(said)


def _counted_in_words(group: EventGroup) -> EventGroup:
    text = f"{words(group)} × {group.count:,}".lstrip() if group.count > 1 else group.text
    return replace(group, count=1, text=text)


def _counted(counted: Sequence[EventTally]) -> list[Text]:
    found = []
    for kind in dict.fromkeys(tally.kind for tally in counted):
        same = [tally for tally in counted if tally.kind == kind]
        total = sum(tally.count for tally in same)
        line = Text(f"{count(total, kind)}: ", _DIM)
        names = [f"{printable(tally.name)} {tally.count:,}" for tally in same[:_NAMES_SHOWN]]
        line.append(" · ".join(names), _DIM)
        if len(same) > _NAMES_SHOWN:
            line.append(f" · and {count(len(same) - _NAMES_SHOWN, 'more name')}", _DIM)
        line.append(f"  (--kind {kind} lists them)", _DIM)
        found.append(line)
    return found
