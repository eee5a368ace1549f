from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from exhume.cli.render.columns import Column, table

COLUMNS = (
    Column("time"),
    Column("usual", spare=1),
    Column("cores"),
    Column("process", right=False, least=10),
    Column("unit", right=False, least=4, optional=True),
)
ROW = ["12 %", "3 %", "0, 1", "agent-supervisor", "agent.service"]


def shown(width: int, row: list[str] = ROW, columns: tuple[Column, ...] = COLUMNS) -> list[str]:
    return [line.plain for line in table("who", columns, [[*map(Text, row)]], width)]


@pytest.mark.parametrize(
    ("width", "title", "line"),
    [
        (80, "who", "12 %    3 %   0, 1  agent-supervisor  agent.service"),
        (46, "who", "12 %    3 %   0, 1  agent-supervisor  agent.s…"),
        (30, "who · no room for unit", "12 %    3 %   0, 1  agent-sup…"),
        (29, "who · no room for usual, unit", "12 %   0, 1  agent-supervisor"),
        (22, "who · no room for usual, cores, unit", "12 %  agent-supervisor"),
        (16, "who · no room for usual, cores, unit", "12 %  agent-sup…"),
    ],
)
def test_names_stay_and_figures_that_matter_less_go_first(
    width: int, title: str, line: str
) -> None:
    found = shown(width)
    assert (found[0], found[2]) == (title, line)


def test_a_line_that_is_too_short_for_anything_is_cut_with_a_sign() -> None:
    line = table("who", COLUMNS, [[*map(Text, ROW)]], 8)[2]
    assert (line.no_wrap, line.overflow) == (True, "ellipsis")


@given(st.lists(st.text("ab漢", max_size=30), min_size=1, max_size=3), st.integers(3, 40))
def test_what_is_shortened_in_the_middle_keeps_both_ends(names: list[str], width: int) -> None:
    columns = (Column("file", right=False, least=3, both_ends=True),)
    for line, name in zip(
        table("", columns, [[Text(name)] for name in names], width)[2:], names, strict=True
    ):
        assert line.cell_len <= width
        if Text(name).cell_len <= width:
            assert line.plain == name
        else:
            head, tail = line.plain.split("…")
            assert name.startswith(head.rstrip())  # half of a wide letter is a space
            assert name.endswith(tail)


def test_pieces_of_a_capture_are_told_apart() -> None:
    columns = (Column("file", right=False, least=14, both_ends=True),)
    names = ["so.data.20261117174751", "so.data.20261117174801"]
    lines = table("", columns, [[Text(name)] for name in names], 14)
    assert [line.plain for line in lines[2:]] == ["so.dat…7174751", "so.dat…7174801"]
