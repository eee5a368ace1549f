"""Tables whose figures are never cut: names give way, and columns one can do without go first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.style import Style
from rich.text import Text

_GAP = 2
_DIM = Style(dim=True)


class Column(Struct, frozen=True):
    heading: str
    right: bool = True
    least: int | None = None
    """How narrow it may get, for names; None: as wide as its widest cell, for figures."""
    optional: bool = False
    """Left out where the line is too short for even the least of it."""


def table(
    title: str, columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int
) -> list[Text]:
    """A title, a line of headings, and the rows; `rows` hold one cell per column."""
    widths = _widths(columns, rows, width)
    lines = [Text(title, _DIM)]
    headings = [Text(column.heading, _DIM) for column in columns]
    for cells in (headings, *rows):
        line = Text()
        for column, cell, space in zip(columns, cells, widths, strict=True):
            if space:
                line.append(" " * _GAP if line.plain else "")
                line.append_text(_fitted(cell, space, column.right))
        line.rstrip()
        line.no_wrap, line.overflow = True, "crop"
        lines.append(line)
    return lines


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> list[int]:
    """0 where a column is left out."""
    wanted = [
        max([len(column.heading), *(row[index].cell_len for row in rows)])
        for index, column in enumerate(columns)
    ]
    for index in range(len(columns) - 1, -1, -1):
        # A column nobody filled is as good as none.
        if columns[index].optional and not any(row[index].plain for row in rows):
            wanted[index] = 0
    for index in range(len(columns) - 1, -1, -1):
        column = columns[index]
        too_much = sum(wanted) + _GAP * (sum(map(bool, wanted)) - 1) - width
        if too_much <= 0 or not wanted[index]:
            continue
        if column.least is not None and (wanted[index] - too_much >= column.least):
            wanted[index] -= too_much
        elif column.optional:
            wanted[index] = 0
        elif column.least is not None:
            wanted[index] = min(wanted[index], column.least)
    return wanted


def _fitted(cell: Text, space: int, right: bool) -> Text:
    fitted = cell.copy()
    fitted.truncate(space, overflow="ellipsis")
    missing = " " * (space - fitted.cell_len)
    return Text(missing).append_text(fitted) if right else fitted.append(missing)
