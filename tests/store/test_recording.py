"""Many segments, boots, clocks and a live head as one recording."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.errors import ExhumeError
from exhume.model.answers import Filter
from exhume.model.segment import SegmentData
from exhume.model.stack import FrameKind
from exhume.model.window import Window
from exhume.store.memory import MemorySegment
from exhume.store.meta import NewerFormatError
from exhume.store.minutes import write_minutes
from exhume.store.pins import pin
from exhume.store.queries import core_map, events, flame, sub_second, top, who
from exhume.store.recording import Recording
from exhume.store.segment import Segment
from exhume.store.view import SegmentView, wall_window
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, T0, at, busy_node, by_hand, jiffies, moved_clock


def in_memory(*parts: SegmentData) -> Recording:
    views: list[SegmentView] = [MemorySegment(part) for part in parts]
    return Recording(Path("/nonexistent"), lambda _: views, 1 << 20)


def later(seconds: float, samples: int = 10, boot_id: str = "b0071d00") -> SegmentData:
    """Ten seconds of one core, so many seconds after T0."""
    rows = [(0, i * 0.1, 0, 0) for i in range(samples)]
    start = START + round(seconds * SECOND)
    return by_hand(
        rows,
        boot_id=boot_id,
        start_ns=start,
        blocks=jiffies(10, {0: {"user": 50, "idle": 50}}, start),
    )


def test_where_there_is_no_recording_it_says_what_to_do(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ExhumeError, match="no recording in") as error:
            Recording.open(place)
        assert "exhume up" in error.value.todo


def test_only_segments_of_a_later_format_say_so(tmp_path: Path) -> None:
    path = write_segment(tmp_path, later(0))
    document = json.loads((path / "meta.json").read_text())
    (path / "meta.json").write_text(json.dumps({**document, "format": 99}))
    with pytest.raises(NewerFormatError):
        Recording.open(tmp_path)
    write_segment(tmp_path, later(20))
    recording = Recording.open(tmp_path)
    assert [span.state for span in recording.spans()] == ["damaged", "segment"]
    assert "format 99" in recording.spans()[0].problem


def test_segments_come_in_the_order_of_wall_time(tmp_path: Path) -> None:
    for seconds in (40, 0, 20):
        write_segment(tmp_path, later(seconds))
    recording = Recording.open(tmp_path)
    assert [span.window for span in recording.spans()] == [at(0, 10), at(20, 10), at(40, 10)]
    assert recording.window() == at(0, 50)
    assert [view.window for view in recording.views(at(5, 20))] == [at(0, 10), at(20, 10)]
    assert recording.views(at(12, 2)) == []


def test_a_memory_segment_and_a_disk_segment_answer_alike(tmp_path: Path) -> None:
    data = busy_node()
    write_segment(tmp_path, data)
    disk, memory = Recording.open(tmp_path), in_memory(data)
    window = at(69, 5)
    assert disk.window() == memory.window()
    one, other = (flame(r, window, Filter(modes=("system",))) for r in (disk, memory))
    assert one.frames == other.frames
    assert one.total_ns.tolist() == other.total_ns.tolist()
    a, b = (top(r, window, Filter(cores=(1, 2))) for r in (disk, memory))
    assert a.processes == b.processes
    assert a.frames == b.frames
    first, second = (core_map(r, at(0, 130), 13) for r in (disk, memory))
    np.testing.assert_allclose(first.worst_percent_of_core, second.worst_percent_of_core)
    np.testing.assert_allclose(first.mean_percent_of_core, second.mean_percent_of_core, rtol=1e-3)
    assert first.worst_mode.tolist() == second.worst_mode.tolist()


def test_a_head_that_was_closed_meanwhile_is_not_counted_twice(tmp_path: Path) -> None:
    data = later(0)
    write_segment(tmp_path, data)
    live = later(10)
    recording = Recording.open(tmp_path, heads=lambda _: [MemorySegment(data), MemorySegment(live)])
    assert [span.state for span in recording.spans()] == ["segment", "head"]
    assert flame(recording, at(0, 20)).samples == 20


def test_a_refresh_sees_what_came_and_what_went(tmp_path: Path) -> None:
    first = write_segment(tmp_path, later(0))
    recording = Recording.open(tmp_path)
    write_segment(tmp_path, later(10))
    recording.refresh()
    assert len(recording.views()) == 2
    shutil.rmtree(first)
    recording.refresh()
    assert [view.window for view in recording.views()] == [at(10, 10)]


def test_a_segment_that_retention_drops_while_we_ask_is_gone_not_damaged(tmp_path: Path) -> None:
    path = write_segment(tmp_path, later(0))
    write_segment(tmp_path, later(10))
    recording = Recording.open(tmp_path)
    shutil.rmtree(path)
    assert flame(recording, at(0, 20)).samples == 10
    assert recording.problems(at(0, 20)) == ()


def test_boots_are_separate_but_answer_together_on_wall_time(tmp_path: Path) -> None:
    write_segment(tmp_path, later(0, boot_id="aaaa"))
    # The monotonic clock starts anew, wall time goes on.
    again = replace(later(0, boot_id="bbbb"), clock=later(0).clock)
    write_segment(tmp_path, moved_clock(again, [(0, 30)]))
    recording = Recording.open(tmp_path)
    assert [span.window for span in recording.spans()] == [at(0, 10), at(30, 10)]
    answer = top(recording, at(0, 40))
    assert [process.samples for process in answer.processes] == [10, 10]
    assert answer.seconds_recorded == pytest.approx(20)
    assert any("cover 20.0 s of the 40.0 s" in note for note in answer.notes)


def test_a_clock_set_back_shows_both_passes_of_the_same_wall_time() -> None:
    data = by_hand([(0, t + 0.5, 0, 0) for t in range(10)], blocks=jiffies(10, {0: {"user": 100}}))
    stepped = moved_clock(data, [(0, 0), (5, 2)])
    recording = in_memory(stepped)
    assert recording.window() == at(0, 7)
    assert flame(recording, at(2, 3)).samples == 6, "2, 3 and 4 s came twice"
    assert flame(recording, at(0, 2)).samples == 2
    counts = sub_second(recording, at(0, 7), rows=2).counts
    assert counts.sum(axis=0).tolist() == [1, 1, 2, 2, 2, 1, 1]
    assert top(recording, at(2, 3)).seconds_recorded == pytest.approx(6)


def test_a_clock_set_forward_leaves_a_hole() -> None:
    data = by_hand([(0, t + 0.5, 0, 0) for t in range(10)], blocks=jiffies(10, {0: {"user": 100}}))
    recording = in_memory(moved_clock(data, [(0, 0), (5, 105)]))
    assert recording.window() == at(0, 110)
    assert flame(recording, at(5, 100)).samples == 0
    assert flame(recording, at(105, 5)).samples == 5
    worst = core_map(recording, at(0, 110), 11).worst_percent_of_core[0]
    assert np.isnan(worst).tolist() == [False, *[True] * 9, False]


def test_the_wall_window_of_a_drifting_clock_reaches_its_last_instant() -> None:
    data = moved_clock(by_hand([]), [(0, 0), (5, 5.001)])
    assert wall_window(data.clock, data.start_ns, data.end_ns).end_ns >= T0 + 10 * SECOND


def test_a_pinned_stretch_says_so(tmp_path: Path) -> None:
    write_segment(tmp_path, later(0))
    write_segment(tmp_path, later(5000))
    pin(tmp_path, at(5, 1), "a reset")
    assert [span.pinned for span in Recording.open(tmp_path).spans()] == [True, False]


def test_dropped_segments_still_answer_by_the_minute(tmp_path: Path) -> None:
    data = busy_node()
    path = write_segment(tmp_path, data)
    write_minutes(tmp_path, data)
    before = core_map(Recording.open(tmp_path), at(0, 120), 2)
    shutil.rmtree(path)
    recording = Recording.open(tmp_path)
    assert [span.state for span in recording.spans()] == ["minutes"]
    after = core_map(recording, at(0, 120), 2)
    assert after.cores == before.cores
    np.testing.assert_allclose(after.worst_percent_of_core, before.worst_percent_of_core)
    assert after.worst_mode.tolist() == before.worst_mode.tolist()
    np.testing.assert_allclose(after.mode_percent_of_core, before.mode_percent_of_core)
    np.testing.assert_allclose(after.mean_percent_of_core, before.mean_percent_of_core, atol=1.0)


def test_minutes_of_segments_that_are_still_there_are_not_counted_again(tmp_path: Path) -> None:
    data = busy_node()
    write_segment(tmp_path, data)
    plain = core_map(Recording.open(tmp_path), at(0, 130), 13)
    write_minutes(tmp_path, data)
    with_minutes = core_map(Recording.open(tmp_path), at(0, 130), 13)
    assert repr(plain) == repr(with_minutes)


def test_a_segment_beside_the_window_adds_nothing_by_the_minute(tmp_path: Path) -> None:
    """It shares a minute with the window, and its roll-up has no finer times."""
    for data in (later(0), later(20)):
        write_segment(tmp_path, data)
        write_minutes(tmp_path, data)
    recording = Recording.open(tmp_path)
    rows = recording.minutes("series", at(20, 30), {view.name for view in recording.views()[1:]})
    assert not len(rows["field"])


def test_who_finds_the_process_and_its_stack(tmp_path: Path) -> None:
    write_segment(tmp_path, busy_node())
    moment = who(Recording.open(tmp_path), 2, at(72).start_ns)
    assert moment is not None
    assert (moment.comm, moment.mode, moment.core) == ("kubelet", "system", 2)
    assert moment.stack[0].kind == FrameKind.PROCESS
    assert moment.stack[-1].name == "cpumask_next"
    assert abs(moment.wall_ns - at(72).start_ns) == moment.distance_ns < SECOND / 97


def test_who_is_none_where_nobody_was() -> None:
    recording = in_memory(later(0))
    assert who(recording, 0, at(5).start_ns) is None
    assert who(recording, 3, at(0.5).start_ns) is None
    near = who(recording, 0, at(1.4).start_ns)
    assert near is not None
    assert near.distance_ns == pytest.approx(0.5 * SECOND)


def test_events_are_found_by_kind_and_subject(tmp_path: Path) -> None:
    write_segment(tmp_path, busy_node())
    recording = Recording.open(tmp_path)
    loops = events(recording, at(0, 130), kinds=("exec",), subject="amazon-ecs-init")
    assert [round((e.wall_ns - T0) / SECOND) for e in loops] == list(range(3, 130, 10))
    assert events(recording, at(0, 130), kinds=("exit",)) == []
    everything = events(recording, at(0, 10))
    assert [e.wall_ns for e in everything] == sorted(e.wall_ns for e in everything)


def test_decoded_columns_are_kept_up_to_a_limit_of_bytes(tmp_path: Path) -> None:
    for index in range(4):
        write_segment(tmp_path, later(index * 10, samples=100))
    recording = Recording.open(tmp_path, cache_bytes=3000)
    for index in range(4):
        assert flame(recording, at(index * 10, 10)).samples == 100
    assert recording._cache.held_bytes <= 3000
    assert isinstance(recording.views()[0], Segment)


def test_a_window_of_no_length_answers_with_nothing() -> None:
    recording = in_memory(later(0))
    nothing = Window(T0 + SECOND, T0 + SECOND)
    assert flame(recording, nothing).samples == 0
    assert top(recording, nothing).processes == ()


def test_a_segment_closed_again_is_read_anew(tmp_path: Path) -> None:
    write_segment(tmp_path, later(0, samples=10))
    recording = Recording.open(tmp_path)
    assert flame(recording, at(0, 10)).samples == 10
    write_segment(tmp_path, later(0, samples=20))
    recording.refresh()
    assert flame(recording, at(0, 5)).samples == 20
    assert recording.problems(at(0, 10)) == ()


def test_one_core_of_many_is_read_without_the_others(tmp_path: Path) -> None:
    data = busy_node()
    write_segment(tmp_path, data)
    whole, one = Recording.open(tmp_path), Recording.open(tmp_path)
    assert flame(whole, at(60, 5)).samples > 0  # reads all cores
    flame(one, at(60, 5), Filter(cores=(2,)))
    assert one._cache.held_bytes < whole._cache.held_bytes
    for core in range(4):
        some, same = (flame(r, at(60, 20), Filter(cores=(core,))) for r in (whole, one))
        assert some.total_ns.tolist() == same.total_ns.tolist()
        assert some.frames == same.frames
    both = flame(one, at(0, 130), Filter(cores=(0, 3)))
    assert both.samples == int(np.isin(data.samples.core, (0, 3)).sum())
