"""Boots in the log of a console, told apart from a log that was appended to itself."""

from __future__ import annotations

from pathlib import Path

from tests.ingest import log_made
from tests.ingest.log_made import BEFORE, NS, PAUSED

SAME = "[    0.000000] Linux version 5.4.0 (b)\n[    0.000000] Command line: quiet\n"


def boots(tmp_path: Path, text: str) -> tuple[list[float], str]:
    *found, last = log_made.read(tmp_path / "console.log", text)
    return [event.time_ns / NS for event in log_made.events(found)], " ".join(last.facts.notes)


def test_an_earlier_boot_in_a_consoles_log_lies_before_the_later_one(tmp_path: Path) -> None:
    text = f"""[    0.5] Linux version 5.4.0 (b)
[  290.000000] {PAUSED}
[  300.000000] {BEFORE}
[    0.7] Linux version 5.4.0 (b)
[   40.000000] {PAUSED}
"""
    times, notes = boots(tmp_path, text)
    assert times == [-10, 40]
    assert "2 boots" in notes


def test_boots_that_tell_the_hardware_clock_are_as_far_apart_as_it_says(tmp_path: Path) -> None:
    clock = "rtc_cmos 00:05: setting system clock to 2026-11-15T20:15:16 UTC"
    text = f"""[    1.000000] {clock} (1794773716)
[  290.000000] {PAUSED}
[    1.000000] {clock} (1794777316)
[   40.000000] {PAUSED}
"""
    assert boots(tmp_path, text)[0] == [290 - 3600, 40]


def test_a_log_that_was_appended_to_itself_counts_once(tmp_path: Path) -> None:
    once = f"[    0.5] Linux version 5.4.0 (b)\n[  290.000000] {PAUSED}\n"
    more = f"{once}[  400.000000] {PAUSED}\n"
    times, notes = boots(tmp_path, once + more)
    assert times == [290, 400]
    assert "2 lines are in it twice" in notes


def test_a_core_that_wakes_up_late_is_no_boot(tmp_path: Path) -> None:
    text = f"""[    0.5] Linux version 5.4.0 (b)
[    2.600000] smp: Bringing up secondary CPUs ...
[    0.049243] smpboot: CPU 1 Converting physical 0 to logical die 1
[  290.000000] {PAUSED}
"""
    times, notes = boots(tmp_path, text)
    assert times == [290]
    assert "boots" not in notes


def clock(second: float, at: str, epoch_s: int) -> str:
    return f"[{second:12.6f}] rtc_cmos 00:05: setting system clock to {at} UTC ({epoch_s})\n"


def test_two_boots_of_one_kernel_begin_with_the_same_lines(tmp_path: Path) -> None:
    first = clock(1.100001, "2026-11-14T18:21:47", 1_794_680_507)
    second = clock(1.100002, "2026-11-15T20:18:27", 1_794_773_907)
    text = f"""{SAME}{first}[93211.500000] {PAUSED}
{SAME}{second}[  400.500000] {PAUSED}
"""
    times, notes = boots(tmp_path, text)
    assert times == [93_211.5 - (1_794_773_907 - 1_794_680_507) + 1e-6, 400.5]
    assert "2 boots" in notes
    assert "twice" not in notes


def test_two_boots_appended_to_themselves_are_two(tmp_path: Path) -> None:
    text = f"""{SAME}[    1.100001] {BEFORE}
[  300.000000] {PAUSED}
{SAME}[    1.100002] {BEFORE}
[   40.000000] {PAUSED}
"""
    times, notes = boots(tmp_path, text * 2)
    assert times == [0, 40]
    assert "2 boots" in notes
    assert "8 lines are in it twice" in notes
