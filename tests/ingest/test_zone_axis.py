"""Local times across the beginning and the end of summer time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import accumulate, pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exhume.ingest.zone_axis import NS, ZoneAxis
from tests.ingest.made import do_import, segments, write

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    BERLIN,
    ZoneInfo("America/New_York"),
    ZoneInfo("Australia/Lord_Howe"),  # its clock moves by half an hour
    ZoneInfo("Asia/Kolkata"),
    timezone(timedelta(hours=-8)),
)
# Around the days on which one of these clocks is changed, and any others of 2025 and 2026.
YEARS = 1_735_689_600, 1_798_761_600
DAYS = st.sampled_from(("2025-03-30", "2025-10-26", "2025-03-09", "2025-11-02", "2025-04-06"))
STARTS = st.one_of(
    st.builds(lambda day, hour: _utc(f"{day}T00:00:00") + 3600 * hour, DAYS, st.integers(-24, 24)),
    st.integers(*YEARS),
)


def _utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def shown(zone: tzinfo, utc_s: int) -> int:
    """What a clock of that zone shows, as if it were UTC."""
    local = datetime.fromtimestamp(utc_s, zone).replace(tzinfo=UTC)
    return int(local.timestamp())


@given(st.sampled_from(ZONES), STARTS, st.lists(st.integers(0, 14 * 60), min_size=1, max_size=300))
def test_no_change_of_the_clock_shows(zone: tzinfo, start: int, steps: list[int]) -> None:
    # Of a log that begins in the hour that comes twice nobody knows which of them it is.
    assume(not datetime.fromtimestamp(start, zone).fold)
    axis = ZoneAxis(zone)
    for utc_s in accumulate(steps, initial=start):
        found = axis.at(shown(zone, utc_s))
        assert axis.east_s is not None
        assert found - axis.east_s == utc_s


def test_a_line_that_comes_a_little_late_is_not_of_the_second_time() -> None:
    axis = ZoneAxis(BERLIN)
    first = axis.at(_utc("2025-10-26T02:30:05"))
    assert axis.at(_utc("2025-10-26T02:30:03")) == first - 2
    assert axis.at_ns(_utc("2025-10-26T02:30:06") * NS + 7) == (first + 1) * NS + 7


def table(date: str, clock: list[int]) -> str:
    """`mpstat -P ALL 1` of one core."""
    lines = [f"Linux 5.4.0 (node-1) \t{date} \t_x86_64_\t(1 CPU)\n"]
    for before, now in pairwise(clock):
        texts = [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in (before, now)]
        lines.append(f"{texts[0]}     CPU    %usr    %sys   %idle")
        lines += [f"{texts[1]}     {core:>3}   10.00    5.00   85.00" for core in ("all", "0")]
        lines.append("")
    return "\n".join(lines) + "\n"


CHANGES = pytest.mark.parametrize(
    ("day", "before", "after"),
    [("2025-10-26", 3 * 3600, 2 * 3600), ("2025-03-30", 2 * 3600, 3 * 3600)],
)


@CHANGES
def test_mpstat_goes_on_when_the_clock_is_changed(
    day: str, before: int, after: int, tmp_path: Path
) -> None:
    clock = [*range(before - 20, before), *range(after, after + 20)]
    file = write(tmp_path / "mpstat.txt", table(day, clock))
    report = do_import(tmp_path / "out", file, zone=BERLIN)
    (one,) = report.inputs
    assert not any("set back" in note for note in one.notes)
    assert "Europe/Berlin as told" in one.clock
    spans = [segment.window for segment in segments(tmp_path / "out")]
    assert (spans[0].start_ns, spans[-1].end_ns // NS) == (
        _utc(f"{day}T00:59:40") * NS,
        _utc(f"{day}T01:00:19"),
    )


@CHANGES
def test_a_log_goes_on_when_the_clock_is_changed(
    day: str, before: int, after: int, tmp_path: Path
) -> None:
    times = [before - 5, before - 1, after, after + 9]
    lines = [
        f"{day} {s // 3600:02}:{s // 60 % 60:02}:{s % 60:02} ERROR health check failed: timeout\n"
        for s in times
    ]
    do_import(tmp_path / "out", write(tmp_path / "job.log", "".join(lines)), zone=BERLIN)
    found = [event for segment in segments(tmp_path / "out") for event in segment.events()]
    first = _utc(f"{day}T00:59:55")
    assert [event.time_ns // NS - first for event in found] == [0, 4, 5, 14]
