"""The year and the zone of a log whose stamps leave them out, by full times in its lines."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.stamps import NS, StampFinder, Years
from exhume.ingest import job_log, syslog
from exhume.ingest.local_times import LocalTimes, ToldTimes
from exhume.ingest.piece import ClockKind, Piece
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.ingest.told_times import FollowedZone, told_times
from tests.ingest import made

HOUR_NS = 3600 * NS
WRITTEN = int(datetime(2026, 11, 18, tzinfo=UTC).timestamp())
DOCKERD = (
    'Aug  5 07:27:14 node dockerd[2697]: time="{}" level=info msg="ignoring event"\n'
    "Aug  5 07:27:24 node kernel: NETDEV WATCHDOG: eth0 (ena): transmit queue 5 timed out\n"
)


def read(tmp_path: Path, text: str) -> list[Piece]:
    path = tmp_path / "messages"
    path.write_text(text)
    os.utime(path, (WRITTEN, WRITTEN))
    source = Source.of(path)
    found = recognise(source)
    assert found is not None
    reader = {"system log": syslog, "job log": job_log}[found.name]
    return list(reader.read(source, made.context(tmp_path)))


def told(*lines: str) -> tuple[int, int | None]:
    found = told_times("\n".join([*lines, ""]).encode(), WRITTEN * NS)
    return found.years, found.east_ns


@pytest.mark.parametrize("full", ["2023-08-05T07:27:14.304609945+02:00", "2023-08-05T05:27:14.3Z"])
def test_a_time_in_a_line_tells_the_year_and_the_zone_of_its_stamp(
    tmp_path: Path, full: str
) -> None:
    pieces = read(tmp_path, DOCKERD.format(full))
    (event,) = [event for piece in pieces for event in piece.events]
    at = datetime(2023, 8, 5, 5, 27, 24, tzinfo=UTC)
    assert event.time_ns == int(at.timestamp()) * NS
    assert (pieces[0].clock, pieces[0].claim, pieces[0].guesses) == (ClockKind.WALL, None, ())
    assert "its times are of UTC+02:00, by full times in its lines" in pieces[-1].facts.notes


def test_the_kubelet_tells_the_year_of_its_own_stamps(tmp_path: Path) -> None:
    text = (
        "I0131 15:46:40.357386    3072 setters.go:518] Node became not ready: "
        "{LastHeartbeatTime:2020-01-31 15:46:40.357320576 +0000 UTC m=+6391.6}\n"
        "I0131 15:46:41.357386    3072 kubelet.go:18] PLEG is not healthy\n"
    )
    events = [event for piece in read(tmp_path, text) for event in piece.events]
    years = {datetime.fromtimestamp(event.time_ns / NS, UTC).year for event in events}
    assert years == {2020}


def test_the_year_holds_on_both_sides_of_new_year() -> None:
    lines = [
        "Dec 31 23:59:58 node app[1]: x",
        "Jan  1 00:00:03 node app[1]: now=2024-01-01T00:00:03.5Z",
    ]
    # By the time of the file these are of 2025 and 2026.
    assert told(*lines) == (-2, 0)
    assert told("Dec 31 23:59:58 n app[1]: now=2024-01-01T04:59:58.5Z") == (-2, -5 * HOUR_NS)


@pytest.mark.parametrize(
    "line",
    [
        # when it was due, when it was made
        "2023-08-05 10:00:00 run of 2023-08-05T09:00:00+00:00",
        "2023-08-05 10:00:00 made at 2023-08-05T04:13:37.123Z",
        "2023-08-05 10:00:00 expires 2031-08-05T10:00:00.123Z",
        "2023-08-05 10:00:00 nothing",
        "2023-08-05T10:00:00Z said 2023-08-05T09:00:00.123Z",
    ],
)
def test_other_times_tell_no_zone(line: str) -> None:
    assert told(line) == (0, None)


def test_a_leap_day_is_in_no_year_near_that_of_another_time() -> None:
    assert told("Feb 29 10:00:00 n a[1]: valid until 2026-02-01T05:27:14.304639979Z") == (0, None)
    lines = [f"Feb 29 10:00:0{i} n a[1]: now=2020-02-29T09:00:0{i}.5Z" for i in range(3)]
    assert told(*lines) == (-4, HOUR_NS)


def test_lines_that_contradict_each_other_tell_nothing() -> None:
    lines = [f"Aug  5 07:27:14 n a[1]: 2023-08-05T0{hour}:27:14.5Z" for hour in (3, 4, 5, 6)]
    assert told(*lines) == (-3, None)


MPSTAT = (
    "Linux 5.4.0-1146-aws (node) \t08/05/23 \t_x86_64_\t(2 CPU)\n\n"
    "07:27:{0}     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest   %idle\n"
    "07:27:{1}     all    0.00    0.00   50.00    0.00    0.00    0.00    0.00    0.00   50.00\n"
    "07:27:{1}       0    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00  100.00\n"
    "07:27:{1}       1    0.00    0.00  100.00    0.00    0.00    0.00    0.00    0.00    0.00\n\n"
)


@pytest.mark.parametrize("zone", [None, timezone(timedelta(hours=-3))])
def test_tables_of_the_node_are_in_the_zone_that_its_log_tells(
    tmp_path: Path, zone: timezone | None
) -> None:
    log = made.write(tmp_path / "messages", DOCKERD.format("2023-08-05T05:27:14.3Z"))
    table = made.write(tmp_path / "mpstat.txt", MPSTAT.format(20, 21))
    report = made.do_import(tmp_path / "out", log, table, zone=zone)
    east = timedelta(hours=2) if zone is None else timedelta(hours=-3)
    at = datetime(2023, 8, 5, 7, 27, 20, tzinfo=timezone(east)).timestamp()
    (recording,) = report.recordings
    window = made.by_name(report)["mpstat.txt"].window
    assert window is not None
    assert (recording.node, window.start_ns) == ("node", int(at) * NS)


def test_a_zone_that_the_user_tells_counts_more() -> None:
    times = LocalTimes(timezone(timedelta(hours=1)), own=ToldTimes(east_ns=2 * HOUR_NS))
    times.saw_time(WRITTEN * NS, has_zone=False)
    claim = times.claim()
    assert claim is not None
    assert claim.offset_ns == -HOUR_NS


@given(st.text(max_size=200))
def test_no_line_is_too_odd(text: str) -> None:
    told("Aug  5 07:27:14 n a[1]: 2023-08-05T07:27:14.5Z " + text, text)


def autumn() -> str:
    """Berlin, 25 October 2026: 02:59:50 in summer is followed by 02:00:00."""
    begins = datetime(2026, 10, 25, 0, 50, tzinfo=UTC)
    lines = []
    for second in range(0, 1200, 10):
        at = begins + timedelta(seconds=second)
        east = 2 if at < datetime(2026, 10, 25, 1, tzinfo=UTC) else 1
        local = at + timedelta(hours=east)
        said = f'time="{at:%Y-%m-%dT%H:%M:%S}.304Z" level=info msg="shim reaped"'
        lines.append(f"{local:%b %d %H:%M:%S} node dockerd[1]: {said}\n")
    lines.append(
        "Oct 25 02:10:00 node kernel: NETDEV WATCHDOG: eth0 (ena): transmit queue 5 timed out\n"
    )
    return "".join(lines)


def test_a_log_goes_on_in_winter_time_where_its_lines_do(tmp_path: Path) -> None:
    pieces = read(tmp_path, autumn())
    (event,) = [event for piece in pieces for event in piece.events]
    assert event.time_ns == int(datetime(2026, 10, 25, 1, 10, tzinfo=UTC).timestamp()) * NS
    notes = pieces[-1].facts.notes
    assert "its times are of UTC+02:00, by full times in its lines" in notes
    assert "summer time began or ended in it: by its lines it goes on in UTC+01:00" in notes


def test_a_line_that_tells_when_something_ends_in_an_hour_changes_no_zone() -> None:
    follow = FollowedZone(0)
    stamps = StampFinder(Years(WRITTEN * NS))
    for second in range(3):
        stamp = stamps.find(f"Oct 25 01:00:0{second} node x: y")
        assert stamp is not None
        ends = f"token ends at 2026-10-25T02:00:0{second}.2Z" if second == 0 else "pulled"
        assert follow.at(stamp, ends) == 0
