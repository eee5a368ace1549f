from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.rates import columns, gained, levels, rates
from exhume.model.answers import SeriesAnswer
from exhume.model.series import MISSING
from exhume.model.window import Window

NS = 1_000_000_000


def series(
    values: list[int],
    *,
    field: str = "vmstat.pgfault",
    seconds: list[float] | None = None,
    pieces: list[int] | None = None,
) -> SeriesAnswer:
    times = seconds if seconds is not None else [float(second) for second in range(len(values))]
    return SeriesAnswer(
        field,
        "",
        np.array([100 * NS + round(second * NS) for second in times], np.int64),
        np.array(values, np.int64),
        np.array(pieces if pieces is not None else [0] * len(values), np.uint8),
    )


def per_second(made: SeriesAnswer) -> list[float | None]:
    return [None if np.isnan(value) else value for value in rates(made).per_second.values.tolist()]


def test_a_rate_is_what_was_gained_by_the_time_it_took() -> None:
    assert per_second(series([0, 10, 40], seconds=[0, 1, 3])) == [10, 15]
    assert rates(series([0, 10, 40], seconds=[0, 1, 3])).total == 40


def test_a_counter_that_fell_was_set_back_and_its_gain_is_not_known() -> None:
    found = rates(series([50, 60, 5, 15]))
    assert per_second(series([50, 60, 5, 15])) == [10, None, 10]
    assert (found.resets, found.total) == (1, 20)


def test_nothing_is_subtracted_across_pieces() -> None:
    assert per_second(series([1, 2, 900, 901], pieces=[0, 0, 1, 1])) == [1, None, 1]
    assert rates(series([9, 1], pieces=[0, 1])).resets == 0


def test_a_reading_that_is_missing_leaves_one_longer_interval() -> None:
    assert per_second(series([0, MISSING, 10])) == [5]


def test_a_gap_is_no_slow_interval() -> None:
    assert per_second(series([0, 1, 2, 3], seconds=[0, 1, 2, 60])) == [1, 1, None]


def test_what_is_told_on_change_has_no_gap_while_nothing_changes() -> None:
    assert per_second(series([0, 1, 60], field="memcg.births", seconds=[0, 1, 60])) == [1, 1]


def test_a_32_bit_counter_that_wraps_goes_on() -> None:
    top = (1 << 32) - 10
    assert per_second(series([top, 20], field="softnet.processed")) == [30]
    assert per_second(series([top, 20])) == [None]
    # A core went off line and took its part of the sum along: no wrap.
    assert per_second(series([3_000_000_000, 2_000_000_000], field="irq.count")) == [None]


def test_a_clock_set_back_makes_no_interval() -> None:
    found = rates(series([0, 10, 20], seconds=[0, 1, -500]))
    assert found.per_second.values.tolist() == [10]


def test_too_few_readings_have_no_rate() -> None:
    for few in ([], [7], [7, MISSING]):
        found = rates(series(few))
        assert found.total is None
        assert np.isnan(found.per_second.mean())


@given(st.lists(st.integers(0, 1000) | st.just(MISSING), max_size=30), st.data())
def test_rates_are_never_negative_and_add_up_to_the_total(
    values: list[int], data: st.DataObject
) -> None:
    pieces = data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    found = rates(series(values, pieces=pieces))
    known = np.isfinite(found.per_second.values)
    assert (found.per_second.values[known] >= 0).all()
    sums = (found.per_second.values * found.per_second.seconds)[known].sum()
    assert sums == pytest.approx(found.total or 0)


def test_a_gauge_holds_until_the_next_reading_but_not_through_a_gap() -> None:
    found = levels(series([5, 7, 9, 3], seconds=[0, 10, 20, 200]))
    assert ((found.end_ns - found.start_ns) / NS).tolist() == [10, 10, 10, 10]
    assert found.mean() == pytest.approx(6)
    assert (found.least(), found.most(), found.last()) == (3, 9, 3)


def test_a_column_is_as_high_as_its_highest_second() -> None:
    found = rates(series([0, 1, 2, 100, 101, 102, 103]))
    window = Window(100 * NS, 106 * NS)
    assert columns(found.per_second, window, 2).tolist() == [98, 1]
    assert columns(found.per_second, window, 6).tolist() == [1, 1, 98, 1, 1, 1]
    assert columns(found.per_second, window, 12).tolist() == [1] * 4 + [98] * 2 + [1] * 6


def test_columns_without_a_reading_are_not_zero() -> None:
    found = rates(series([0, 1, 2]))
    drawn = columns(found.per_second, Window(98 * NS, 106 * NS), 4)
    assert [None if np.isnan(value) else value for value in drawn] == [None, 1, None, None]


def gain(values: list[int], *, since: float = 100, boots: tuple[Window, ...] = ()) -> int:
    return gained(series(values, seconds=[i * 60.0 for i in range(len(values))]), boots,
                  round(since * NS))  # fmt: skip


def test_a_counter_by_name_counts_from_its_first_event_on() -> None:
    assert gain([3, 5]) == 2  # it was there before the window
    assert gain([MISSING, 30, 31]) == 31  # its name came up within the window
    assert gain([30, 31], since=40) == 31  # in a later segment than other names


def test_a_counter_by_name_starts_anew_with_the_recorder_and_with_the_machine() -> None:
    assert gain([10, 12, 3]) == 2 + 3
    first, second = Window(0, 130 * NS), Window(130 * NS, 400 * NS)
    assert gain([10, 40], boots=(first, second)) == 40


def test_the_last_reading_at_the_very_end_of_its_boot_is_not_another_boots() -> None:
    assert gain([10, 12, 15], boots=(Window(0, 220 * NS),)) == 5


def test_what_was_told_before_the_window_only_says_where_it_stood() -> None:
    told = series([10, 12, 15], seconds=[0, 60, 120])
    assert gained(told, (), 100 * NS, from_ns=160 * NS) == 5
    assert gained(told, (), 100 * NS, from_ns=161 * NS) == 3
