from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from exhume.model.reading import Reading
from exhume.store.headlog import HeadFile
from exhume.store.tail import Second, Tail
from tests.store.live import ORIGIN, SECOND, WALL_NS, Live, event

FIELDS = ("softnet.dropped", "memcg.zombies")
KINDS = ("kernel-log",)


def drops(*values: int) -> Reading:
    return Reading.of_each("softnet.dropped", ("0", "1"), list(values))


def seen(seconds: list[Second]) -> list[tuple[int, list[int]]]:
    """When each second ended, since the monotonic clock was 0, and what was read."""
    return [
        (second.end_ns // SECOND, [int(v) for one in second.readings for v in one.values])
        for second in seconds
    ]


def test_each_second_is_told_once(tmp_path: Path) -> None:
    live, tail = Live(tmp_path), Tail(tmp_path, FIELDS, KINDS)
    live.second(drops(1, 2))
    live.second(drops(3, 4), Reading.of_node("memory.free_bytes", 5))
    assert seen(tail.read()) == [(101, [1, 2]), (102, [3, 4])]
    assert tail.read() == []
    live.second(drops(5, 6), Reading.of_node("memcg.zombies", 7))
    (second,) = tail.read()
    assert seen([second]) == [(103, [7, 5, 6])] or seen([second]) == [(103, [5, 6, 7])]
    assert second.wall_ns == WALL_NS + 103 * SECOND
    assert second.origin == ORIGIN


def test_only_the_kinds_of_events_asked_for_are_told(tmp_path: Path) -> None:
    live, tail = Live(tmp_path), Tail(tmp_path, FIELDS, KINDS)
    noise = event(live.now_ns, "rate", "recorder")
    live.second(events=[event(live.now_ns, "kernel-log", "eth0", signature="ena.reset"), noise])
    (second,) = tail.read()
    assert [one.subject for one in second.events] == ["eth0"]


def test_a_new_log_goes_on_where_the_old_one_ended(tmp_path: Path) -> None:
    live, tail = Live(tmp_path), Tail(tmp_path, FIELDS, KINDS)
    live.second(drops(1, 1))
    tail.read()
    live.second(drops(2, 2))
    live.rotate()
    live.second(drops(3, 3))
    assert seen(tail.read()) == [(102, [2, 2]), (103, [3, 3])]


def test_what_was_closed_between_two_looks_comes_from_the_segment(tmp_path: Path) -> None:
    live, tail = Live(tmp_path), Tail(tmp_path, FIELDS, KINDS)
    live.second(drops(1, 1))
    assert seen(tail.read()) == [(101, [1, 1])]
    live.second(drops(2, 2), events=[event(live.now_ns + 1, "kernel-log", "eth0")])
    live.second(drops(3, 3))
    live.rotate()
    live.close_old_logs()
    live.second(drops(4, 4))
    found = tail.read()
    assert seen(found) == [(102, [2, 2]), (103, [3, 3]), (104, [4, 4])]
    assert [len(second.events) for second in found] == [1, 0, 0]
    assert found[0].wall_ns == WALL_NS + 102 * SECOND
    assert tail.read() == []


def test_a_log_that_is_closed_after_it_was_read_is_not_told_again(tmp_path: Path) -> None:
    live, tail = Live(tmp_path), Tail(tmp_path, FIELDS, KINDS)
    live.second(drops(1, 1))
    live.second(drops(2, 2))
    assert len(tail.read()) == 2
    live.rotate()
    live.close_old_logs()
    assert tail.read() == []


def test_segments_of_before_and_of_other_machines_are_left_out(tmp_path: Path) -> None:
    old = Live(tmp_path)
    old.second(drops(1, 1))
    old.now_ns += 10 * SECOND
    old.rotate()
    old.close_old_logs()
    tail = Tail(tmp_path, FIELDS, KINDS)
    old.second(drops(2, 2))
    assert seen(tail.read()) == [(112, [2, 2])]
    other = Live(tmp_path, replace(ORIGIN, boot_id="0ther"), WALL_NS - 10_000 * SECOND)
    other.second(drops(9, 9))
    other.now_ns += 10 * SECOND
    other.rotate()
    other.close_old_logs()  # all but its own live log, the first machine's too
    assert seen(tail.read()) == []


def test_damage_costs_the_seconds_it_hit(tmp_path: Path) -> None:
    live, tail = Live(tmp_path), Tail(tmp_path, FIELDS, KINDS)
    for value in range(1, 6):
        live.second(drops(value, value))
    frame = HeadFile(live.head_path).frames[-3]
    data = bytearray(live.head_path.read_bytes())
    data[frame.offset + 5] ^= 0xFF
    live.head_path.write_bytes(data)
    assert seen(tail.read()) == [(101, [1, 1]), (102, [2, 2]), (104, [4, 4]), (105, [5, 5])]


def test_a_second_that_is_being_written_is_told_when_it_is_whole(tmp_path: Path) -> None:
    live, tail = Live(tmp_path), Tail(tmp_path, FIELDS, KINDS)
    live.second(drops(1, 1))
    live.second(drops(2, 2))
    whole = live.head_path.read_bytes()
    live.head_path.write_bytes(whole[:-7])
    assert seen(tail.read()) == [(101, [1, 1])]
    live.head_path.write_bytes(whole)
    assert seen(tail.read()) == [(102, [2, 2])]


def test_no_recording_is_no_seconds(tmp_path: Path) -> None:
    assert Tail(tmp_path / "nowhere", FIELDS, KINDS).read() == []
