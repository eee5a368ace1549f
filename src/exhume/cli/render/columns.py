"""Tables whose figures are never cut: names give way, and columns one can do without go first."""

from __future__ import annotations

from collections.abc import Sequence, Set

from msgspec import Struct
from rich.cells import cell_len
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
    spare: int = 0
    """Which figures go where the line is still too short: the highest first, then from the right.
    Names stay."""
    both_ends: bool = False
    """What is too long is shortened in the middle: its end tells it from others."""


def table(
    title: str, columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int
) -> list[Text]:
    """A title, a line of headings, and the rows; `rows` hold one cell per column."""
    widths, gone = _fitting(columns, rows, width)
    left_out = f" · no room for {', '.join(gone)}" if gone else ""
    lines = [Text(title + left_out, _DIM)]
    headings = [Text(column.heading, _DIM) for column in columns]
    for cells in (headings, *rows):
        line = Text()
        for column, cell, space in zip(columns, cells, widths, strict=True):
            if space:
                line.append(" " * _GAP if line.plain else "")
                line.append_text(_fitted(cell, space, column))
        line.rstrip()
        line.no_wrap, line.overflow = True, "ellipsis"
        lines.append(line)
    return lines


def _fitting(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int
) -> tuple[list[int], list[str]]:
    """Widths, 0 where a column is left out, and the headings of what there was no room for."""
    gone: set[int] = set()
    figures = [n for n, column in enumerate(columns) if n and column.least is None]
    for index in sorted(figures, key=lambda n: (-columns[n].spare, -n)):
        widths = _widths(columns, rows, width, gone)
        if _total(widths) <= width:
            break
        if widths[index]:
            gone.add(index)
    widths = _widths(columns, rows, width, gone)
    return widths, [
        column.heading
        for index, column in enumerate(columns)
        if not widths[index] and any(row[index].plain for row in rows)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (sum(map(bool, widths)) - 1)


def _widths(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int, gone: Set[int]
) -> list[int]:
    """0 where a column is left out."""
    wanted = [
        0 if index in gone else max([len(column.heading), *(row[index].cell_len for row in rows)])
        for index, column in enumerate(columns)
    ]
    for index in range(len(columns) - 1, -1, -1):
        # A column nobody filled is as good as none.
        if columns[index].optional and not any(row[index].plain for row in rows):
            wanted[index] = 0
    for index in range(len(columns) - 1, -1, -1):
        column = columns[index]
        too_much = _total(wanted) - width
        if too_much <= 0 or not wanted[index]:
            continue
        if column.least is not None and (wanted[index] - too_much >= column.least):
            wanted[index] -= too_much
        elif column.optional:
            wanted[index] = 0
        elif column.least is not None:
            wanted[index] = min(wanted[index], column.least)
    return wanted


def _fitted(cell: Text, space: int, column: Column) -> Text:
    fitted = cell.copy()
    if column.both_ends and cell.cell_len > space:
        fitted = _shortened(cell, space)
    fitted.truncate(space, overflow="ellipsis")
    missing = " " * (space - fitted.cell_len)
    return Text(missing).append_text(fitted) if column.right else fitted.append(missing)


def _shortened(cell: Text, space: int) -> Text:
    head = cell.copy()
    head.truncate((space - 1) // 2)
    room = space - 1 - head.cell_len
    start = next(n for n in range(len(cell) + 1) if cell_len(cell.plain[n:]) <= room)
    return head.append("…").append_text(cell[start:])
