from __future__ import annotations

from datetime import timedelta, timezone
from pathlib import Path

import pytest

from exhume.derive.stamps import NS, Stamp
from exhume.ingest.local_times import LocalTimes
from exhume.ingest.piece import ClockKind, Trust
from tests.ingest import log_made, made
from tests.ingest.made import do_import, write

LAST_NS = 1_794_774_010 * NS


def of(*, has_zone: bool, has_year: bool, told: timezone | None = None) -> LocalTimes:
    times = LocalTimes(told)
    times.saw(Stamp(LAST_NS, 0, 1, has_zone, has_year))
    return times


def test_times_with_everything_are_wall_times() -> None:
    times = of(has_zone=True, has_year=True)
    assert (times.clock, times.claim(), times.guesses(LAST_NS)) == (ClockKind.WALL, None, ())


def test_a_log_that_has_both_kinds_of_times_thinks_in_utc() -> None:
    times = of(has_zone=False, has_year=True)
    times.saw_time(LAST_NS, has_zone=True)
    assert times.clock == ClockKind.WALL


def test_a_zone_that_is_left_out_may_be_any_and_utc_comes_first() -> None:
    times = of(has_zone=False, has_year=True)
    claim = times.claim()
    assert claim is not None
    assert (claim.offset_ns, "UTC" in claim.how) == (0, True)
    hours = {guess.offset_ns / 3600 / NS for guess in times.guesses(LAST_NS)}
    assert hours >= {8, -5.5, -14, 12}
    assert 0 not in hours


def test_a_zone_that_is_told_counts() -> None:
    times = of(has_zone=False, has_year=True, told=timezone(timedelta(hours=-8)))
    claim = times.claim()
    assert claim is not None
    assert (claim.offset_ns, claim.trust) == (8 * 3600 * NS, Trust.TOLD)
    assert times.guesses(LAST_NS) == ()


def test_a_date_that_is_left_out_is_a_guess_though_the_zone_is_told() -> None:
    times = LocalTimes(timezone(timedelta(hours=1)), without_day=True)
    times.saw(Stamp(0, 0, 8, has_zone=False, has_year=False))
    claim = times.claim()
    assert claim is not None
    assert "guessed" in claim.how
    days = {round(one.offset_ns / NS / 86_400, 2) for one in times.guesses(20_000 * 86_400 * NS)}
    assert {-1.04, 0.96} <= days


def test_a_year_that_is_left_out_may_be_another() -> None:
    times = of(has_zone=True, has_year=False)
    days = {guess.offset_ns // 86_400 // NS for guess in times.guesses(LAST_NS)}
    assert {-365, 365, -730} <= days


@pytest.mark.parametrize("year", [2026, 2024])
def test_a_syslog_that_was_copied_years_later_goes_where_the_capture_is(
    year: int, tmp_path: Path
) -> None:
    capture = write(
        tmp_path / f"perf-node-1-{year}1115-202000-20s.data",
        made.capture(20, start_ns=500 * NS, cores=1).file(),
    )
    lines = [f"Nov 15 20:20:{s:02} node-1 kernel: usb 1-1: x\n" for s in range(15)]
    lines.append(f"Nov 15 20:20:16 node-1 kernel: {log_made.PAUSED}\n")
    log = write(tmp_path / "syslog", "".join(lines))
    do_import(tmp_path / "out", capture, log)
    (segment,) = made.segments(tmp_path / "out")
    (event,) = [event for event in segment.events() if event.kind == "kernel-log"]
    start = segment.window.start_ns
    assert start <= event.time_ns < start + 20 * NS
