from __future__ import annotations

from pathlib import Path
from time import gmtime, strftime

import pytest
from msgspec import Struct

from exhume.ingest.piece import Claim, Trust
from exhume.ingest.snapshots_placing import chosen, is_floating, zone_of
from tests.ingest import made
from tests.ingest.made import by_name, do_import

NS = 1_000_000_000
HOUR = 3600 * NS
WRITTEN = Claim(0, Trust.FILE_TIME, "when it was written")
UTC = Claim(0, Trust.FILE_NAME, "as UTC")
EAST = Claim(-2 * HOUR, Trust.FILE_NAME, "as UTC+2")
WEST = Claim(5 * HOUR, Trust.FILE_NAME, "as UTC-5")


class Some(Struct, frozen=True):
    span_ns: tuple[int, int] | None
    guesses: tuple[Claim, ...] = ()
    edge: str = ""
    told_ns: tuple[int, int] | None = None


def test_local_times_are_utc_unless_only_another_zone_fits() -> None:
    one = Some((10 * HOUR, 11 * HOUR), (EAST, WEST))
    assert chosen([one], UTC, [(10 * HOUR, 12 * HOUR)]) == UTC
    assert chosen([one], UTC, [(8 * HOUR, 9 * HOUR)]) == EAST
    assert chosen([one], UTC, [(15 * HOUR, 16 * HOUR)]) == WEST
    assert chosen([one], UTC, [(50 * HOUR, 51 * HOUR)]) == UTC
    assert chosen([one], UTC, []) == UTC


def test_a_little_before_the_others_is_no_reason_for_another_zone() -> None:
    minute = 60 * NS
    zones = tuple(Claim(-east * HOUR, Trust.FILE_NAME, "") for east in (1, -1, 2, -2))
    short = Some((10 * HOUR, 10 * HOUR + 6 * minute), zones)
    assert chosen([short], UTC, [(10 * HOUR + NS, 13 * HOUR)]) == UTC
    assert chosen([short], UTC, [(10 * HOUR + 2 * minute, 13 * HOUR)]) == UTC
    assert chosen([short], UTC, [(9 * HOUR + NS, 10 * HOUR - NS)]) == zones[0]
    # A night of which an hour is missed, because of the zone.
    night = Some((HOUR, 12 * HOUR), zones)
    assert chosen([night], UTC, [(0, 11 * HOUR)]) == zones[0]
    assert chosen([night], UTC, [(HOUR + 20 * minute, 20 * HOUR)]) == UTC


def test_nothing_is_moved_into_a_gap_between_others_nor_to_what_is_guessed() -> None:
    one = Some((10 * HOUR, 11 * HOUR), (EAST, WEST))
    assert chosen([one], UTC, [(HOUR, 2 * HOUR), (40 * HOUR, 41 * HOUR)]) == UTC
    assert chosen([one], UTC, [(0, HOUR), (14 * HOUR + NS, 17 * HOUR), (40 * HOUR, 41 * HOUR)]) == (
        WEST
    )
    assert chosen([one], UTC, [], [(8 * HOUR, 9 * HOUR)]) == UTC
    readings = [(8 * HOUR + i * 600 * NS, 8 * HOUR + i * 600 * NS) for i in range(7)]
    assert chosen([one], UTC, readings) == EAST


def test_all_pieces_of_an_input_are_moved_together() -> None:
    pieces = [Some((i * HOUR, (i + 1) * HOUR), (EAST, WEST)) for i in range(3)]
    assert chosen([*pieces, Some(None)], UTC, [(-2 * HOUR, HOUR)]) == EAST


def test_a_copy_is_put_at_the_end_that_its_name_says() -> None:
    others = [(10 * HOUR, 11 * HOUR), (9 * HOUR, 10 * HOUR)]
    start = chosen([Some((99 * HOUR, 99 * HOUR), edge="start")], WRITTEN, others)
    assert 99 * HOUR + start.offset_ns == 9 * HOUR
    end = chosen([Some((99 * HOUR, 99 * HOUR), edge="end")], WRITTEN, others)
    assert 99 * HOUR + end.offset_ns == 11 * HOUR
    assert chosen([Some((99 * HOUR, 99 * HOUR), edge="end")], WRITTEN, [], others) == end
    assert "guessed" in start.how
    assert "guessed" in end.how


