from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.segment import SegmentData
from exhume.model.series import MISSING, Block
from exhume.model.window import Window
from exhume.store.memory import MemorySegment
from exhume.store.minutes import write_minutes
from exhume.store.queries import series
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, by_hand


def recording(*parts: SegmentData) -> Recording:
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(p) for p in parts], 1 << 20)


def part(
    second: int, values: list[int], field: str = "self.cpu_ns", boot_id: str = "b0071d00"
) -> SegmentData:
    start = START + second * SECOND
    ticks = start + np.arange(len(values), dtype=np.int64) * SECOND
    block = Block(field, ("",), ticks, np.array(values, np.int64)[:, np.newaxis])
    return by_hand([], blocks=(block,), seconds=len(values), start_ns=start, boot_id=boot_id)


def test_readings_come_as_the_kernel_gave_them_with_gaps_as_gaps() -> None:
    (found,) = series(recording(part(0, [5, MISSING, 9])), "self.cpu_ns", at(0, 10))
    assert found.values.tolist() == [5, MISSING, 9]
    assert found.wall_ns.tolist() == [at(i).start_ns for i in range(3)]


def test_a_counter_goes_on_across_segments_of_one_run() -> None:
    (found,) = series(recording(part(0, [1, 2]), part(2, [3, 4])), "self.cpu_ns", at(0, 10))
    assert found.values.tolist() == [1, 2, 3, 4]
    assert len(set(found.segment.tolist())) == 1


@pytest.mark.parametrize("skew_ns", [-1000, 0, 1000])
def test_the_reading_that_a_new_log_begins_with_is_told_once(skew_ns: int) -> None:
    """Whatever the two logs' clocks make of its wall time, also where little is before it."""
    second = part(1, [2, 3, 4])
    pair = ClockPair(START + SECOND, at(1).start_ns + skew_ns, None)
    new = replace(second, clock=ClockMap.of([pair]))
    for begin, values in ((0, [1, 2, 3, 4]), (0.5, [2, 3, 4])):
        asked = Window(at(0).start_ns + int(begin * SECOND), at(10).start_ns)
        (found,) = series(recording(part(0, [1, 2]), new), "self.cpu_ns", asked)
        assert found.values.tolist() == values
        assert (np.diff(found.wall_ns) > 0).all()
        assert len(set(found.segment.tolist())) == 1


@pytest.mark.parametrize(
    "second",
    [
        part(2, [0, 1]),  # fell: the recorder was restarted
        part(60, [3, 4]),  # a gap
        part(2, [3, 4], boot_id="another"),
    ],
)
def test_a_counter_that_may_have_started_anew_is_told_apart(second: SegmentData) -> None:
    (found,) = series(recording(part(0, [1, 2]), second), "self.cpu_ns", at(0, 100))
    assert len(set(found.segment[:2].tolist())) == 1
    assert found.segment[1] != found.segment[2]


def test_a_gauge_may_fall_and_is_still_one_piece() -> None:
    parts = [part(0, [9, 8], "self.rss_bytes"), part(2, [3], "self.rss_bytes")]
    (found,) = series(recording(*parts), "self.rss_bytes", at(0, 10))
    assert len(set(found.segment.tolist())) == 1


def test_instances_can_be_chosen() -> None:
    ticks = START + np.arange(2, dtype=np.int64) * SECOND
    block = Block("cpu.user", ("0", "1", "39"), ticks, np.arange(6, dtype=np.int64).reshape(2, 3))
    found = series(recording(by_hand([], blocks=(block,))), "cpu.user", at(0, 10), ("39",))
    assert [(answer.instance, answer.values.tolist()) for answer in found] == [("39", [2, 5])]
    every = series(recording(by_hand([], blocks=(block,))), "cpu.user", at(0, 10))
    assert [answer.instance for answer in every] == ["0", "1", "39"]


def test_only_the_window_is_answered() -> None:
    (found,) = series(recording(part(0, [1, 2, 3, 4])), "self.cpu_ns", at(1, 2))
    assert found.values.tolist() == [2, 3]
    assert series(recording(part(0, [1])), "self.cpu_ns", at(5, 2)) == []


def test_where_segments_are_gone_minutes_give_their_first_and_last_reading(tmp_path: Path) -> None:
    data = part(0, list(range(100, 220)), "self.rss_bytes")
    path = write_segment(tmp_path, data)
    write_minutes(tmp_path, data)
    write_segment(tmp_path, part(120, [7, 8], "self.rss_bytes"))
    shutil.rmtree(path)
    (found,) = series(Recording.open(tmp_path), "self.rss_bytes", at(0, 200))
    assert found.values.tolist() == [100, 159, 160, 219, 7, 8]
    assert found.wall_ns.tolist() == [at(s).start_ns for s in (0, 59, 60, 119, 120, 121)]
    assert found.segment[3] != found.segment[4]


def test_a_field_nobody_knows_is_a_clear_error() -> None:
    with pytest.raises(ExhumeError, match=r"no field 'cpu\.coffee'") as error:
        series(recording(part(0, [1])), "cpu.coffee", at(0, 1))
    assert error.value.exit_code == EXIT_USAGE
