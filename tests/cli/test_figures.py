from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.cli import figures
from exhume.cli.figures import NS


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 %"), (0.04, "< 0.1 %"), (6.54, "6.5 %"), (9.94, "9.9 %"), (9.96, "10 %"),
     (100, "100 %"), (None, "–"), (math.nan, "–")],
)  # fmt: skip
def test_a_percentage_has_as_many_digits_as_matter(value: float | None, shown: str) -> None:
    assert figures.percent(value) == shown


def test_times_a_baseline_knows_new_from_unknown() -> None:
    assert figures.times(119.1, 0.8) == "119 ×"
    assert figures.times(1.04, 2.4) == "1.0 ×"
    assert figures.times(3605.0, 0.02) == "> 1000 ×"
    assert figures.times(None, 0.0) == "new"
    assert figures.times(None, None) == "–"


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(0, "0 s"), (1, "0 s"), (1_500, "0.0015 ms"), (NS // 4, "250 ms"), (6 * NS, "6 s"),
     (3 * NS // 2, "1.5 s"), (90 * NS, "1 m 30 s"), (12 * 3600 * NS, "12 h"),
     (100 * 3600 * NS, "4 d 4 h"), (-5 * NS, "−5 s")],
)  # fmt: skip
def test_a_duration_has_two_units_at_most(ns: int, shown: str) -> None:
    assert figures.duration(ns) == shown


def test_bytes_are_shown_in_powers_of_1024() -> None:
    assert [figures.size(n) for n in (0, 1023, 1024, 150 << 20, 4 << 30, None)] == [
        "0 B", "1023 B", "1.0 KiB", "150 MiB", "4.0 GiB", "–",
    ]  # fmt: skip


def test_cores_are_shown_as_ranges() -> None:
    assert figures.ranges([7, 0, 1, 2, 3, 3]) == "0–3, 7"
    assert figures.ranges([]) == ""


@given(st.sets(st.integers(0, 300)))
def test_ranges_name_every_core_once(cores: set[int]) -> None:
    named: list[int] = []
    for part in figures.ranges(cores).split(", ") if cores else []:
        low, _, high = part.partition("–")
        named += range(int(low), int(high or low) + 1)
    assert named == sorted(cores)


def test_a_core_that_nobody_knows_is_a_question_mark() -> None:
    assert figures.core_name(39) == "39"
    assert figures.core_name(65_535) == "?"
    assert figures.ranges([0, 1, 2, 65_534, 65_535]) == "0–2, 65534, ?"
