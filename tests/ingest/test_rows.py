from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exhume.ingest.rows import RowWriter, Sketch, cores_of, is_part, likeness, usual_rate_hz
from exhume.model.arrays import I64
from exhume.model.core import NO_CORE

NS = 1_000_000_000


def sketch(times: I64, cores: int = 4) -> frozenset[int]:
    found = Sketch()
    for part in np.array_split(times, 7):
        found.add(part, (part % cores).astype(np.uint16), (part % 50).astype(np.int32))
    return frozenset(found.hashes.tolist())


def test_the_same_samples_are_recognised_however_they_are_ordered_and_rounded() -> None:
    rng = np.random.default_rng(1)
    times = rng.integers(0, 600 * NS, 50_000) // 1000 * 1000
    again = rng.permutation(times)
    assert likeness(sketch(times), sketch(again)) == 1
    most = rng.permutation(times)[:45_000]
    assert 0.8 < likeness(sketch(times), sketch(most)) < 1
    others = rng.integers(0, 600 * NS, 50_000) // 1000 * 1000
    assert likeness(sketch(times), sketch(others)) < 0.02
    assert likeness(sketch(times), sketch(times[:0])) == 0


def test_a_part_of_the_samples_is_recognised() -> None:
    rng = np.random.default_rng(2)
    times = rng.integers(0, 600 * NS, 5_000) // 1000 * 1000
    whole, part = sketch(times), sketch(times[1000:1500])
    assert is_part(part, whole)
    assert not is_part(whole, part)
    assert not is_part(sketch(times[:500] + 1000), whole)
    assert not is_part(sketch(times[:3]), sketch(times[:3])), "too few to tell"
    assert not is_part(frozenset(), whole)
    assert not is_part(part, frozenset())


def test_a_core_that_is_not_told_is_none() -> None:
    assert cores_of(np.array([3, 0xFFFF_FFFF], np.uint32)).tolist() == [3, NO_CORE]
    assert cores_of(np.array([3, -1, 70_000], np.int32)).tolist() == [3, NO_CORE, NO_CORE]


