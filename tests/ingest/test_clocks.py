from __future__ import annotations

import io
import os
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from exhume.ingest.clocks import (
    NS,
    ClockHints,
    name_host,
    name_time_ns,
)
from exhume.ingest.piece import Claim, Trust
from exhume.perf.datafile import PerfData
from exhume.perf.script_header import ScriptHeader
from tests.ingest import made
from tests.perf import datafile_encoder as encoder

AT = 1735787045 * NS  # 2025-01-02 03:04:05 UTC


@pytest.mark.parametrize(
    ("name", "time", "host"),
    [
        ("perf-gpu-7-20250102-03-04-05-120s.data", AT, "gpu-7"),
        ("perf-gpu-node-54-20250102-030405-340s.data.gz", AT, "gpu-node-54"),
        ("perf-a.b.c-2025-01-02T03:04:05Z.txt", AT, "a.b.c"),
        ("capture_20250102_030405.data", AT, ""),
        ("perf-gpu-7-20250102030405-120s.data", AT, "gpu-7"),
        ("stat 2025-01-02 03:04:05", AT, ""),
        ("perf.data.2025010203040525", None, ""),
        ("perf.data", None, ""),
        ("perf-20259902-030405.data", None, ""),
        ("1234567890123456789.data", None, ""),
    ],
)
def test_the_name_of_a_file_may_tell_when_and_where(name: str, time: int | None, host: str) -> None:
    assert name_time_ns(name) == time
    assert name_host(name) == host


def perf_data(**options: object) -> PerfData:
    data = made.capture(0.1, **options).file()  # type: ignore[arg-type]
    return PerfData(lambda: io.BytesIO(data), "x")


