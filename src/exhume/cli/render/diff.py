"""A diff for people: grouped, the most telling first, large groups in a line."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from exhume.cli.figures import count, shortened
from exhume.cli.safe import printable
from exhume.cli.times import Viewpoint
from exhume.fleet.diff import Change, Diff, Side
from exhume.fleet.diff import Group as Differences
from exhume.model.fingerprint import Value

FOLD = 12
"""More differences of an area than this are one update: a few of them and the count."""
_EXAMPLES = 4
_WIDTH = 60
_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_SIGNS = {
    "added": ("+", Style(color="green")),
    "removed": ("−", Style(color="red")),
    "changed": ("~", Style(color="yellow")),
}
_VERDICTS = {
    "same": "Nothing of class config differs.",
    "differs": "Their configuration differs.",
    "unknown": "No difference of class config was found, but not everything could be compared.",
}


def render(answer: Diff, view: Viewpoint, *, everything: bool = False) -> RenderableType:
    title = Text(f"{_side(answer.before, view)}  →  {_side(answer.after, view)}", _BOLD)
    parts: list[RenderableType] = [title]
    for group in answer.groups:
        parts += [Text(), *_group(group, everything=everything)]
    parts += [Text(), Text(_VERDICTS[answer.verdict], _BOLD)]
    parts += [Text(f"⚠ {printable(text)}", Style(color="yellow")) for text in answer.unknown]
    parts += [Text(printable(text), _DIM) for text in answer.notes]
    if answer.hidden:
        shown = ", ".join(f"{number} {kind}" for kind, number in answer.hidden.items())
        parts.append(Text(f"not shown: {shown}; --all shows them", _DIM))
    return Group(*parts)


def _group(group: Differences, *, everything: bool) -> list[Text]:
    kinds = {change.kind for change in group.changes}
    note = "" if kinds == {"config"} else f"  ({', '.join(sorted(kinds))})"
    lines = [Text(group.title, _BOLD).append(note, _DIM)]
    changes = group.changes
    if len(changes) > FOLD and not everything:
        counted: Counter[str] = Counter(change.what for change in changes)
        said = ", ".join(f"{counted[what]} {what}" for what in _SIGNS if counted[what])
        lines.append(Text(f"  {count(len(changes), 'difference')}: {said}; among them"))
        changes = changes[:_EXAMPLES]
    lines += [_line(change) for change in changes]
    if len(changes) < len(group.changes):
        lines.append(Text("  … --all shows every one", _DIM))
    return lines


def _line(change: Change) -> Text:
    sign, style = _SIGNS[change.what]
    line = Text(f"  {sign} ", style).append(printable(change.name), Style())
    if isinstance(change.before, tuple) and isinstance(change.after, tuple):
        gained = set(change.after) - set(change.before)
        lost = set(change.before) - set(change.after)
        said = [f"−{one}" for one in sorted(lost)] + [f"+{one}" for one in sorted(gained)]
        return line.append(f"  {printable(shortened(' '.join(said), 2 * _WIDTH))}", _DIM)
    if change.what == "changed":
        return line.append(f"  {_shown(change.before)} → {_shown(change.after)}", _DIM)
    value = change.after if change.what == "added" else change.before
    return line if value is True else line.append(f"  {_shown(value)}", _DIM)


def _shown(value: Value | None) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value)
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    return printable(shortened(text or '""', _WIDTH))


def _side(side: Side, view: Viewpoint) -> str:
    return f"{printable(side.node)} ({printable(side.source)}, {view.show(side.wall_ns)})"
