from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from exhume.errors import ParseError
from exhume.store.columns import Columns
from exhume.store.headlog import VERSION, FrameKind, HeadFile, HeadWriter, file_header

HEADER_BYTES = 16
FRAME_HEADER_BYTES = 32
MARK = b"XHF\n"

KINDS = st.sampled_from(FrameKind)
TIMES = st.integers(-(1 << 63), (1 << 63) - 1)
# Payloads that look like the start of a frame, or like a whole one.
HOSTILE = st.sampled_from([MARK, MARK * 3, MARK + b"\4\0\0\0" + bytes(40), b"EXHUMEHD"])
PAYLOADS = st.lists(st.binary(max_size=40) | HOSTILE, max_size=4).map(b"".join)
FRAMES = st.lists(st.tuples(KINDS, TIMES, TIMES, PAYLOADS), max_size=6)
Frame = tuple[FrameKind, int, int, bytes]

QUICK = settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Log(Struct, frozen=True):
    """A head log and where each of its frames lies."""

    path: Path
    data: bytes
    frames: list[Frame]
    edges: list[int]
    """Where frame i begins; the last entry is the end of the file."""

    def with_data(self, data: bytes) -> HeadFile:
        self.path.write_bytes(data)
        return HeadFile(self.path)


def written(path: Path, frames: Sequence[Frame]) -> Log:
    path.unlink(missing_ok=True)
    writer = HeadWriter(path)
    edges = [writer.size_bytes]
    for frame in frames:
        took = writer.write_packed(*frame)
        assert writer.size_bytes == edges[-1] + took
        edges.append(writer.size_bytes)
    writer.close()
    return Log(path, path.read_bytes(), list(frames), edges)


def read_frames(head: HeadFile, data: bytes) -> list[Frame]:
    return [
        (FrameKind(f.kind), f.start_ns, f.end_ns, data[f.offset : f.offset + f.length])
        for f in head.frames
    ]


def check_covered(head: HeadFile, data: bytes) -> None:
    """Frames and damage together are the whole file: no byte is lost without a word."""
    parts = [(f.offset - FRAME_HEADER_BYTES, f.offset + f.length) for f in head.frames]
    parts += [(d.offset, d.offset + d.length) for d in head.damage]
    # Without the file's header (it is damaged, or cut out whole) everything counts from 0.
    starts_at_0 = bool(parts) and min(parts)[0] == 0
    at = 0 if starts_at_0 else min(HEADER_BYTES, len(data))
    for begin, end in sorted(parts):
        assert begin == at
        at = end
    assert at == len(data)
    assert all(damage.length > 0 for damage in head.damage)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.head"


@given(FRAMES)
@QUICK
def test_frames_come_back_as_they_were_written(path: Path, frames: list[Frame]) -> None:
    log = written(path, frames)
    head = HeadFile(path)
    assert read_frames(head, log.data) == frames
    assert head.damage == []
    assert head.size_bytes == len(log.data)


@given(FRAMES, st.data())
@QUICK
def test_a_file_cut_anywhere_keeps_every_frame_before_the_cut(
    path: Path, frames: list[Frame], data: st.DataObject
) -> None:
    log = written(path, frames)
    cut = data.draw(st.integers(0, len(log.data)))
    head = log.with_data(log.data[:cut])
    whole = sum(edge <= cut for edge in log.edges[1:])
    assert read_frames(head, log.data)[:whole] == frames[:whole]
    begin = max((edge for edge in log.edges if edge <= cut), default=0)
    assert [(d.offset, d.length) for d in head.damage] == (
        [(begin, cut - begin)] if begin < cut else []
    )
    assert all(damage.what == "torn at the end" for damage in head.damage)


