from __future__ import annotations

from pathlib import Path

from exhume.model.event import Event
from exhume.model.evidence import EventTally
from exhume.model.segment import SegmentData
from exhume.store.memory import MemorySegment
from exhume.store.queries.events import event_tallies, events, views_of
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, T0, at, by_hand

BOOT_NS = T0 - START
"""Wall time at which the machine of `by_hand` booted."""


def recording(*parts: SegmentData) -> Recording:
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(p) for p in parts], 1 << 20)


def event(second: float, kind: str = "kernel-log", subject: str = "", count: int = 1) -> Event:
    return Event(START + round(second * SECOND), kind, subject, f"at {second:g}", count=count)


def part(
    second: float, *found: Event, seconds: float = 10, boot_id: str = "b0071d00"
) -> SegmentData:
    start = START + round(second * SECOND)
    return by_hand([], events=found, seconds=seconds, start_ns=start, boot_id=boot_id)


def test_events_come_in_order_of_wall_time_over_all_views() -> None:
    made = recording(part(0, event(8), event(2)), part(10, event(11)))
    assert [found.text for found in events(made, at(0, 20))] == ["at 2", "at 8", "at 11"]
    assert [found.text for found in events(made, at(3, 9))] == ["at 8", "at 11"]


def test_kinds_and_subjects_choose() -> None:
    made = recording(
        part(0, event(1, "exec", "sh"), event(2, "exec", "cc1"), event(3, "gap", "sh"))
    )
    assert [e.kind for e in events(made, at(0, 10), ("gap",))] == ["gap"]
    assert [e.subject for e in events(made, at(0, 10), ("exec",), "cc1")] == ["cc1"]
    assert [e.kind for e in events(made, at(0, 10), besides=("exec",))] == ["gap"]


def test_lines_of_the_kernel_log_replayed_at_the_start_are_found_by_their_own_time() -> None:
    made = recording(part(5000, event(-40), event(5001)), part(5010, event(5011)))
    assert [found.text for found in events(made, at(-50, 20))] == ["at -40"]


def test_a_unit_told_of_late_is_found_in_the_next_segment() -> None:
    made = recording(part(0), part(10, event(9, "unit-start", "a.service")))
    assert [found.subject for found in events(made, at(8, 2))] == ["a.service"]


def test_only_views_that_may_look_back_are_read() -> None:
    first = [part(second) for second in range(0, 600, 10)]
    again = [part(second) for second in range(1000, 1600, 10)]
    rebooted = [part(3000, boot_id="another", seconds=10)]
    made = recording(*first, *again, *rebooted)
    names = [round(view.start_ns / SECOND - START / SECOND) for view in views_of(made, at(100, 10))]
    # Its own, a minute's worth behind it, the first of the later run, and of the other boot (which
    # by its clock was up at that time as well).
    assert names == [100, 110, 120, 130, 140, 150, 160, 1000, 3000]
    assert [round((v.start_ns - START) / SECOND) for v in views_of(made, at(1595, 99))] == [
        1590,
        3000,
    ]


def test_a_boot_that_came_later_has_nothing_to_tell() -> None:
    made = recording(part(0), part(900, boot_id="another"))
    before = at(0, 1)
    assert before.start_ns > BOOT_NS
    assert len(views_of(made, before)) == 2
    long_ago = at(-START / SECOND - 100, 10)
    assert views_of(made, long_ago) == []


def test_tallies_count_by_kind_and_name(tmp_path: Path) -> None:
    found = (event(1, "exec", "cc1", 30), event(2, "exec", "sh"), event(3, "exec", "cc1", 5),
             event(4, "exit", "sh"), event(5, "gap", "x"), event(90, "exec", "sh"))  # fmt: skip
    write_segment(tmp_path, part(0, *found, seconds=100))
    assert event_tallies(Recording.open(tmp_path), at(0, 10), ("exec", "exit")) == (
        EventTally("exec", "cc1", 35),
        EventTally("exec", "sh", 1),
        EventTally("exit", "sh", 1),
    )


def test_a_damaged_view_costs_its_own_events(tmp_path: Path) -> None:
    lost = write_segment(tmp_path, part(0, event(1)))
    write_segment(tmp_path, part(10, event(11)))
    (lost / "events.parquet").write_bytes(b"")
    made = Recording.open(tmp_path)
    assert [found.text for found in events(made, at(0, 20))] == ["at 11"]
    assert any("events.parquet" in problem for problem in made.problems(at(0, 20)))
