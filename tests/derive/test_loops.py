from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.loops import (
    Runs,
    is_loop,
    mark_jobs,
    mark_process,
    mark_supervised,
    most_within,
    steady_pace,
    weighted_median,
)
from exhume.model.window import Window

NS = 1_000_000_000


def runs(
    starts: list[float], lifetimes: list[float] | None = None, *, counts: list[int] | None = None,
    known_ends: int = 0, bad_ends: int = 0, restarts: int = 0, waits: bool = False,
) -> Runs:  # fmt: skip
    lives = lifetimes or []
    return Runs(
        np.array([round(second * NS) for second in starts], np.int64),
        np.array(counts or [1] * len(starts), np.int64),
        np.array(lives, np.float64),
        np.ones(len(lives), np.int64),
        known_ends,
        bad_ends,
        restarts,
        waits,
    )


def every(seconds: float, times: int) -> list[float]:
    return [index * seconds for index in range(times)]


def test_five_starts_in_ten_minutes_that_fail_are_a_crash_loop() -> None:
    assert mark_supervised(runs(every(120, 5), known_ends=5, bad_ends=5)) == "crash loop"
    assert mark_supervised(runs(every(160, 5), known_ends=5, bad_ends=5)) == "healthy"


def test_starts_over_years_fall_into_their_parts() -> None:
    year = 365 * 86_400
    window = Window(0, 20 * year * NS)
    found = runs([0, year, 19.5 * year, 20 * year - 1], counts=[1, 2, 3, 4]).over(window, 40)
    assert {at: count for at, count in enumerate(found) if count} == {0: 1, 2: 2, 39: 7}


def test_five_short_lives_are_a_crash_loop_however_far_apart() -> None:
    assert mark_supervised(runs(every(3600, 5), [20] * 5, known_ends=5, bad_ends=5)) == "crash loop"
    assert mark_supervised(runs(every(3600, 5), [90] * 5, known_ends=5, bad_ends=5)) == "healthy"
    assert mark_supervised(runs(every(3600, 4), [20] * 4, known_ends=4, bad_ends=4)) == "healthy"


def test_a_unit_that_waits_for_its_restart_is_a_crash_loop_at_once() -> None:
    assert mark_supervised(runs([0.0], known_ends=1, waits=True)) == "crash loop"


def test_what_ends_well_each_time_is_no_crash_loop() -> None:
    timer = runs(every(60, 60), [2.0] * 60, known_ends=60)
    assert mark_supervised(timer) == "scheduled"
    probe = runs(every(10, 360), [0.1] * 360, known_ends=360)
    assert mark_supervised(probe) == "many short jobs"


def test_what_ends_well_and_is_restarted_all_the_same_is_a_crash_loop() -> None:
    always = runs(every(10, 60), [1.0] * 60, known_ends=60, restarts=60)
    assert mark_supervised(always) == "crash loop"


def test_removed_and_run_anew_with_no_exit_code_is_a_crash_loop() -> None:
    assert mark_supervised(runs(every(10, 60), [8.0] * 60)) == "crash loop"


def test_a_steady_process_under_one_parent_is_a_loop_and_no_crash_loop() -> None:
    steady = runs(every(10, 20), [1.0] * 20)
    assert mark_process(steady, "ecs-agent", 1.0) == "loop"
    between_captures = runs([at + 2.0 * n for at in (0, 7200, 14400) for n in range(20)])
    assert mark_process(between_captures, "ecs-agent", 1.0) == "loop"
    jittered = runs([10 * i + (i * 7 % 5) * 0.4 for i in range(20)], [1.0] * 20)
    assert mark_process(jittered, "ecs-agent", 0.5) == "loop"


@pytest.mark.parametrize(
    ("what", "name", "share"),
    [
        (runs(every(10, 20), [1.0] * 20), "sleep", 1.0),  # how a loop waits
        (runs(every(10, 20), [1.0] * 20), "mkdir", 0.33),  # a script at work
        (runs(every(10, 20), [40.0] * 20), "worker", 1.0),  # several at once
        (runs(every(2, 20), [0.1] * 20), "cc1", 1.0),  # over in 40 s
        (runs([float(2**i) for i in range(8)], [0.1] * 8), "retry", 1.0),  # backs off
        (runs(every(10, 4), [1.0] * 4), "rare", 1.0),
        (runs(every(10, 20), counts=[30] * 20), "storm", 1.0),  # thirty at once
        (runs([s + 0.005 * n for s in range(70) for n in range(10)]), "date", 0.48),  # in bursts
    ],
)
def test_these_are_no_loops(what: Runs, name: str, share: float) -> None:
    assert mark_process(what, name, share) != "loop"


def test_many_short_jobs_are_called_that() -> None:
    assert mark_jobs(runs(every(1, 40), [0.1] * 40)) == "many short jobs"
    assert mark_jobs(runs(every(60, 40), [0.1] * 40)) == "healthy"


def test_starts_are_counted_in_the_fullest_stretch() -> None:
    start = np.array([0, 1, 2, 700, 701, 702, 703], np.int64) * NS
    ones = np.ones(7, np.int64)
    assert most_within(start, ones, 600 * NS) == 4
    assert most_within(start, ones * 3, 600 * NS) == 12
    assert most_within(start[:0], ones[:0], 600 * NS) == 0


def test_the_median_is_weighted_by_count() -> None:
    values, weight = np.array([1.0, 50.0, np.nan]), np.array([9, 2, 100], np.int64)
    assert weighted_median(values, weight) == 1.0
    assert weighted_median(values[2:], weight[2:]) is None


@given(st.lists(st.integers(0, 10**6), max_size=50), st.integers(1, 10**5))
def test_the_fullest_stretch_is_what_a_plain_count_finds(times: list[int], span: int) -> None:
    start = np.array(sorted(times), np.int64)
    plain = max((sum(a <= b < a + span for b in times) for a in times), default=0)
    assert most_within(start, np.ones(len(start), np.int64), span) == plain


@given(st.lists(st.integers(1, 10**9), min_size=4, max_size=40))
def test_a_pace_is_steady_only_if_half_of_the_intervals_are_near_it(gaps: list[int]) -> None:
    start = np.cumsum([0, *gaps]).astype(np.int64)
    pace = steady_pace(start, np.ones(len(start), np.int64))
    if pace is not None:
        near = [0.5 * pace <= gap / 1e9 <= 1.5 * pace for gap in gaps]
        assert sum(near) >= len(gaps) / 2 - 1


def test_a_loop_needs_starts() -> None:
    assert not is_loop(runs([]))
