"""Inputs on the kernel's clock: what all of them say of it, put together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exhume.model.window import Window
from tests.ingest import made
from tests.ingest.made import NS, by_name, do_import, write

BOOTED = 1_794_773_712
DMESG = """\
[    0.000000] Linux version 5.4.0-42-generic (buildd@lgw01) (gcc) #46-Ubuntu SMP
[    4.000000] rtc_cmos 00:05: setting system clock to 2026-11-15T20:15:16 UTC ({epoch_s})
[   12.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [statsd-node:4242]
"""


def dmesg(folder: Path, booted: int = BOOTED) -> str:
    return write(folder / "dmesg.txt", DMESG.format(epoch_s=booted + 4))


def perf(folder: Path, name: str, written: int = BOOTED + 90_000, start: int = 10) -> str:
    """Two seconds, from the tenth after the boot on."""
    path = write(folder / name, made.script(2, start_ns=start * NS))
    os.utime(path, ns=(written * NS, written * NS))
    return path


def stat(folder: Path, name: str, *, is_marked: bool) -> str:
    text = ""
    for second in range(5, 400, 5):
        mark = f"### {BOOTED + second}.250 /proc/stat\n" if is_marked else ""
        cores = "".join(f"cpu{n} 1 0 2 {100 * second} 0 0 0 0 0 0\n" for n in ("", 0, 1))
        text += f"{mark}{cores}ctxt 1\nbtime {BOOTED}\n"
        if not is_marked:
            break
    return write(folder / name, text)


def began(window: Window | None) -> float:
    """Seconds after the boot."""
    assert window is not None
    return (window.start_ns - BOOTED * NS) / NS


@pytest.mark.parametrize("written", [BOOTED + 600, BOOTED + 90_000])
def test_samples_go_where_the_kernel_log_is_rather_than_by_when_their_file_was_written(
    tmp_path: Path, written: int
) -> None:
    files = dmesg(tmp_path), perf(tmp_path, "out.perf", written)
    report = by_name(do_import(tmp_path / "out", *files))
    assert began(report["out.perf"].window) == pytest.approx(10)
    assert began(report["dmesg.txt"].window) == pytest.approx(12)
    assert all("hardware clock" in one.clock for one in report.values())


@pytest.mark.parametrize("name", ["stat.log", "proc_stat_end.txt"])
def test_the_time_of_the_boot_in_copies_of_proc_stat_places_captures(
    tmp_path: Path, name: str
) -> None:
    # Named two seconds before its first sample.
    files = (
        dmesg(tmp_path), perf(tmp_path, "perf-a-20261115-201520.txt"),
        stat(tmp_path, name, is_marked=name == "stat.log"),
    )  # fmt: skip
    report = by_name(do_import(tmp_path / "out", *files))
    captured = report["perf-a-20261115-201520.txt"]
    assert began(captured.window) == pytest.approx(10.5)
    assert began(report["dmesg.txt"].window) == pytest.approx(12.5)
    assert f"by btime in {name}: good to a second" in captured.clock
    if name == "stat.log":
        assert report[name].clock.startswith("its times are wall times")


def test_a_name_in_local_time_goes_where_the_surer_ones_are(tmp_path: Path) -> None:
    name = "perf-a-20261115-121520.txt"
    others = dmesg(tmp_path), stat(tmp_path, "stat.log", is_marked=True)
    for number, beside in enumerate((others, others[:1])):
        report = by_name(do_import(tmp_path / f"out{number}", perf(tmp_path, name), *beside))
        assert began(report[name].window) == pytest.approx(9.5, abs=1.5)
        ran = began(report["dmesg.txt"].window) - began(report[name].window)
        assert ran == pytest.approx(2)
        assert not report[name].notes


def test_a_name_in_local_time_that_nothing_tells_of_is_a_guess(tmp_path: Path) -> None:
    name = "perf-node-1-20261115-121520.txt"
    report = by_name(do_import(tmp_path / "alone", perf(tmp_path, name)))
    assert report[name].clock.startswith("guessed: by the time in its name, taken as UTC")
    line = "2026-11-15T20:15:30Z node-1 kernel: NETDEV WATCHDOG: eth0: transmit timed out\n"
    log = write(tmp_path / "kern.log", line)
    report = by_name(do_import(tmp_path / "out", perf(tmp_path, name), log))
    assert any("8.0 h off" in note and "--zone" in note for note in report[name].notes)


def test_a_log_across_a_reboot_tells_of_two_clocks(tmp_path: Path) -> None:
    """The node booted again four minutes later; the kernel log is of that."""
    again = BOOTED + 240
    text = "".join(
        f"### {booted + second}.250 uptime={second}.20\n0.10 0.20 0.30 1/400 4242\n"
        for booted, seconds in ((BOOTED, range(5, 230)), (again, range(8, 60)))
        for second in seconds
    )
    copies = write(tmp_path / "loadavg.log", text)
    files = (
        copies, dmesg(tmp_path, again), perf(tmp_path, "perf-a-20261115-201521.txt"),
        perf(tmp_path, "perf-a-20261115-201932.txt", start=20),
        perf(tmp_path, "copied.txt", start=30),
    )  # fmt: skip
    # Whether all come at once or the copies were imported before.
    do_import(tmp_path / "later", copies, node="a")
    for out in ("out", "later"):
        report = by_name(do_import(tmp_path / out, *files, node="a"))
        assert began(report["dmesg.txt"].window) == pytest.approx(252.05)
        assert began(report["perf-a-20261115-201521.txt"].window) == pytest.approx(10.05)
        assert began(report["perf-a-20261115-201932.txt"].window) == pytest.approx(260.05)
        assert began(report["copied.txt"].window) == pytest.approx(270.05)
        assert "by 52 readings" in report["dmesg.txt"].clock
