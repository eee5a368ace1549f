from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.stamps import NS
from exhume.ingest.journal_span import journal_span
from exhume.ingest.told_times import told_times

HOUR_NS = 3600 * NS
LINE = "Feb 19 03:17:53 gpu-7 kernel: NETDEV WATCHDOG: eth0 (ena): transmit queue 5 timed out\n"


def of(head: str) -> tuple[str, int | None] | None:
    found = journal_span(f"{head}\n{LINE}".encode())
    if found is None:
        return None
    return f"{datetime.fromtimestamp(found.end_ns // NS, UTC):%Y-%m-%d %H:%M}", found.east_ns


@pytest.mark.parametrize(
    ("head", "end", "east_ns"),
    [
        (
            "-- Logs begin at Wed 2020-02-05 15:18:00 CET, end at Wed 2020-02-19 09:12:59 CET. --",
            "2020-02-19 09:12",
            HOUR_NS,
        ),
        (
            "-- Journal begins at Fri 2021-01-28 10:01:02 UTC, ends at Tue 2022-02-19 03:12:59 UTC."
            " --",
            "2022-02-19 03:12",
            0,
        ),
        # A summer lies between: which of them the lines are of it does not say.
        (
            "-- Logs begin at Wed 2017-02-08 15:18:00 CET, end at Mon 2018-02-19 09:12:59 CET. --",
            "2018-02-19 09:12",
            None,
        ),
        (
            "-- Logs begin at Wed 2017-02-08 15:18:00 CET, end at Tue 2017-09-19 09:12:59 CEST. --",
            "2017-09-19 07:12",
            None,
        ),
        # Chicago's or Shanghai's.
        (
            "-- Logs begin at Wed 2020-02-05 15:18:00 CST, end at Wed 2020-02-19 09:12:59 CST. --",
            "2020-02-19 09:12",
            None,
        ),
    ],
)
def test_the_head_of_a_journal_tells_the_year_and_where_it_is_sure_the_zone(
    head: str, end: str, east_ns: int | None
) -> None:
    assert of(head) == (end, east_ns)


def test_by_its_head_a_journal_is_of_its_year_whenever_the_file_was_copied() -> None:
    head = "-- Logs begin at Wed 2020-02-05 15:18:00 CET, end at Wed 2020-02-19 09:12:59 CET. --\n"
    copied_ns = int(datetime(2026, 11, 19, tzinfo=UTC).timestamp()) * NS
    told = told_times((head + LINE).encode(), copied_ns)
    assert (told.is_year_told, told.east_ns) == (True, HOUR_NS)
    assert datetime.fromtimestamp(told.newest_ns(copied_ns) // NS, UTC).year == 2020


@given(st.text())
def test_no_head_is_too_odd(text: str) -> None:
    of(text)
    of(f"-- Logs begin at {text}, end at {text}. --")
