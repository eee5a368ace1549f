from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.stamps import (
    NS,
    StampFinder,
    Years,
    number_ns,
    some_years,
    text_ns,
)

DAY = 1_794_700_800
"""2026-11-15 00:00:00 UTC"""
AT = DAY + 20 * 3600 + 20 * 60 + 10


def find(line: str, written_s: int = AT + 3600) -> tuple[float, bool, bool, str] | None:
    stamp = StampFinder(Years(written_s * NS)).find(line)
    if stamp is None:
        return None
    return stamp.time_ns / NS, stamp.has_zone, stamp.has_year, line[stamp.end :]


@pytest.mark.parametrize(
    ("line", "seconds", "has_zone", "has_year"),
    [
        ("2026-11-15T20:20:10Z x", AT, True, True),
        ("2026-11-15T20:20:10.123456789Z x", AT + 0.123456789, True, True),
        ("2026-11-15T12:20:10.5-08:00 x", AT + 0.5, True, True),
        ("2026-11-16T01:50:10+0530 x", AT, True, True),
        ("2026-11-15 20:20:10,123 ERROR x", AT + 0.123, False, True),
        ("2026-11-15 20:20:10.123 UTC [812] x", AT + 0.123, True, True),
        ("[2026-11-15 20:20:10,123 E 123 456] core_worker.cc:1: x", AT + 0.123, False, True),
        ("(pid=351, ip=10.0.0.1) 2026-11-15 20:20:10,123 x", AT + 0.123, False, True),
        ('time="2026-11-15T20:20:10.5Z" level=error msg="x"', AT + 0.5, True, True),
        ("2026/11/15 20:20:10 [error] 12#0: x", AT, False, True),
        ("2026/11/15 20:20:10.654321 main.go:3: x", AT + 0.654321, False, True),
        ('10.0.0.1 - - [15/Nov/2026:20:20:10 +0000] "GET / HTTP/1.1" 504', AT, True, True),
        ("[Sun Nov 15 20:20:10.123456 2026] [core:error] [pid 1] x", AT + 0.123456, False, True),
        ("Sun Nov 15 20:20:10 UTC 2026 x", AT, True, True),
        ("Sun Nov 15 12:20:10 PST 2026 x", AT, True, True),
        ("Sun Nov 15 20:20:10 CST 2026 x", AT, False, True),
        ("2026-11-15 21:20:10 CET node-1 kernel: x", AT, True, True),
        ("2026-11-16 04:20:10 +08 node-1 kernel: x", AT, True, True),
        ("2026-11-15 20:20:10 IST node-1 kernel: x", AT, False, True),
        ("2026 Nov 15 20:20:10 node-1 kernel: x", AT, False, True),
        ("Nov 15 2026 20:20:10.5 node-1 kernel: x", AT + 0.5, False, True),
        ("Nov 15, 2026 8:20:10 PM com.example.Main run", AT, False, True),
        ("812:M 15 Nov 2026 20:20:10.123 * x", AT + 0.123, False, True),
        ("15-Nov-2026 20:20:10.123 SEVERE [main] x", AT + 0.123, False, True),
        ("11/15/2026 20:20:10 - INFO - x", AT, False, True),
        ("11/15/2026, 8:20:10 PM x", AT, False, True),
        ("15/11/2026 20:20:10 x", AT, False, True),
        ("26/11/15 20:20:10 WARN x", AT, False, True),
        ("15.11.2026 20:20:10,25 WARN x", AT + 0.25, False, True),
        ("15-11-2026 20:20:10 Container x found to be unhealthy", AT, False, True),
        ("[So Nov 15 20:20:10 2026] x", AT, False, True),
        ("[dim. nov. 15 20:20:10 2026] x", AT, False, True),
        ("11月 15 20:20:10 host app[1]: x", AT, False, False),
        ("E1115 20:20:10.123456   12345 kubelet.go:123] x", AT + 0.123456, False, False),
        ("E20261115 20:20:10.123456 12345 a.cc:1] x", AT + 0.123456, False, True),
        ("[rank0]:[E1115 20:20:10.426415540 P.cpp:629] x", AT + 0.42641554, False, False),
        ("Nov 15 20:20:10 host app[1]: x", AT, False, False),
        ("[CET Nov 15 21:20:10] error    : x", AT, True, False),
        ("[CST Nov 15 20:20:10] error    : x", AT, False, False),
        ("1794774010.25 x", AT + 0.25, True, True),
        ('level=error ts=1794774010.25 msg="x"', AT + 0.25, True, True),
        ("2026-11-15_20:20:10.25 x", AT + 0.25, False, True),
        ("20261115T202010Z x", AT, True, True),
        (f"@{(1 << 62) + 10 + AT:016x}{250_000_000:08x} x", AT + 0.25, True, True),
        ("[1794774010] x", AT, True, True),
        ("1794774010250 x", AT + 0.25, True, True),
    ],
)
def test_stamps_of_all_kinds_of_programs_are_read(
    line: str, seconds: float, has_zone: bool, has_year: bool
) -> None:
    found = find(line)
    assert found is not None
    assert found[0] == pytest.approx(seconds, abs=1e-6)
    assert found[1:3] == (has_zone, has_year)
    assert "2026" not in found[3]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no time in here",
        "20:20:10 all 1.00 0.00",
        "2026-13-15 20:20:10 x",
        "2026-02-30 20:20:10 x",
        "2026-11-15 24:20:10 x",
        "12026-11-15 20:20:10 x",
        "Nov 32 20:20:10 host x",
        "took 15 20:20:10 x",
        "13月 15 20:20:10 x",
        "13/13/2026 20:20:10 x",
        "step 1794774010 of many",
        "E9915 20:20:10.123456 x",
        "x" * 120 + "2026-11-15 20:20:10 x",
    ],
)
def test_what_is_no_time_or_stands_too_far_inside_is_no_stamp(line: str) -> None:
    assert find(line) is None


