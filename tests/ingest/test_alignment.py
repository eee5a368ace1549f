"""Captures that only their names place, beside counters of the same cores."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from exhume.ingest.alignment import STEP_NS, Fit, fit_of
from exhume.ingest.piece import ClockKind, Hints, Piece, Sampled
from exhume.ingest.report import InputReport
from exhume.ingest.row_table import Rows, RowTable
from exhume.model.arrays import F64, I64
from exhume.model.sample import Threads
from exhume.model.series import Block
from exhume.model.stack import Frame, FrameKind, StackTree
from tests.ingest import made
from tests.ingest.made import by_name, do_import
from tests.ingest.sysstat import mpstat

NS = 1_000_000_000
EVENING = int(datetime(2026, 11, 15, 20, tzinfo=UTC).timestamp())
BOOTED_NS = 5000 * NS
"""What the capture's clock says at its first sample."""
SECONDS = 90
RATE_HZ = 100
NAME = "perf-gpu-7-20261115-2000{:02}-90s.txt"
NOBODY = np.zeros(1, np.int32)


def uneven(cores: int = 2, seed: int = 7) -> F64:
    """How busy each core is in each tenth of a second: bursts of all lengths, at once the first."""
    lengths = np.random.default_rng(seed).integers(2, 40, (cores, 10 * SECONDS))
    turn = (np.arange(10 * SECONDS) + 1) % 2
    return np.array([np.repeat(turn, one)[: 10 * SECONDS] for one in lengths]) * 0.9 + 0.05


def taken(busy: F64) -> list[tuple[int, int]]:
    """When and where samples are taken, up to a hundred a second and core."""
    return sorted(
        (tenth * STEP_NS + i * STEP_NS // 10, core)
        for core, shares in enumerate(busy.tolist())
        for tenth, share in enumerate(shares)
        for i in range(round(10 * share))
    )


def captured(busy: F64) -> list[Piece]:
    time, core = (np.array(column, np.int64) for column in zip(*taken(busy), strict=True))
    ids = np.zeros(len(time), np.int32)
    tree = StackTree(
        np.array([-1], np.int32), NOBODY, np.zeros(1, np.uint8), (Frame("", "", FrameKind.PROCESS),)
    )
    rows = Rows(BOOTED_NS + time, ids, ids, core.astype(np.uint16))
    threads = Threads(NOBODY, NOBODY, NOBODY, ("",), ("",))
    sampled = Sampled(RowTable.of(rows), tree, threads, ())
    return [Piece(Hints(), ClockKind.KERNEL_LOG, None, sampled=sampled)]


def jiffies(busy: F64) -> I64:
    """Of each core and second."""
    percent: F64 = busy.reshape(len(busy), -1, 10).mean(axis=2) * 100
    return percent.round().astype(np.int64)


def counters(busy: F64) -> list[Block]:
    """Read each second, a quarter after it began."""
    ran = np.pad(jiffies(busy).cumsum(axis=1), ((0, 0), (1, 0))).T
    ticks = (EVENING + np.arange(SECONDS + 1)) * NS
    names = tuple(map(str, range(len(busy))))
    idle = np.arange(SECONDS + 1)[:, None] * 100 - ran
    values = {"cpu.user": ran * 0, "cpu.system": ran, "cpu.idle": idle}
    return [Block(field, names, ticks, table) for field, table in values.items()]


def fitted(samples: F64, busy: F64, off_seconds: float) -> Fit | None:
    """`off_seconds`: how much too early the samples are thought to be."""
    begin = EVENING * NS - round(off_seconds * NS)
    wall = begin, begin + SECONDS * NS
    return fit_of(captured(samples), begin - BOOTED_NS, wall, counters(busy), RATE_HZ)


@pytest.mark.parametrize("off_seconds", [-3.4, -0.2, 0, 1.7, 4.5])
def test_samples_are_moved_to_where_the_cores_were_as_busy(off_seconds: float) -> None:
    found = fitted(uneven(), uneven(), off_seconds)
    assert found is not None
    assert abs(found.shift_ns - off_seconds * NS) <= STEP_NS


def test_a_load_that_is_the_same_everywhere_or_comes_again_tells_no_place() -> None:
    steady = np.full((2, 10 * SECONDS), 0.5)
    assert fitted(steady, steady, 1.7) is None
    pulses = np.tile(np.repeat([0.9, 0.1], 15), 2 * SECONDS)[: 10 * SECONDS]
    assert fitted(np.array([pulses, pulses]), np.array([pulses, pulses]), 1.7) is None


@pytest.mark.parametrize(("off_seconds", "is_told"), [(1.2, True), (-1.7, True), (6.4, False)])
def test_what_comes_again_every_ten_seconds_is_placed_where_its_name_is_near(
    off_seconds: float, is_told: bool
) -> None:
    """A name is a second or two off: only then one of two such places is much the likelier."""
    pulses = np.tile(np.repeat([0.9, 0.1], [30, 70]), SECONDS // 10)
    found = fitted(np.array([pulses, pulses]), np.array([pulses, pulses]), off_seconds)
    assert (found is not None) == is_told
    assert found is None or abs(found.shift_ns - off_seconds * NS) <= STEP_NS


def test_nor_do_counters_of_another_load_or_of_too_few_seconds() -> None:
    assert fitted(uneven(), uneven(seed=8), 1.7) is None
    few = [cut_out(block, 15) for block in counters(uneven())]
    wall = EVENING * NS, (EVENING + SECONDS) * NS
    assert fit_of(captured(uneven()), wall[0] - BOOTED_NS, wall, few, RATE_HZ) is None


def cut_out(block: Block, count: int) -> Block:
    cut = slice(20, 20 + count)
    return Block(block.field, block.instances, block.tick_ns[cut], block.values[cut])


def test_who_runs_little_and_wakes_who_runs_much_is_not_moved_to_the_others_time() -> None:
    """A capture of one process: by its shape alone it fits what runs seconds after it best."""
    who, other = np.zeros((2, 1, 10 * SECONDS))
    who[0, 400:450], other[0, 430:480] = 0.2, 0.8
    assert fitted(who, who + other, 0) is None
    assert fitted(other, who + other, 1.7) is not None


def test_further_off_than_a_name_is_it_is_left_where_it_was() -> None:
    assert fitted(uneven(), uneven(), 7.5) is None


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
