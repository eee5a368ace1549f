from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.model.clock import ClockPair
from exhume.model.sample import Stretch
from exhume.record.head import Head
from exhume.record.recorder import origin_of
from exhume.record.session import make_room
from exhume.store.assemble import assemble
from exhume.store.columns import Columns
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.layout import heads_path, segment_name, segments_path
from exhume.store.symbols import SymbolStore
from tests.record.fake import BOOT_NS, SECOND, WALL_NS, fill, machine

STRETCH = Stretch(BOOT_NS, "none", 0.0)
FRAME_BYTES = 64 << 10


def pair(seconds: float = 0) -> ClockPair:
    return ClockPair(BOOT_NS + int(seconds * SECOND), WALL_NS + int(seconds * SECOND))


def head_in(data: Path, tmp_path: Path) -> Head:
    heads_path(data).mkdir(parents=True, exist_ok=True)
    head = Head(
        heads_path(data),
        origin_of(machine(tmp_path / "host")),
        lambda need: make_room(data, head.name, need),
    )
    return head


def write_second(head: Head, second: int) -> None:
    """A frame that nothing can make smaller."""
    noise = np.frombuffer(os.urandom(FRAME_BYTES), np.uint8)
    at = BOOT_NS + second * SECOND
    values = {"epoch": 1, "stack_base": 0, "second": second}
    head.write(FrameKind.TICK, at, at + SECOND, Columns({"noise": noise}, values))


def seconds_in(data: Path) -> list[int]:
    """What can be read back of all logs."""
    found = []
    for path in sorted(heads_path(data).iterdir()):
        file = HeadFile(path)
        assert not file.damage
        found += [value["second"] for value in file.values(FrameKind.TICK)]
    return found


def segment_of(data: Path, minutes_ago: int, size_bytes: int) -> str:
    """No real one; retention goes by names and sizes."""
    wall = WALL_NS - minutes_ago * 60 * SECOND
    name = segment_name(wall, "b0071d00", BOOT_NS - minutes_ago * 60 * SECOND)
    folder = segments_path(data) / name
    folder.mkdir(parents=True)
    (folder / "samples.parquet").write_bytes(bytes(size_bytes))
    return name


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_each_log_can_be_read_by_itself(tmp_path: Path) -> None:
    head = head_in(tmp_path, tmp_path)
    head.rotate(pair(), STRETCH)
    write_second(head, 0)
    head.rotate(pair(600), Stretch(BOOT_NS + 600 * SECOND, "cpu-clock", 97.0))
    write_second(head, 600)
    head.close()
    first, second = sorted(heads_path(tmp_path).iterdir())
    for path in (first, second):
        kinds = [frame.kind for frame in HeadFile(path).frames]
        assert kinds == [FrameKind.ORIGIN, FrameKind.CLOCK, FrameKind.STRETCH, FrameKind.TICK]
    data = assemble(HeadFile(second), SymbolStore(tmp_path))
    assert data.origin.node == "node-1"
    assert data.stretches[0].rate_hz == 97.0
    assert data.clock.pairs[0].wall_ns == WALL_NS + 600 * SECOND


def test_what_was_written_is_counted(tmp_path: Path) -> None:
    head = head_in(tmp_path, tmp_path)
    head.rotate(pair(), STRETCH)
    write_second(head, 0)
    head.rotate(pair(600), STRETCH)
    head.close()
    sizes = sum(path.stat().st_size for path in heads_path(tmp_path).iterdir())
    assert head.written_bytes == sizes
    assert head.dropped_frames == 0


def test_a_folder_that_cannot_be_written_gives_one_clear_error(tmp_path: Path) -> None:
    head = Head(tmp_path / "none", origin_of(machine(tmp_path)), lambda _: False)
    before = descriptors()
    with pytest.raises(ExhumeError, match=r"cannot write to .*: No such file") as caught:
        head.rotate(pair(), STRETCH)
    assert caught.value.exit_code == EXIT_PERMISSION
    assert "--data" in caught.value.todo
    assert descriptors() == before