@given(FRAMES, st.data())
@QUICK
def test_a_flipped_bit_costs_the_frame_it_hits_and_no_other(
    path: Path, frames: list[Frame], data: st.DataObject
) -> None:
    log = written(path, frames)
    bit = data.draw(st.integers(0, len(log.data) * 8 - 1))
    flipped = bytearray(log.data)
    flipped[bit // 8] ^= 1 << bit % 8
    head = log.with_data(bytes(flipped))
    edges = [0, *log.edges]
    hit = max(i for i, edge in enumerate(edges) if edge <= bit // 8)
    survivors = frames if hit == 0 else [f for i, f in enumerate(frames) if i != hit - 1]
    assert read_frames(head, bytes(flipped)) == survivors
    check_covered(head, log.data)
    ((damage_at, damage_length),) = [(d.offset, d.length) for d in head.damage]
    assert (damage_at, damage_at + damage_length) == (edges[hit], edges[hit + 1])


@given(FRAMES, st.data())
@QUICK
def test_a_piece_overwritten_or_missing_costs_only_what_it_touches(
    path: Path, frames: list[Frame], data: st.DataObject
) -> None:
    log = written(path, frames)
    begin = data.draw(st.integers(0, len(log.data)))
    end = data.draw(st.integers(begin, len(log.data)))
    filler = data.draw(st.sampled_from([b"", bytes(end - begin), b"XHF\n" * 9]))
    broken = log.data[:begin] + filler + log.data[end:]
    head = log.with_data(broken)
    check_covered(head, broken)
    left = [f for f, e in zip(frames, log.edges[1:], strict=True) if e <= begin]
    right = [f for f, b in zip(frames, log.edges, strict=False) if b >= end]
    found = read_frames(head, broken)
    assert found[: len(left)] == left
    assert found[len(found) - len(right) :] == right


def test_a_frame_mark_inside_a_payload_is_no_frame_even_after_damage(path: Path) -> None:
    bait = MARK + (4).to_bytes(4, "little") + (3).to_bytes(4, "little") + bytes(20) + b"abc"
    frames = [(FrameKind.TICK, i, i + 1, MARK + bait * 2 + bytes([i])) for i in range(3)]
    log = written(path, frames)
    broken = bytearray(log.data)
    broken[log.edges[1] + 5] ^= 1
    head = log.with_data(bytes(broken))
    assert read_frames(head, bytes(broken)) == [frames[0], frames[2]]
    assert [(d.offset, d.length, d.what) for d in head.damage] == [
        (log.edges[1], log.edges[2] - log.edges[1], "damaged")
    ]


def test_a_frame_whose_length_points_past_the_end_does_not_hide_those_behind_it(
    path: Path,
) -> None:
    frames = [(FrameKind.TICK, i, i, b"payload") for i in range(3)]
    log = written(path, frames)
    broken = bytearray(log.data)
    broken[log.edges[0] + 11] = 0x7F  # the highest byte of the first frame's length
    assert read_frames(log.with_data(bytes(broken)), bytes(broken)) == frames[1:]


@pytest.mark.parametrize("version", [VERSION + 1, 1 << 31])
def test_a_newer_version_is_refused_with_what_to_do(path: Path, version: int) -> None:
    log = written(path, [(FrameKind.TICK, 1, 2, b"x")])
    path.write_bytes(file_header(version) + log.data[HEADER_BYTES:])
    with pytest.raises(ParseError) as caught:
        HeadFile(path)
    assert str(version) in caught.value.what
    assert "newer" in caught.value.todo


def test_an_empty_file_has_nothing_and_no_damage(path: Path) -> None:
    path.write_bytes(b"")
    head = HeadFile(path)
    assert (head.frames, head.damage, head.size_bytes) == ([], [], 0)


def test_a_file_that_grows_is_read_as_it_stood(path: Path) -> None:
    writer = HeadWriter(path)
    writer.write(FrameKind.TICK, 1, 2, Columns({"a": np.arange(3)}))
    head = HeadFile(path)
    writer.write(FrameKind.TICK, 2, 3, Columns({}, {"b": 1}))
    writer.close()
    writer.close()  # twice does no harm
    assert len(head.frames) == 1
    assert head.read(head.frames[0]).arrays["a"].tolist() == [0, 1, 2]
    later = HeadFile(path)
    assert later.values(FrameKind.TICK) == [{}, {"b": 1}]
    assert later.values(FrameKind.STATE) == []


def test_a_frame_with_a_good_checksum_and_a_bad_payload_says_where(path: Path) -> None:
    log = written(path, [(FrameKind.TICK, 1, 2, b"no columns")])
    head = HeadFile(path)
    with pytest.raises(ParseError) as caught:
        head.read(head.frames[0])
    assert caught.value.where == f"offset {log.edges[0] + FRAME_HEADER_BYTES}"


def test_a_log_is_never_written_over(path: Path) -> None:
    written(path, [])
    with pytest.raises(FileExistsError):
        HeadWriter(path)


def test_only_its_owner_and_group_may_read_a_log(path: Path) -> None:
    written(path, [])
    assert path.stat().st_mode & 0o777 & ~0o640 == 0


# --- a full disk -------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root: a full disk is a small tmpfs that is mounted for the test")
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"mount is not permitted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_leaves_the_log_as_it_was_and_the_next_frame_that_fits_is_written(
    small_disk: Path,
) -> None:
    path = small_disk / "x.head"
    writer = HeadWriter(path)
    small = os.urandom(10_000)
    for i in range(3):
        writer.write_packed(FrameKind.TICK, i, i, small)
    before = path.read_bytes()
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        writer.write_packed(FrameKind.TICK, 9, 9, os.urandom(60_000))
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    assert writer.size_bytes == len(before)
    writer.write_packed(FrameKind.TICK, 3, 3, small)
    writer.close()
    head = HeadFile(path)
    assert head.damage == []
    assert [frame.start_ns for frame in head.frames] == [0, 1, 2, 3]


def test_a_log_that_cannot_even_begin_leaves_no_open_file(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(1 << 16))
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        HeadWriter(small_disk / "x.head")
    assert len(os.listdir("/proc/self/fd")) == len(before)
