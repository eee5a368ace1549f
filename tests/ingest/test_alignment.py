"""Captures that only their names or files place, beside counters of the same cores."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from exhume.ingest.report import InputReport
from exhume.model.arrays import F64
from tests.ingest import made
from tests.ingest.bursts import BOOTED_NS, EVENING, NS, SECONDS, jiffies, taken, uneven
from tests.ingest.made import by_name, do_import
from tests.ingest.sysstat import mpstat

NAME = "perf-gpu-7-20261115-2000{:02}-90s.txt"


def text(busy: F64, since_ns: int = 0) -> str:
    out = []
    for at, core in taken(busy):
        seconds = (BOOTED_NS + since_ns + at) / NS
        out.append(
            f"worker    70 [{core:03}] {seconds:.6f}: 10000000 cpu-clock: \n"
            "\tffffffff81003004 do_syscall_64+0x4 ([kernel.kallsyms])\n"
            "\t          400123 main+0x3 (/opt/worker)\n\n"
        )
    return "".join(out)


def table(busy: F64) -> str:
    ran = jiffies(busy).T.tolist()
    return mpstat([{c: (0, 0, r, *[0] * 6, 100 - r) for c, r in enumerate(row)} for row in ran])


def imported(folder: Path, **files: str) -> dict[str, InputReport]:
    paths = [made.write(folder / name, content) for name, content in files.items()]
    return by_name(do_import(folder / "out", *paths))


def start_seconds(one: InputReport) -> float:
    assert one.window is not None
    return one.window.start_ns / NS - EVENING


def test_beside_a_table_of_mpstat_a_capture_is_no_second_off(tmp_path: Path) -> None:
    early = NAME.format(58).replace("2000", "1959")
    found = imported(tmp_path, **{early: text(uneven()), "mpstat.txt": table(uneven())})
    assert abs(start_seconds(found[early])) <= 0.15
    assert "by the times of cores in mpstat.txt" in found[early].clock
    assert "2.0 s later than by the time of its name" in found[early].clock


def test_where_no_place_fits_it_stays_where_its_name_places_it(tmp_path: Path) -> None:
    early = NAME.format(2)
    found = imported(tmp_path, **{early: text(uneven()), "mpstat.txt": table(uneven(seed=8))})
    assert abs(start_seconds(found[early]) - 2) <= 0.05
    assert "by the time in its name" in found[early].clock


def test_samples_of_no_time_stay_where_their_name_places_them(tmp_path: Path) -> None:
    early = NAME.format(2)
    faults = text(uneven()).replace("10000000 cpu-clock", "1 page-faults")
    found = imported(tmp_path, **{early: faults, "mpstat.txt": table(uneven())})
    assert abs(start_seconds(found[early]) - 2) <= 0.05


def test_the_next_pieces_of_that_boot_keep_their_distance(tmp_path: Path) -> None:
    first, second = NAME.format(3), NAME.format(40).replace("2000", "2001")
    # The second was named just in time, and nothing tells of its cores.
    files = {
        first: text(uneven()),
        second: text(uneven(seed=9), 100 * NS),
        "mpstat.txt": table(uneven()),
    }
    found = imported(tmp_path, **files)
    assert abs(start_seconds(found[first])) <= 0.15
    assert abs(start_seconds(found[second]) - 100) <= 0.15


def test_of_a_night_of_captures_those_with_most_samples_are_tried(tmp_path: Path) -> None:
    little = np.zeros((2, 10))
    little[0, 0] = 1.0
    files = {"mpstat.txt": table(uneven()), NAME.format(3): text(uneven())}
    for minute in range(3, 15):  # which come before it
        name = NAME.format(3).replace("2000", f"19{60 - minute}")
        files[name] = text(little, -minute * 60 * NS)
    found = imported(tmp_path, **files)
    assert abs(start_seconds(found[NAME.format(3)])) <= 0.15
    assert abs(start_seconds(found[name]) + minute * 60) <= 0.15


def test_what_comes_later_follows_what_is_placed_already(tmp_path: Path) -> None:
    first, second = NAME.format(3), NAME.format(43).replace("2000", "2001")
    found = imported(tmp_path, **{first: text(uneven())})
    assert abs(start_seconds(found[first]) - 3) <= 0.05
    busy = uneven(seed=9)
    meanwhile = np.full((2, 100), 0.5)
    ran = table(np.hstack([uneven(), meanwhile, busy]))
    later = {second: text(busy, 100 * NS), "mpstat.txt": ran}
    assert abs(start_seconds(imported(tmp_path, **later)[second]) - 103) <= 0.05


def nameless(folder: Path, busy: F64, ran: F64) -> InputReport:
    """A text that somebody copied two days later, beside a table."""
    copied = made.write(folder / "stacks.txt", text(busy))
    two_days_later = EVENING + 2 * 86_400
    os.utime(copied, (two_days_later, two_days_later))
    paths = [copied, made.write(folder / "mpstat.txt", table(ran))]
    return by_name(do_import(folder / "out", *paths))["stacks.txt"]


def test_what_only_its_file_places_is_looked_for_in_all_of_the_counters_time(
    tmp_path: Path,
) -> None:
    hour = uneven(seed=11, seconds=3600)
    busy = hour[:, 12000 : 12000 + 10 * SECONDS]
    found = nameless(tmp_path, busy, hour)
    first_ns, _ = taken(busy)[0]
    assert abs(start_seconds(found) - 1200 - first_ns / NS) <= 0.15
    assert "48 h earlier than by the time of its file" in found.clock


@pytest.mark.parametrize("again", [1, 15])
def test_where_nothing_fits_or_several_times_do_it_stays_where_its_file_places_it(
    again: int, tmp_path: Path
) -> None:
    ran = np.tile(uneven(seed=12, seconds=3600 // again), again)
    busy = ran[:, 200 : 200 + 10 * SECONDS] if again > 1 else uneven()
    found = nameless(tmp_path, busy, ran)
    assert start_seconds(found) > 86_400
    assert "when the file was last written" in found.clock
