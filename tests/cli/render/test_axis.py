from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.cli.figures import NS
from exhume.cli.render.axis import axis, ticks
from exhume.cli.times import Viewpoint
from exhume.model.window import Window
from tests.cli.made_up import BERLIN, NOW_NS, VIEW

DAY_NS = 86_400 * NS


def at(*date: int) -> int:
    return round(datetime(*date, tzinfo=UTC).timestamp()) * NS  # type: ignore[arg-type, misc]


@pytest.mark.parametrize("days", [40, 200, 1_700, 9_000])
@pytest.mark.parametrize("columns", [44, 172])
def test_labels_of_months_and_years_stand_apart_up_to_the_end(days: int, columns: int) -> None:
    window = Window(NOW_NS - days * DAY_NS, NOW_NS)
    found = ticks(window, columns, VIEW)
    assert len(found) > 1
    for (place, label), (next_place, _) in pairwise(found):
        assert place + len(label) + 2 <= next_place
    step = found[1][0] - found[0][0]
    assert found[-1][0] + step + len(found[-1][1]) >= columns - 3
    _, labels = axis(window, columns, VIEW)
    assert labels.plain.split() == [label for _, label in found]


def test_years_are_told_where_months_alone_say_too_little() -> None:
    found = ticks(Window(at(2022, 3, 11), at(2026, 11, 19)), 60, VIEW)
    assert [label for _, label in found] == ["2023-01", "2024-01", "2025-01", "2026-01"]


def test_a_change_of_the_clocks_leaves_the_days_that_follow_it_where_they_are() -> None:
    window = Window(at(2026, 10, 20), at(2026, 11, 1))
    found = ticks(window, 172, Viewpoint(NOW_NS, BERLIN))
    days = [f"10-{day}" for day in range(21, 32)]
    assert [label for _, label in found] == days
    begun = [window.start_ns + place * 12 * DAY_NS // 172 for place, _ in found]
    assert abs(begun[-1] - at(2026, 10, 30, 23)) <= 12 * DAY_NS // 172


@given(
    st.integers(0, 253_402_200), st.integers(1, 253_402_200_000), st.integers(8, 200),
    st.sampled_from([UTC, BERLIN]),
)  # fmt: skip
def test_any_window_has_an_axis(start: int, seconds: int, columns: int, zone: object) -> None:
    window = Window(start * NS, min(start + seconds, 253_402_200_000) * NS)
    line, labels = axis(window, columns, Viewpoint(NOW_NS, zone))  # type: ignore[arg-type]
    assert len(line.plain) == columns
    assert len(labels.plain) <= columns
    assert re.fullmatch(r"[0-9:. -]*", labels.plain)