def test_a_year_that_is_left_out_is_that_by_which_the_file_was_written() -> None:
    year = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    found = find("Jan  1 00:00:05 host a: x", int(year) + 60)
    assert found is not None
    assert found[0] == year + 5
    found = find("Dec 31 23:59:05 host a: x", int(year) + 60)
    assert found is not None
    assert found[0] == year - 55
    leap = find("Feb 29 12:00:00 host a: x", int(year) + 60)
    assert leap is not None
    assert datetime.fromtimestamp(leap[0], UTC).year == 2024


def test_a_log_may_say_nothing_for_most_of_a_year() -> None:
    written = datetime(2025, 12, 5, tzinfo=UTC)
    finder = StampFinder(Years(int(written.timestamp()) * NS))
    found = [finder.find(f"{day} 12:00:00 host a: x") for day in ("Mar  3", "Nov 30", "Dec  1")]
    days = [datetime.fromtimestamp(one.time_ns / NS, UTC).date() for one in found if one]
    assert [str(day) for day in days] == ["2025-03-03", "2025-11-30", "2025-12-01"]


@pytest.mark.parametrize("written", [datetime(2026, 1, 5), datetime(2027, 1, 5)])
def test_a_late_line_of_the_old_year_stays_in_it(written: datetime) -> None:
    finder = StampFinder(Years(int(written.replace(tzinfo=UTC).timestamp()) * NS))
    found = [finder.find(f"{day} 12:00:00 host a: x") for day in ("Jan  1", "Dec 31", "Jan  2")]
    years = [datetime.fromtimestamp(one.time_ns / NS, UTC).year for one in found if one]
    assert years == [written.year, written.year - 1, written.year]


def test_new_year_is_crossed_in_the_middle_of_a_log() -> None:
    written = datetime(2027, 1, 2, tzinfo=UTC)
    finder = StampFinder(Years(int(written.timestamp()) * NS))
    old, new = "Dec 31 23:59:5", "Jan  1 00:00:0"
    lines = [f"{old}8", f"{old}9", f"{new}0", f"{old}9", f"{new}1"]
    times = [stamp.time_ns // NS for line in lines if (stamp := finder.find(f"{line} h a: x"))]
    midnight = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())
    assert [time - midnight for time in times] == [-2, -1, 0, -1, 1]


INSTANTS = st.datetimes(datetime(1991, 1, 1), datetime(2199, 1, 1))
ZONES = st.integers(-12 * 4, 14 * 4).map(lambda quarters: timedelta(minutes=15 * quarters))


@given(INSTANTS, ZONES)
def test_any_instant_is_read_back_as_iso_writes_it(at: datetime, east: timedelta) -> None:
    for text in (at.replace(tzinfo=timezone(east)).isoformat(), at.isoformat(" ") + " x"):
        found = find(f"{text} x", 0)
        assert found is not None
        wall = datetime.fromisoformat(text.removesuffix(" x"))
        wall = wall if wall.tzinfo else wall.replace(tzinfo=UTC)
        expected = (wall - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        assert round(found[0] * 1e6) == pytest.approx(expected, abs=1)


@given(st.lists(st.text(max_size=150), max_size=5))
def test_any_text_has_a_stamp_or_none(lines: list[str]) -> None:
    finder = StampFinder(some_years())
    for line in lines:
        stamp = finder.find(line)
        assert stamp is None or 0 <= stamp.start < stamp.end <= len(line)
        text_ns(line)


@pytest.mark.parametrize("factor", [1, 1e3, 1e6, 1e9])
def test_a_number_tells_by_its_size_what_it_counts(factor: float) -> None:
    assert number_ns(AT * factor) == pytest.approx(AT * NS, rel=1e-12)
    with pytest.raises(ValueError, match="no time"):
        number_ns(12.5)


def test_months_are_known_in_the_languages_that_people_use() -> None:
    for text in ("Dez  1", "Mär  1", "Okt  1", "févr. 1", "août  1", "ene  1", "дек  1", "12月  1"):
        assert find(f"{text} 20:20:10 host app[1]: x") is not None, text


def test_the_name_of_a_level_is_no_zone() -> None:
    found = find("2026-11-15 20:20:10 WARN x")
    assert found is not None
    assert found[1] is False
    assert found[3] == " WARN x"