def test_a_copy_that_was_copied_again_much_later_goes_to_the_end_of_the_others() -> None:
    others = [(10 * HOUR, 11 * HOUR)]
    near = Some((11 * HOUR + NS, 11 * HOUR + NS))
    assert chosen([near], WRITTEN, others) == WRITTEN
    far = chosen([Some((500 * HOUR, 500 * HOUR))], WRITTEN, others)
    assert 500 * HOUR + far.offset_ns == 11 * HOUR
    assert "nothing tells" in far.how


def test_what_knows_its_time_does_not_float() -> None:
    assert not is_floating(Some((0, 1)), Claim(0, Trust.UPTIME, ""))
    assert is_floating(Some((0, 1)), WRITTEN)
    assert is_floating(Some((0, 1), guesses=(EAST,)), UTC)
    assert is_floating(Some((0, 1), edge="end"), None)


def test_a_log_that_reaches_back_is_in_the_zone_that_the_node_is_known_to_be_in() -> None:
    table = Some((200 * HOUR, 201 * HOUR), (EAST, WEST))
    measured = [(205 * HOUR, 206 * HOUR)]
    zone_ns = zone_of([table], chosen([table], UTC, measured))
    assert zone_ns == 5 * HOUR
    assert zone_of([table], UTC) is None, "taken as UTC for want of anything better"
    since_boot = Some((200 * HOUR, 201 * HOUR), (EAST, WEST), told_ns=(HOUR, 201 * HOUR))
    assert chosen([since_boot], UTC, measured) == UTC
    assert chosen([since_boot], UTC, measured, (), zone_ns) == WEST
    elsewhere = Some((10 * HOUR, 11 * HOUR), (EAST, WEST))
    assert chosen([elsewhere], UTC, [(8 * HOUR, 9 * HOUR)], (), zone_ns) == EAST
    assert chosen([elsewhere], UTC, measured, (), zone_ns) == WEST


def test_a_table_in_utc_beside_a_log_in_local_time_stays_there() -> None:
    """`TZ=UTC mpstat`, 12 hours of it, and `dmesg -T` by somebody at UTC-5."""
    night = Some((200 * HOUR, 212 * HOUR), (EAST, WEST))
    assert chosen([night], UTC, [(200 * HOUR, 212 * HOUR)], (), 5 * HOUR) == UTC
    assert chosen([night], UTC, [(205 * HOUR, 217 * HOUR)], (), 5 * HOUR) == WEST


def test_a_kernel_log_is_in_the_zone_of_the_tables_beside_it(tmp_path: Path) -> None:
    """dmesg -T of a node at UTC-7: mpstat fits the copies in that zone alone."""
    wall = 1_777_791_000  # 2026-05-03 06:50 UTC, 23:50 of the day before there
    local = wall - 7 * 3600
    copies = "".join(f"### {wall + at}\n0.10 0.20 0.30 1/79 170\n" for at in range(0, 1200, 60))
    made.write(tmp_path / "in" / "loadavg.log", copies)
    lines = ["Linux 5.4.0 (gpu-7) \t05/02/26 \t_x86_64_\t(1 CPU)\n"]
    for at in range(0, 1200, 60):
        clock = [strftime("%H:%M:%S", gmtime(local + at + more)) for more in (0, 60)]
        lines.append(f"\n{clock[0]}  CPU    %usr    %sys   %idle\n")
        lines += [f"{clock[1]}  {core}    1.00    1.00   98.00\n" for core in ("all", "  0")]
    made.write(tmp_path / "in" / "mpstat.txt", "".join(lines))
    boot, reset = (strftime("%a %b %e %H:%M:%S %Y", gmtime(local + at)) for at in (-500_000, 300))
    text = "ena 0000:00:05.0 eth0: TX q 4 is paused for too long (threshold 5000000). Time since "
    text = f"[{boot}] Linux version 5.4.0\n[{reset}] {text}last napi 5612000 usec.\n"
    made.write(tmp_path / "in" / "dmesg.txt", text)
    report = by_name(do_import(tmp_path / "out", str(tmp_path / "in")))["dmesg.txt"]
    assert "UTC-07:00" in report.clock
    assert report.window is not None
    assert report.window.start_ns == (wall + 300) * NS


