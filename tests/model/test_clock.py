from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.clock import ClockMap, ClockPair, is_step
from exhume.model.window import Window

S = 1_000_000_000
MS = S // 1000
T0 = 1_000 * S
WALL = 1_700_000_000 * S


def clock(*pairs: tuple[float, float]) -> ClockMap:
    """(seconds of the machine's clock since T0, seconds of wall time since WALL)."""
    return ClockMap.of([ClockPair(T0 + round(m * S), WALL + round(w * S)) for m, w in pairs])


def walls(by: ClockMap, *seconds: float) -> list[float]:
    times = np.array([T0 + round(second * S) for second in seconds], np.int64)
    return [(wall - WALL) / S for wall in by.to_wall(times).tolist()]


def windows(
    by: ClockMap, start: float, end: float, within: tuple[float, float]
) -> list[list[float]]:
    wanted = Window(WALL + round(start * S), WALL + round(end * S))
    found = by.monotonic_windows(wanted, T0 + round(within[0] * S), T0 + round(within[1] * S))
    return [[(edge - T0) / S for edge in pair] for pair in found]


# --- one pair, drift ---------------------------------------------------------------------------


def test_one_pair_maps_all_of_time_by_its_offset() -> None:
    assert walls(clock((0, 0)), -50, 0, 99.5) == [-50, 0, 99.5]


def test_no_pair_is_no_clock() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        ClockMap.of([])


def test_drift_is_spread_between_the_pairs_and_held_outside_them() -> None:
    slow = clock((0, 0), (100, 100.01), (200, 200.01))  # 100 ppm, then none
    assert walls(slow, 0, 50, 100, 150, 200) == [0, 50.005, 100.01, 150.01, 200.01]
    assert walls(slow, -100, 300) == [-100, 300.01]


def test_pairs_may_come_in_any_order() -> None:
    assert clock((100, 107), (0, 0)) == clock((0, 0), (100, 107))


# --- steps -------------------------------------------------------------------------------------


def test_a_step_holds_the_old_time_up_to_the_new_pair() -> None:
    stepped = clock((0, 0), (9.999, 9.999), (10, 3610), (70, 3670))
    assert walls(stepped, 5, 9.9995, 10, 20) == [5, 9.9995, 3610, 3620]


def test_stepped_back_the_same_wall_second_is_found_twice() -> None:
    stepped = clock((0, 0), (9.999, 9.999), (10, 5), (70, 65))
    assert windows(stepped, 6, 7, (0, 70)) == [[6, 7], [11, 12]]
    assert windows(stepped, 4, 20, (0, 70)) == [[4, 25]]
    assert windows(stepped, 12, 13, (0, 70)) == [[17, 18]]


def test_stepped_forwards_the_time_in_between_never_was() -> None:
    stepped = clock((0, 0), (9.999, 9.999), (10, 3610), (70, 3670))
    assert windows(stepped, 100, 200, (0, 70)) == []
    assert windows(stepped, 9, 3611, (0, 70)) == [[9, 11]]


def test_sleep_is_a_step_forwards_in_which_nothing_is_recorded() -> None:
    # CLOCK_MONOTONIC stands still while the machine sleeps; wall time went on for eight hours.
    asleep = clock((0, 0), (60, 60), (60.5, 60.5 + 8 * 3600), (120, 120 + 8 * 3600))
    assert windows(asleep, 3600, 7200, (0, 120)) == []
    assert walls(asleep, 59, 61) == [59, 61 + 8 * 3600]


@pytest.mark.parametrize(
    ("moved_ms", "after_seconds", "expected"),
    [(19, 0.001, False), (21, 0.001, True), (75, 60, False), (90, 60, True), (-90, 60, True)],
)
def test_a_step_is_more_than_jitter_and_slew_explain(
    moved_ms: int, after_seconds: float, expected: bool
) -> None:
    a, b = (
        ClockPair(0, 0),
        ClockPair(round(after_seconds * S), round(after_seconds * S) + moved_ms * MS),
    )
    assert is_step(a, b) is expected
    assert is_step(b, a) is expected


# --- there and back ----------------------------------------------------------------------------


