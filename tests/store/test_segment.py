"""What is written comes back; what is not finished is not there."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from exhume.errors import ExhumeError
from exhume.model.sample import Samples
from exhume.model.segment import SegmentData
from exhume.store import layout, writer
from exhume.store.layout import TICK_NS
from exhume.store.meta import NewerFormatError
from exhume.store.segment import Segment
from exhume.store.writer import write_segment
from tests.store.make import busy_node, by_hand, segments


def check_round_trip(data: SegmentData, segment: Segment) -> None:
    assert segment.origin == data.origin
    assert segment.clock.pairs == data.clock.pairs
    assert segment.stretches == data.stretches
    assert (segment.start_ns, segment.end_ns) == (data.start_ns, data.end_ns)
    columns = segment.samples()
    rows = columns.rows(-(1 << 62), 1 << 62)
    behind = data.samples.time_ns - columns.time_ns(rows)
    assert ((behind >= 0) & (behind < TICK_NS)).all(), "times are kept to 100 µs"
    assert rows.core().tolist() == data.samples.core.tolist()
    assert columns.thread_of(rows).tolist() == data.samples.thread.tolist()
    assert columns.stack_of(rows).tolist() == data.samples.stack.tolist()
    tree = segment.tree().tree
    assert tree.parent.tolist() == data.tree.parent.tolist()
    assert tree.frame.tolist() == data.tree.frame.tolist()
    assert tree.mode.tolist() == data.tree.mode.tolist()
    assert tree.frames == data.tree.frames
    threads = segment.threads().threads
    assert threads.pid.tolist() == data.threads.pid.tolist()
    assert threads.tid.tolist() == data.threads.tid.tolist()
    assert (threads.comm, threads.cgroup) == (data.threads.comm, data.threads.cgroup)
    assert segment.events() == data.events
    for block in data.blocks:
        (read,) = segment.blocks(block.field)
        assert read.values.tolist() == block.values.tolist()
        if block.values.size:
            assert read.instances == block.instances
            assert read.tick_ns.tolist() == block.tick_ns.tolist()


@given(segments())
@settings(max_examples=60, deadline=None)
def test_a_segment_comes_back_as_it_was_written(data: SegmentData) -> None:
    with TemporaryDirectory() as root:
        segment = Segment(write_segment(Path(root), data))
        check_round_trip(data, segment)
        assert segment.verify() == {}


def test_a_large_segment_comes_back_whole_and_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PIECE_ROWS", 1000)
    data = busy_node()
    segment = Segment(write_segment(tmp_path, data))
    check_round_trip(data, segment)


def test_samples_may_come_in_pieces_instead_of_as_a_whole(tmp_path: Path) -> None:
    data = busy_node()
    none = np.empty(0, np.int32)
    nothing = Samples(
        none.astype(np.int64), none.astype(np.uint16), none, none, none.astype(np.uint32)
    )
    whole = Segment(write_segment(tmp_path / "a", data))
    pieces = Segment(
        write_segment(
            tmp_path / "b", replace(data, samples=nothing), lambda: writer._cut(data.samples)
        )
    )
    assert pieces.meta.files == whole.meta.files, "the same bytes"


def test_the_name_says_when_which_boot_and_sorts_by_time(tmp_path: Path) -> None:
    path = write_segment(tmp_path, by_hand([], boot_id="0a1b2c3d-4e5f-6789"))
    assert path.name == "20261115T201000Z-0a1b2c3d-86400000"
    assert layout.wall_ns_of_name(path.name) == 1_794_773_400 * 10**9


@pytest.mark.parametrize(
    "name", ["lost+found", "20261345T990000Z-a-1", "x", ".tmp-20261115T201000Z-a-1"]
)
def test_other_names_are_no_segments(name: str) -> None:
    assert layout.wall_ns_of_name(name) is None


def test_closing_the_same_stretch_again_replaces_it(tmp_path: Path) -> None:
    first = write_segment(tmp_path, by_hand([(0, 1.0, 0, 0)]))
    again = write_segment(tmp_path, by_hand([(0, 1.0, 0, 0), (0, 2.0, 0, 0)]))
    assert first == again
    assert Segment(again).sample_count == 2
    assert [entry.name for entry in again.parent.iterdir()] == [again.name]


def test_a_crash_while_writing_leaves_nothing_to_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "_events", crash)
    with pytest.raises(KeyboardInterrupt):
        write_segment(tmp_path, busy_node())
    assert list((tmp_path / "segments").iterdir()) == []


def test_samples_in_the_wrong_order_are_refused(tmp_path: Path) -> None:
    data = by_hand([(0, 1.0, 0, 0), (1, 1.0, 0, 0)])
    backwards = replace(data.samples, core=data.samples.core[::-1])
    with pytest.raises(ExhumeError, match="ordered by core"):
        write_segment(tmp_path, replace(data, samples=backwards))


def test_a_later_format_says_what_to_do(tmp_path: Path) -> None:
    path = write_segment(tmp_path, by_hand([]))
    document = json.loads((path / "meta.json").read_text())
    (path / "meta.json").write_text(json.dumps({**document, "format": 2}))
    with pytest.raises(NewerFormatError, match="has format 2, this exhume reads up to 1"):
        Segment(path)


def test_meta_names_every_other_file(tmp_path: Path) -> None:
    segment = Segment(write_segment(tmp_path, busy_node()))
    assert {entry.name for entry in segment.path.iterdir()} == {*segment.meta.files, "meta.json"}
    sizes = {entry.name: entry.stat().st_size for entry in segment.path.iterdir()}
    assert all(sizes[name] == facts.bytes for name, facts in segment.meta.files.items())