def test_a_full_disk_costs_the_oldest_and_recording_goes_on(
    tiny_disk: Path, tmp_path: Path
) -> None:
    names = [segment_of(tiny_disk, minutes, 1 << 20) for minutes in (60, 50, 40, 30, 20, 10)]
    head = head_in(tiny_disk, tmp_path)
    head.rotate(pair(), STRETCH)
    for second in range(100):  # 6.4 MB into less than 2
        write_second(head, second)
    head.close()
    assert head.dropped_frames == 0
    assert seconds_in(tiny_disk) == list(range(100))
    left = sorted(path.name for path in segments_path(tiny_disk).iterdir())
    assert left
    assert left == names[-len(left) :]


def test_with_nothing_left_to_drop_it_survives_says_so_and_comes_back(
    tiny_disk: Path, tmp_path: Path
) -> None:
    newest = segment_of(tiny_disk, 10, 1 << 20)
    head = head_in(tiny_disk, tmp_path)
    head.rotate(pair(), STRETCH)
    for second in range(10):
        write_second(head, second)
    filler = fill(tiny_disk)
    for second in range(10, 20):
        write_second(head, second)
    assert head.dropped_frames == 10
    assert [path.name for path in segments_path(tiny_disk).iterdir()] == [newest]
    filler.unlink()
    for second in range(20, 30):
        write_second(head, second)
    head.close()
    assert head.dropped_frames == 10
    assert seconds_in(tiny_disk) == [*range(10), *range(20, 30)]


def test_a_log_that_waits_to_be_closed_goes_before_the_second_that_is(
    tiny_disk: Path, tmp_path: Path
) -> None:
    """The closer needs room too, and may not have had any for long."""
    head = head_in(tiny_disk, tmp_path)
    head.rotate(pair(), STRETCH)
    for second in range(40):
        write_second(head, second)
    head.rotate(pair(600), STRETCH)
    for second in range(600, 700):
        write_second(head, second)
    assert head.dropped_frames == 0
    assert seconds_in(tiny_disk) == list(range(600, 700))


def test_where_no_new_log_can_be_begun_the_old_one_is_kept(tiny_disk: Path, tmp_path: Path) -> None:
    head = head_in(tiny_disk, tmp_path)
    head.rotate(pair(), STRETCH)
    write_second(head, 0)
    filler = fill(tiny_disk)
    before, old = descriptors(), head.name
    for minutes in (10, 20, 30):
        head.rotate(pair(minutes * 60), STRETCH)
        assert head.name == old
    assert descriptors() == before
    assert [path.name for path in heads_path(tiny_disk).iterdir()] == [old]
    filler.unlink()
    write_second(head, 2400)
    head.rotate(pair(2400), STRETCH)
    assert head.name != old
    assert seconds_in(tiny_disk) == [0, 2400]


def test_a_start_on_a_full_disk_makes_room(tiny_disk: Path, tmp_path: Path) -> None:
    for minutes in (60, 50, 40):
        segment_of(tiny_disk, minutes, 1 << 20)
    head = head_in(tiny_disk, tmp_path)
    fill(tiny_disk)
    head.rotate(pair(), STRETCH)
    write_second(head, 0)
    assert seconds_in(tiny_disk) == [0]
    assert len(list(segments_path(tiny_disk).iterdir())) == 2


def test_a_start_on_a_full_disk_without_anything_of_ours_gives_one_clear_error(
    tiny_disk: Path, tmp_path: Path
) -> None:
    head = head_in(tiny_disk, tmp_path)
    fill(tiny_disk)
    with pytest.raises(ExhumeError, match="No space left"):
        head.rotate(pair(), STRETCH)
    assert list(heads_path(tiny_disk).iterdir()) == []