@st.composite
def clocks(draw: st.DrawFn) -> ClockMap:
    """Hours of a machine whose clock drifts and is stepped, paired every now and then."""
    at, wall = T0, WALL
    pairs = [ClockPair(at, wall)]
    for _ in range(draw(st.integers(0, 6))):
        span = draw(st.integers(0, 3) | st.integers(0, 50 * MS) | st.integers(S, 3600 * S))
        drift = round(span * draw(st.integers(-500, 500)) / 1_000_000)
        jitter = draw(st.integers(-20 * MS, 20 * MS) | st.just(0))
        step = draw(st.just(0) | st.integers(-7200 * S, 7200 * S))
        at, wall = at + span, wall + span + drift + jitter + step
        pairs.append(ClockPair(at, wall))
    return ClockMap.of(pairs)


@st.composite
def stretches(draw: st.DrawFn) -> tuple[ClockMap, int, int]:
    """A clock and what was recorded: a stretch that may begin before the first pair."""
    by = draw(clocks())
    start = T0 + draw(st.integers(-600 * S, 600 * S))
    return by, start, start + draw(st.integers(0, 8 * 3600 * S))


@given(stretches(), st.data())
@settings(deadline=None, max_examples=150)
def test_an_instant_lies_in_the_windows_exactly_if_its_wall_time_lies_in_the_window(
    recorded: tuple[ClockMap, int, int], data: st.DataObject
) -> None:
    by, start, end = recorded
    inner = st.integers(start, max(start, end - 1))
    first, second = sorted(by.wall(data.draw(inner)) for _ in range(2))
    wanted = Window(first, second)
    found = by.monotonic_windows(wanted, start, end)
    assert all(start <= low < high <= end for low, high in found)
    assert all(a[1] < b[0] for a, b in pairwise(found))
    edges = [edge for pair in found for edge in pair]
    for time in [*data.draw(st.lists(inner, max_size=5)), *edges, *(edge - 1 for edge in edges)]:
        wall = by.wall(time)
        # Whole nanoseconds: at its very edges a window may be one or two of them off.
        if any(low <= time < high for low, high in found):
            assert first - 2 <= wall < second + 2
        elif start <= time < end:
            assert not first + 2 <= wall < second - 2


@given(stretches())
@settings(deadline=None, max_examples=60)
def test_every_instant_is_found_by_the_wall_time_it_is_shown_with(
    recorded: tuple[ClockMap, int, int],
) -> None:
    by, start, end = recorded
    if end - start < 10:
        return
    for time in np.linspace(start + 3, end - 4, 7).astype(np.int64).tolist():
        wall = by.wall(time)
        found = by.monotonic_windows(Window(wall - 3, wall + 4), start, end)
        assert any(low <= time < high for low, high in found)


@given(clocks(), st.integers(0, 8 * 3600 * S), st.integers(0, 100 * S))
@settings(deadline=None, max_examples=60)
def test_without_a_step_in_between_time_never_runs_backwards(
    by: ClockMap, begin: int, length: int
) -> None:
    times = T0 + np.linspace(begin, begin + length, 50).astype(np.int64)
    starts = np.array([pair.monotonic_ns for pair in by.pairs])
    wall = by.to_wall(times)
    same_piece = np.searchsorted(starts, times[1:], "right") == np.searchsorted(
        starts, times[:-1], "right"
    )
    assert (np.diff(wall)[same_piece] >= 0).all()


@given(clocks())
@settings(deadline=None, max_examples=60)
def test_at_each_pair_the_map_says_what_the_pair_said(by: ClockMap) -> None:
    last = {pair.monotonic_ns: pair.wall_ns for pair in by.pairs}
    assert {at: by.wall(at) for at in last} == last


def test_two_pairs_a_moment_apart_do_not_make_time_stand_still() -> None:
    # 10 ms later by the machine, not a nanosecond later by the wall: within jitter, so no step.
    jittery = clock((0, 0), (0.01, 0), (60, 59.99))
    assert windows(jittery, -1, 30, (-1, 60)) == [[-1, 30.01]]


# --- the kernel log's clock --------------------------------------------------------------------


def test_the_kernel_logs_clock_is_mapped_by_the_nearest_pair() -> None:
    pairs = [ClockPair(100, 0, 90), ClockPair(1000, 0, 980), ClockPair(2000, 0, None)]
    by = ClockMap.of(pairs)
    assert [by.from_kernel_log(t) for t in (0, 90, 500, 600, 980, 5000)] == [
        10, 100, 510, 620, 1000, 5020,
    ]  # fmt: skip


def test_without_a_reading_of_it_nothing_is_guessed() -> None:
    assert clock((0, 0), (60, 60)).from_kernel_log(5) is None