def test_the_usual_rate_is_that_of_busy_cores() -> None:
    busy = np.arange(0, NS, NS // 100)
    time = np.concatenate([busy, busy + 7, [5, NS - 1]])
    core = np.array([0] * 100 + [1] * 100 + [2, 2], np.uint16)
    tid = np.zeros(len(core), np.int32)
    assert usual_rate_hz(time, core, tid) == 100
    assert usual_rate_hz(time[:1], core[:1], tid[:1]) is None


def test_the_usual_rate_of_cores_that_seldom_work_is_that_of_their_bursts() -> None:
    """A tenth of the time, for a sample or two at once."""
    rng = np.random.default_rng(4)
    begins = np.sort(rng.choice(5_000, 250, replace=False)) * 20
    ticks = np.unique(np.concatenate([begin + np.arange(rng.integers(1, 3)) for begin in begins]))
    time = ticks * (NS // 100) + rng.integers(0, NS // 2000, len(ticks))
    none = np.zeros(len(time), np.int32)
    found = usual_rate_hz(time, none.astype(np.uint16), none)
    assert found == pytest.approx(100, rel=0.02)


def test_the_burst_that_perf_begins_with_tells_no_rate() -> None:
    """As seen of cycles: five samples within a fraction of a millisecond on every core, of which
    most have little to do after that."""
    burst = np.array([0, 7, 10, 12, 39]) * 1000
    busy = np.concatenate([burst, 15_000_000 + np.arange(90) * (NS // 90)])
    quiet = np.concatenate([burst, [170_000_000, 900_000_000]])
    time = np.concatenate([busy, *[quiet] * 20])
    core = np.repeat(np.arange(21), [len(busy), *[len(quiet)] * 20]).astype(np.uint16)
    assert usual_rate_hz(time, core, np.zeros(len(core), np.int32)) == pytest.approx(90, rel=0.01)
    short = time[:5]
    assert usual_rate_hz(short, core[:5], np.zeros(5, np.int32)) is not None


def test_where_cores_are_not_known_threads_tell_the_rate() -> None:
    """Four threads at once are not one of four times the rate."""
    time = np.repeat(np.arange(0, NS, NS // 100), 4) + np.tile(np.arange(4) * 1_000_000, 100)
    core = np.full(400, NO_CORE, np.uint16)
    tid = np.tile(np.array([7, 70_000, 8, 9], np.int32), 100)
    assert usual_rate_hz(time, core, tid) == 100


def test_rows_are_kept_apart_by_ten_minutes_and_renumbered_at_the_end(tmp_path: Path) -> None:
    writer = RowWriter(tmp_path)
    for start in (0, 3):
        place = np.arange(start, start + 3)
        writer.add(place * 250 * NS, place.astype(np.uint16), place, place)
    table = writer.finish(np.array([50, 40, 30, 20, 10, 0]))
    assert {slot: len(rows) for slot, rows in table.slots.items()} == {0: 3, 1: 2, 2: 1}
    every = list(table.between(0, 10_000 * NS))
    assert [node for rows in every for node in rows.node.tolist()] == [50, 40, 30, 20, 10, 0]
    found = list(table.between(500 * NS, 1001 * NS))
    assert [core for rows in found for core in rows.core.tolist()] == [2, 3, 4]
    assert [thread for rows in found for thread in rows.thread.tolist()] == [2, 3, 4]
    assert len(table) == 6
    assert len(RowWriter(tmp_path).finish(np.empty(0, np.int64))) == 0


def test_only_what_was_written_near_a_stretch_of_time_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RowWriter(tmp_path)
    for start in (0, 20, 10):  # in any order
        time = (start + np.arange(10)) * NS
        writer.add(time, np.zeros(10, np.uint16), np.arange(10), np.arange(10))
    table = writer.finish(np.arange(10))
    read: list[int] = []
    real = np.fromfile

    def watched(*arguments: Any, **named: Any) -> Any:
        read.append(named["offset"] // (10 * 18))
        return real(*arguments, **named)

    monkeypatch.setattr(np, "fromfile", watched)
    found = list(table.between(12 * NS, 21 * NS))
    assert read == [1, 2]
    assert [rows.time.tolist() for rows in found] == [
        [20 * NS],
        [second * NS for second in range(12, 20)],
    ]
    assert table.counted(5 * NS, 30 * NS, NS).tolist() == [2] * 5 + [1] * 20
    assert table.counted(0, 30 * NS, 10 * NS).tolist() == [10] * 3
    assert read == [1, 2]


def test_more_ten_minutes_than_files_may_be_open_are_all_written(tmp_path: Path) -> None:
    writer = RowWriter(tmp_path)
    time = np.arange(200) * 600 * NS
    for _ in range(2):
        writer.add(time, np.zeros(200, np.uint16), np.zeros(200, np.int64), np.zeros(200, np.int64))
    table = writer.finish(np.zeros(1, np.int64))
    assert [len(rows) for rows in table.slots.values()] == [2] * 200


@pytest.mark.parametrize("clocks", [1, 2, 3, 4])
def test_clocks_of_several_cores_in_one_process_are_not_one_that_is_faster(clocks: int) -> None:
    """`perf script -F comm,pid,time,…` of a process whose threads run at once."""
    rng = np.random.default_rng(clocks)
    parts = [np.arange(7 * n**2 * NS // 10_000, NS, NS // 499) for n in range(clocks)]
    time = np.sort(np.concatenate([part[rng.random(len(part)) < 0.8] for part in parts]))
    core = np.full(len(time), NO_CORE, np.uint16)
    found = usual_rate_hz(time // 1000 * 1000, core, np.zeros(len(time), np.int32))
    assert found == pytest.approx(499, rel=0.01)


def test_what_keeps_no_distance_has_no_beat() -> None:
    rng = np.random.default_rng(3)
    time = np.cumsum(rng.exponential(NS / 50, 400)).astype(np.int64)
    none = np.full(len(time), NO_CORE, np.uint16)
    found = usual_rate_hz(time, none, np.zeros(len(time), np.int32))
    core_told = usual_rate_hz(time, np.zeros(len(time), np.uint16), np.zeros(len(time), np.int32))
    assert found == core_told
