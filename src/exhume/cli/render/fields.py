"""The catalogue of fields: one table a group, the words wrapped."""

from __future__ import annotations

from itertools import groupby

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from exhume.cli.common import Look
from exhume.cli.figures import count
from exhume.model.evidence import Catalogue
from exhume.model.fields import Field

_DIM = Style(dim=True)
_BOLD = Style(bold=True)


def render(answer: Catalogue, look: Look) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    widths = [
        max((len(cell(field)) for field in answer.fields), default=0)
        for cell in (lambda f: f.id, _kind, lambda f: f.instance)
    ]
    for width in widths:
        table.add_column(no_wrap=True, min_width=width)
    table.add_column(overflow="fold", ratio=1)
    first = True
    for _, group in groupby(answer.fields, key=group_of):
        if not first:
            table.add_row()
        first = False
        for field in group:
            table.add_row(
                Text(field.id, _BOLD), Text(_kind(field), _DIM), Text(field.instance, _DIM),
                Text(field.help),
            )  # fmt: skip
    parts: list[RenderableType] = []
    if answer.fields:
        title = Text(count(len(answer.fields), "field"), _BOLD)
        heading = "id, unit (/s: a counter, read as a rate), read of what, meaning"
        parts += [title.append(f" · {heading}", _DIM), Text(), table]
    if answer.events:
        events = Table.grid(padding=(0, 2))
        events.add_column(no_wrap=True, min_width=widths[0])
        events.add_column(overflow="fold", ratio=1)
        for kind in answer.events:
            events.add_row(Text(kind.id, _BOLD), Text(kind.help))
        kinds = Text(count(len(answer.events), "kind of event", "kinds of events"), _BOLD)
        parts += [Text(), kinds, Text(), events]
    if look.width < 60:
        table.columns[1].no_wrap = False
    return Group(*parts)


def group_of(field: Field) -> str:
    return field.id.partition(".")[0]


def _kind(field: Field) -> str:
    return f"{field.unit}/s" if field.kind == "counter" else field.unit
