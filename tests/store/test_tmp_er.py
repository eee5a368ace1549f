from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from exhume.model.event import Event
from exhume.model.segment import SegmentData
from exhume.store import layout
from exhume.store.event_rows import decoded, event_rows
from exhume.store.files import DamagedFileError
from exhume.store.memory import MemorySegment
from exhume.store.segment import Segment
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, by_hand, segments

EVENTS = (
    Event(START + 1, "exec", "sh", pid=7, fields={"parent": "make", "parent_pid": 3}),
    Event(START + 2, "kernel-log", "eth0", "TX q 5 is paused", core=39, count=4),
    Event(START - 500 * SECOND, "kernel-log", "", "long before the segment"),
    Event(START + 3, "exit", "sh", pid=7),
)


@given(data=segments())
@settings(max_examples=400, deadline=None)
def test_rows_are_the_events_of_the_view(
    data: SegmentData, tmp_path_factory: pytest.TempPathFactory
) -> None:
    segment = Segment(write_segment(tmp_path_factory.mktemp("rows"), data))
    for view in (segment, MemorySegment(data)):
        rows = event_rows(view)
        assert tuple(rows.event(row) for row in range(len(rows))) == view.events()


@pytest.mark.parametrize("in_memory", [False, True])
def test_kinds_can_be_chosen_and_left_out(tmp_path: Path, in_memory: bool) -> None:
    data = by_hand([], events=EVENTS)
    view = MemorySegment(data) if in_memory else Segment(write_segment(tmp_path, data))
    assert event_rows(view, ("kernel-log",)).subject == ["eth0", ""]
    assert event_rows(view, besides=("exec", "exit")).kind == ["kernel-log"] * 2
    assert len(event_rows(view, ("gap",))) == 0
    assert event_rows(view, ("gap",)).time_ns.tolist() == []
    assert event_rows(view, ("kernel-log",)).event(0) == EVENTS[1]


def test_damage_is_told_and_noted(tmp_path: Path) -> None:
    segment = Segment(write_segment(tmp_path, by_hand([], events=EVENTS)))
    path = segment.path / layout.EVENTS
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DamagedFileError):
        event_rows(segment)
    assert layout.EVENTS in segment.problems


@pytest.mark.parametrize("odd", ["", "{", "[1]", "3", "null"])
def test_fields_that_are_none_are_none(odd: str) -> None:
    assert decoded(odd) == {}
