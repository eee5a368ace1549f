from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.clock_stamps import DAY_NS, ClockFinder, first_day_ns, is_clock_log
from exhume.derive.stamps import NS

HOUR = 3600 * NS


@pytest.mark.parametrize(
    "lines",
    [
        ["[20:20:10] INFO: ready", "[20:20:12] ERROR: health check timed out after 1.4s"],
        ["20:20:10.123 | WARN | late", "20:20:11.5 | INFO | well"],
        ["20:20:10,123 pinger ERROR late", "Traceback:", "20:20:11,500 pinger DEBUG well"],
    ],
)
def test_a_time_of_day_and_a_level_make_a_log(lines: list[str]) -> None:
    assert is_clock_log(lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["20:20:10  CPU    %usr   %sys", "20:20:11  all    1.00   2.00"],
        ["20:20:11   39    1.00   2.00  97.00", "20:20:12   39    1.00   2.00  97.00"],
        [" 20:20:10 up 3 days,  load average: 0.10, 0.20, 0.30"] * 3,
        ["20:20:10,7,9", "20:20:11,8,9"],
        ["20:20:10 ERROR once", *["something else"] * 9],
        ["it began at 20:20:10 INFO"] * 3,
        [],
    ],
)
def test_tables_and_what_mentions_a_time_are_none(lines: list[str]) -> None:
    assert not is_clock_log(lines)


def test_a_new_day_begins_where_the_clock_starts_over() -> None:
    finder = ClockFinder(DAY_NS)
    lines = ("23:59:58 a", "00:00:01 b", "23:59:59 late", "00:00:02.5 c", "no time", "14:00:00 d")
    found = [finder.find(line) for line in (*lines, "11:00:00 e")]
    at = [None if one is None else (one.time_ns - DAY_NS) / NS for one in found]
    day = 86_400
    assert at == [day - 2, day + 1, day - 1, day + 2.5, None, day + 14 * 3600, 2 * day + 11 * 3600]


def test_its_last_line_was_written_before_the_file() -> None:
    lines = ["23:00:00 a", "01:00:00 b"]
    assert first_day_ns(lines, 9 * DAY_NS + 2 * HOUR) == 8 * DAY_NS
    assert first_day_ns(lines, 9 * DAY_NS) == 7 * DAY_NS
    assert first_day_ns([], 9 * DAY_NS + HOUR) == 9 * DAY_NS


@given(st.lists(st.text(max_size=60)))
def test_no_line_is_too_odd(lines: list[str]) -> None:
    is_clock_log(lines)
    assert first_day_ns(lines, 9 * DAY_NS) <= 9 * DAY_NS