def test_what_was_measured_counts_before_names_and_names_before_file_times(tmp_path: Path) -> None:
    named = tmp_path / "perf-x-20250102-030405.data"
    rolled = tmp_path / "perf.data.2025010203040525"  # perf record --switch-output: when it ended
    plain = tmp_path / "perf.data"
    for path in (named, rolled, plain):
        path.write_text("x")
        os.utime(path, ns=(AT, AT))
    read = encoder.clock_data(1, 1000 * NS, 400 * NS)
    measured = perf_data(features={encoder.CLOCK_DATA: read}, clock_id=1)
    hints = ClockHints()
    claims = [
        hints.of_perf_data(named, measured, 5 * NS, 9 * NS),
        hints.of_perf_data(named, perf_data(), 5 * NS, 9 * NS),
        hints.of_perf_data(rolled, perf_data(), 5 * NS, 9 * NS),
        hints.of_perf_data(plain, perf_data(), 5 * NS, 9 * NS),
        hints.of_perf_data(plain, perf_data(clock_id=0), 5 * NS, 9 * NS),
        ClockHints(77).of_perf_data(named, measured, 5 * NS, 9 * NS),
    ]
    assert [(claim.offset_ns, claim.trust) for claim in claims if claim] == [
        (600 * NS, Trust.MEASURED),
        (AT - 5 * NS, Trust.FILE_NAME),
        (AT + NS // 4 - 9 * NS, Trust.FILE_NAME),
        (AT - 9 * NS, Trust.FILE_TIME),
        (0, Trust.MEASURED),
        (77, Trust.TOLD),
    ]


@pytest.mark.parametrize("seconds", ["1794773712.007", "-0.5", "86400", "0", "0.000000001"])
def test_an_offset_that_was_told_is_shown_as_it_can_be_told_again(seconds: str) -> None:
    offset_ns = int(Decimal(seconds) * NS)
    claim = ClockHints(offset_ns).of_perf_data(Path("perf.data"), perf_data(), NS, 2 * NS)
    assert claim is not None
    assert claim.how == f"--offset {seconds}"


def test_times_in_names_and_headers_are_in_the_zone_told(tmp_path: Path) -> None:
    hints = ClockHints(zone=timezone(timedelta(hours=2)))
    later = 2 * 3600 * NS
    for name, expected in (
        ("perf-x-20250102-030405.data", AT - later - 5 * NS),
        ("perf-x-20250102-030405Z.data", AT - 5 * NS),
        ("perf.data.2025010203040500", AT - later - 9 * NS),
        ("perf.data.2025010203040500.gz", AT - later - 9 * NS),
    ):
        claim = hints.of_perf_data(tmp_path / name, perf_data(), 5 * NS, 9 * NS)
        assert claim is not None
        assert claim.offset_ns == expected, name
        assert not claim.is_local
        untold = ClockHints().of_perf_data(tmp_path / name, perf_data(), 5 * NS, 9 * NS)
        assert untold is not None
        assert untold.is_local == ("Z" not in name)
    captured = ScriptHeader(captured="Thu Jan  2 03:04:05 2025")
    (tmp_path / "out.txt").write_text("x")
    claim = hints.of_script(tmp_path / "out.txt", captured, 5 * NS, 9 * NS)
    assert claim is not None
    assert claim.offset_ns == AT - later - 9 * NS
    assert "in the zone told" in claim.how


@pytest.mark.parametrize(
    ("name", "offset_ns"),
    [
        ("zoomed.txt", AT - 5 * NS),
        ("perf-x-20250102-030405.txt", AT - 5 * NS),
        ("zoomed-20250102-030600.txt", AT + 115 * NS - 115 * NS),
    ],
)
def test_a_part_of_a_capture_is_placed_by_when_all_of_it_began(
    tmp_path: Path, name: str, offset_ns: int
) -> None:
    """`perf script --header --time 115,119`: what perf was told to write to names the whole's
    start, and so does a name like it; a name of its own is of the part."""
    command = "/usr/bin/perf record -a -o perf-x-20250102-030405.data"
    header = ScriptHeader(command=command, recorded=(5 * NS, 300 * NS))
    claim = ClockHints().of_script(tmp_path / name, header, 115 * NS, 119 * NS)
    assert claim is not None
    assert claim.offset_ns == offset_ns


@pytest.mark.parametrize(
    ("options", "is_of_some"),
    [("-a -g", False), ("-g ./train -p 4", False), ("-g -p 812", True), ("-F 97 -gt 8", True)],
)
def test_a_capture_of_processes_may_begin_long_after_its_name(
    tmp_path: Path, options: str, is_of_some: bool
) -> None:
    path = tmp_path / "perf-x-20250102-030405.txt"
    header = ScriptHeader(command=f"/usr/bin/perf record {options}")
    claim = ClockHints().of_script(path, header, 5 * NS, 9 * NS)
    assert claim is not None
    assert ("did not run at first" in claim.how) == is_of_some


def test_a_part_that_its_header_does_not_hold_is_placed_by_itself(tmp_path: Path) -> None:
    command = "/usr/bin/perf record -a -o perf-x-20250102-030405.data"
    header = ScriptHeader(command=command, recorded=(5 * NS, 9 * NS))
    claim = ClockHints().of_script(tmp_path / "x.txt", header, 115 * NS, 119 * NS)
    assert claim is not None
    assert claim.offset_ns == AT - 115 * NS


def test_the_name_that_perf_was_told_to_write_to_tells_when_it_began(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("x")

    def claimed(command: str) -> Claim | None:
        header = ScriptHeader(captured="Thu Jan  2 09:09:09 2025", command=command)
        return ClockHints().of_script(path, header, 5 * NS, 9 * NS)

    for option in ("-o /out/{}", "-o/out/{}", "--output={}", "--output {}"):
        named = option.format("perf-gpu-7-20250102-030405-340s.data")
        claim = claimed(f"/bin/perf record -F 97 -g -a {named} -- sleep 340")
        assert claim is not None
        assert (claim.offset_ns, claim.trust) == (AT - 5 * NS, Trust.FILE_NAME)
        rolling = claimed(f"/bin/perf record -a {named} --switch-output=60s")
        assert rolling is not None
        assert rolling.trust == Trust.FILE_TIME
    features = {encoder.CMDLINE: encoder.command("perf", "record", "-o", "perf-20250102-030405")}
    claim = ClockHints().of_perf_data(path, perf_data(features=features), 5 * NS, 9 * NS)
    assert claim is not None
    assert claim.offset_ns == AT - 5 * NS


def test_text_has_its_clock_in_the_header_or_ends_when_it_was_captured(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("x")
    hints = ClockHints()
    captured = hints.of_script(
        path, ScriptHeader(captured="Thu Jan  2 03:04:05 2025"), 5 * NS, 9 * NS
    )
    assert captured is not None
    assert (captured.offset_ns, captured.trust) == (AT - 9 * NS, Trust.FILE_TIME)
    assert "guessed" in captured.how
    read = hints.of_script(path, ScriptHeader(reference=(1000, 400)), 5, 9)
    assert read is not None
    assert (read.offset_ns, read.trust) == (600, Trust.MEASURED)


def test_text_of_clock_tai_is_as_far_off_wall_time_as_its_header_says(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("x")
    header = ScriptHeader(clock="tai", reference=(AT, AT + 37 * NS))
    claim = ClockHints().of_script(path, header, AT + 37 * NS, AT + 40 * NS)
    assert claim is not None
    assert claim.offset_ns == -37 * NS


def test_text_may_show_wall_times_or_dates_itself(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("x")
    wall = ClockHints().of_script(path, ScriptHeader(), AT, AT + NS)  # perf record -k realtime
    assert wall is not None
    assert (wall.offset_ns, wall.trust) == (0, Trust.MEASURED)
    header = ScriptHeader(dated=(datetime(2025, 1, 2, 3, 4, 5, 250_000), 7 * NS))
    for zone, offset in ((None, 0), (timezone(timedelta(hours=1)), -3600 * NS)):
        claim = ClockHints(zone=zone).of_script(path, header, 5 * NS, 9 * NS)
        assert claim is not None
        assert claim.offset_ns == AT + NS // 4 + offset - 7 * NS
        assert ("UTC" in claim.how) == (zone is None)
