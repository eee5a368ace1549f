"""The four tests: what passes, what fails, and when nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.diagnose import four_tests
from tests.diagnose.made_up import WINDOW, span

STALLS = [span(60 * i, 60 * i + 5) for i in range(1, 9)]


def test_what_begins_first_passes_and_what_comes_after_fails() -> None:
    assert four_tests.order([span(9, 20)], [span(10, 15)]) == "passed"
    assert four_tests.order([span(13, 20)], [span(10, 15)]) == "failed"
    assert four_tests.order([span(100, 120)], [span(10, 15)]) == "untested"


def test_clocks_may_differ_by_a_second() -> None:
    assert four_tests.order([span(10.8, 20)], [span(10, 15)]) == "passed"


@pytest.mark.parametrize(
    ("cause", "effect", "outcome"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], "passed"),
        ([1, 2, 3, 4], [4, 3, 2, 1], "untested"),  # four are too few to reject anybody
        ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1], "failed"),
        ([1, 2, 3, 4, 5, 6], [2, 4, 5, 3, 6, 1], "untested"),  # what few pairs don't contradict
        (list(range(1, 31)), [i * 7 % 31 for i in range(1, 31)], "failed"),  # many do
        ([1, 2], [1, 2], "untested"),
        ([5, 5, 5, 5.1], [1, 2, 3, 4], "untested"),  # one level has no dose
        ([1, float("nan"), 2, 3], [1, 9, 2, 3], "passed"),
    ],
)
def test_more_of_the_cause_more_of_the_effect(
    cause: list[float], effect: list[float], outcome: str
) -> None:
    assert four_tests.dose(cause, effect) == outcome


def test_what_gives_up_after_a_second_contradicts_no_dose() -> None:
    # Of a real-time hog, as it was played: most checks timed out after their second.
    held = [0.9, 2.3, 2.3, 3.9, 2.0, 4.0, 4.0, 5.2, 5.2]
    assert four_tests.dose(held, [1.9, 1.0, 1.0, 1.4, 1.0, 1.0, 1.0, 1.0, 1.0]) == "untested"
    assert four_tests.dose(held, [9.0, 6.0, 7.0, 4.0, 5.0, 2.0, 3.0, 1.0, 1.5]) == "failed"


def test_symptoms_that_fall_into_the_causes_are_no_chance() -> None:
    outcome, met, chance = four_tests.counterfactual(STALLS, STALLS, WINDOW)
    assert (outcome, met) == ("passed", 1.0)
    assert chance <= 0.05


def test_a_cause_that_is_always_there_explains_nothing() -> None:
    outcome, met, chance = four_tests.counterfactual([span(0, 600)], STALLS, WINDOW)
    assert (outcome, met, chance) == ("untested", 1.0, 1.0)


def test_symptoms_without_the_cause_speak_against_it() -> None:
    elsewhere = [span(60 * i + 30, 60 * i + 35) for i in range(1, 9)]
    assert four_tests.counterfactual(elsewhere, STALLS, WINDOW)[0] == "failed"


def test_two_symptoms_are_co_occurrence_and_no_test() -> None:
    assert four_tests.counterfactual(STALLS[:2], STALLS[:2], WINDOW)[0] == "untested"


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=40))
def test_rank_correlation_is_one_with_itself_and_minus_one_turned_round(
    values: list[float],
) -> None:
    x = np.array(values)
    if len(set(values)) < 2:
        return
    assert four_tests.rank_correlation(x, x) == pytest.approx(1.0)
    assert four_tests.rank_correlation(x, -x) == pytest.approx(-1.0)
    assert -1.0001 <= four_tests.rank_correlation(x, x[::-1]) <= 1.0001
