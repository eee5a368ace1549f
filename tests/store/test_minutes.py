"""What a minute comes down to, and how a day is put together."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from exhume.derive.cpu import core_shares
from exhume.model.window import Window
from exhume.store import layout
from exhume.store.minutes import compact, minute_files, read_minutes, write_minutes
from exhume.store.rollups import MINUTE_NS
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, T0, at, busy_node, by_hand, jiffies

DAY = 86_400 * SECOND
EVER = Window(0, 1 << 62)


def close(root: Path, second: float, seconds: int = 60) -> str:
    start = START + round(second * SECOND)
    blocks = jiffies(seconds, {0: {"user": 50, "idle": 50}}, start)
    data = by_hand([(0, 1.0, 0, 0)], start_ns=start, blocks=blocks, seconds=seconds)
    write_minutes_of = write_segment(root, data)
    write_minutes(root, data)
    return write_minutes_of.name


def test_a_minute_has_the_worst_second_and_the_mean_of_every_core(tmp_path: Path) -> None:
    data = busy_node()
    write_segment(tmp_path, data)
    write_minutes(tmp_path, data)
    rows, problems = read_minutes(tmp_path, "cores", EVER)
    assert problems == []
    shares = core_shares(data.blocks)
    assert shares is not None
    middle = data.clock.to_wall((shares.start_ns + shares.end_ns) // 2) // MINUTE_NS
    for row in range(len(rows["minute"])):
        here = middle == rows["minute"][row]
        busy = shares.busy[int(rows["core"][row]), here]
        assert rows["worst"][row] == pytest.approx(busy.max() * 10, abs=4)
        user = shares.percent[0, int(rows["core"][row]), here]
        assert rows["mean_user"][row] == pytest.approx(user.mean() * 10, abs=2)
        assert rows["known_ms"][row] == pytest.approx(here.sum() * 1000, abs=10)
    assert sorted(set(rows["minute"].tolist())) == [T0 // MINUTE_NS + i for i in range(3)]


def test_a_minute_has_its_largest_processes(tmp_path: Path) -> None:
    data = busy_node()
    write_segment(tmp_path, data)
    write_minutes(tmp_path, data)
    rows, _ = read_minutes(tmp_path, "processes", EVER)
    took: dict[tuple[int, int], int] = defaultdict(int)
    for time, thread in zip(data.samples.time_ns, data.samples.thread, strict=True):
        minute = (T0 + int(time) - START) // MINUTE_NS
        took[minute, int(data.threads.pid[thread])] += round(1e9 / 97)
    first = T0 // MINUTE_NS
    here = rows["minute"] == first
    assert here.sum() == 20
    best = sorted((ns for (m, _), ns in took.items() if m == first), reverse=True)[:20]
    assert rows["core_ms"][here].tolist() == pytest.approx(
        [ns / 1e6 for ns in best], rel=0.02, abs=25
    )


def test_a_minute_has_the_ends_and_extremes_of_every_series(tmp_path: Path) -> None:
    data = busy_node()
    write_segment(tmp_path, data)
    write_minutes(tmp_path, data)
    rows, _ = read_minutes(tmp_path, "series", EVER)
    (block,) = (b for b in data.blocks if b.field == "self.lateness_ns")
    values = block.values[:60, 0]
    (row,) = np.flatnonzero(
        (rows["field"] == "self.lateness_ns") & (rows["minute"] == T0 // MINUTE_NS)
    )
    assert rows["first"][row] == values[0]
    assert rows["last"][row] == values[-1]
    assert (rows["least"][row], rows["most"][row]) == (values.min(), values.max())
    (cpu,) = np.flatnonzero((rows["field"] == "cpu.user") & (rows["minute"] == T0 // MINUTE_NS + 1))
    (user,) = (b for b in data.blocks if b.field == "cpu.user")
    assert rows["instance"][cpu] == ""
    assert rows["last"][cpu] == user.values[119].sum()
    assert rows["rise"][cpu] == (user.values[119] - user.values[59]).sum()


def test_closing_a_segment_again_replaces_its_minutes(tmp_path: Path) -> None:
    close(tmp_path, 0)
    before = sorted(file.path for file in minute_files(tmp_path))
    close(tmp_path, 0)
    assert sorted(file.path for file in minute_files(tmp_path)) == before


def test_a_day_that_is_over_becomes_one_file_a_table(tmp_path: Path) -> None:
    for second in (0, 60, 120):
        close(tmp_path, second)
    before = {name: read_minutes(tmp_path, name, EVER)[0] for name in ("cores", "series")}
    assert compact(tmp_path, T0 + 60 * SECOND) == 0, "today is not over"
    assert compact(tmp_path, T0 + DAY) == 9
    files = list(minute_files(tmp_path))
    assert sorted(file.table for file in files) == ["cores", "processes", "series"]
    assert {file.source for file in files} == {"day"}
    for name, rows in before.items():
        after, _ = read_minutes(tmp_path, name, EVER)
        assert {c: v.tolist() for c, v in after.items()} == {c: v.tolist() for c, v in rows.items()}
    assert compact(tmp_path, T0 + DAY) == 0


def test_a_late_segment_joins_a_day_that_was_put_together_before(tmp_path: Path) -> None:
    close(tmp_path, 0)
    close(tmp_path, 60)
    compact(tmp_path, T0 + DAY)
    close(tmp_path, 120)
    assert compact(tmp_path, T0 + DAY) == 6
    rows, _ = read_minutes(tmp_path, "cores", EVER)
    assert len(rows["minute"]) == 3


def test_a_crash_while_a_day_is_put_together_counts_nothing_twice(tmp_path: Path) -> None:
    names = [close(tmp_path, second) for second in (0, 60)]
    saved = {file.path: file.path.read_bytes() for file in minute_files(tmp_path)}
    compact(tmp_path, T0 + DAY)
    for path, data in saved.items():
        path.write_bytes(data)
    rows, _ = read_minutes(tmp_path, "cores", EVER)
    assert sorted(rows["source"]) == names


def test_a_damaged_file_stays_out_of_the_day_and_is_reported(tmp_path: Path) -> None:
    for second in (0, 60, 120):
        close(tmp_path, second)
    victim = next(file.path for file in minute_files(tmp_path) if file.table == "cores")
    victim.write_bytes(victim.read_bytes()[:-1])
    compact(tmp_path, T0 + DAY)
    rows, problems = read_minutes(tmp_path, "cores", EVER)
    assert len(rows["minute"]) == 2
    assert len(problems) == 1
    assert victim.name in problems[0]


def test_only_the_minutes_of_the_window_and_not_of_segments_at_hand(tmp_path: Path) -> None:
    names = [close(tmp_path, second) for second in (0, 60, 120)]
    rows, _ = read_minutes(tmp_path, "cores", at(60, 60))
    assert set(rows["source"]) == {names[1]}
    rows, _ = read_minutes(tmp_path, "cores", EVER, besides=names[:2])
    assert set(rows["source"]) == {names[2]}


def test_a_directory_without_minutes_has_none(tmp_path: Path) -> None:
    rows, problems = read_minutes(tmp_path, "cores", EVER)
    assert (len(rows["minute"]), problems) == (0, [])
    assert layout.days(tmp_path) == []