PAUSED = "ena 0000:00:05.0 eth0: TX q 4 is paused for too long (threshold 5000000). Time since "
BOOT = 1_777_790_000
"""2026-05-03 06:33:20 UTC"""


def dmesg_of(east_hours: float, *boot: str) -> str:
    """What dmesg -T printed there: 40 minutes since the boot."""
    said = [(0, "Linux version 5.4.0 (a@b)"), *((4, line) for line in boot)]
    said.append((2400, f"{PAUSED}last napi 5612000 usec."))
    local = BOOT + east_hours * 3600
    when = [strftime("%a %b %e %H:%M:%S %Y", gmtime(local + at)) for at, _ in said]
    lines = zip(when, (text for _, text in said), strict=True)
    return "".join(f"[{at}] {text}\n" for at, text in lines)


def stat_copies(start: int, booted: int) -> str:
    row = "{0} 0 {0} 5 0 0 0 0 0 0\n"
    copy = f"### {{1}}\ncpu  {row}cpu0 {row}ctxt 7\nbtime {booted}\nprocesses 9\n"
    return "".join(copy.format(at, start + at) for at in range(60))


@pytest.mark.parametrize("east_hours", [-8, 0, 2, 5.5])
def test_a_kernel_log_is_in_the_zone_in_which_its_boot_is_that_of_the_copies(
    tmp_path: Path, east_hours: float
) -> None:
    """The copies are of a minute, and the log of all the time since the boot."""
    stat = made.write(tmp_path / "stat.log", stat_copies(BOOT + 2380, BOOT))
    log = made.write(tmp_path / "dmesg.txt", dmesg_of(east_hours))
    window = by_name(do_import(tmp_path / "out", stat, log))["dmesg.txt"].window
    assert window is not None
    assert window.start_ns == (BOOT + 2400) * NS


def test_copies_of_another_boot_tell_no_zone(tmp_path: Path) -> None:
    rebooted = BOOT + 8 * 3600 + 77
    stat = made.write(tmp_path / "stat.log", stat_copies(rebooted + 900, rebooted))
    log = made.write(tmp_path / "dmesg.txt", dmesg_of(0))
    window = by_name(do_import(tmp_path / "out", stat, log))["dmesg.txt"].window
    assert window is not None
    assert window.start_ns == (BOOT + 2400) * NS


@pytest.mark.parametrize(
    ("east_hours", "clock"),
    [
        (-8, f"rtc_cmos 00:05: setting system clock to 2026-05-03T06:33:24 UTC ({BOOT + 4})"),
        (5.5, f"rtc_cmos 00:05: setting system clock to 2026-05-03T06:33:24 UTC ({BOOT + 4})"),
        (-8, f"audit: type=2000 audit({BOOT + 3}.572:1): state=initialized"),
    ],
)
def test_a_kernel_log_of_local_times_tells_its_zone_where_the_kernel_names_its_own(
    tmp_path: Path, east_hours: float, clock: str
) -> None:
    log = made.write(tmp_path / "dmesg.txt", dmesg_of(east_hours, clock))
    report = by_name(do_import(tmp_path / "out", log))["dmesg.txt"]
    assert report.window is not None
    assert report.window.start_ns == (BOOT + 2400) * NS
    assert "guessed" not in report.clock


def test_a_hardware_clock_that_agrees_may_run_in_local_time(tmp_path: Path) -> None:
    clock = f"rtc_cmos 00:05: setting system clock to 2026-05-03T06:33:24 UTC ({BOOT + 4})"
    log = made.write(tmp_path / "dmesg.txt", dmesg_of(0, clock))
    assert "guessed" in by_name(do_import(tmp_path / "out", log))["dmesg.txt"].clock
