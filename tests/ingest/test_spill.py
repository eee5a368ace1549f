from __future__ import annotations

from pathlib import Path

import numpy as np

from exhume.ingest import spill
from exhume.ingest.piece import (
    Claim,
    ClockKind,
    Facts,
    Hints,
    Interval,
    Piece,
    Sampled,
    Trust,
)
from exhume.ingest.row_table import Rows, RowTable
from exhume.model.event import Event
from exhume.model.sample import Threads
from exhume.model.series import Block
from exhume.model.stack import Frame, FrameKind, StackTree


def piece() -> Piece:
    numbers = np.zeros(3, np.int32)
    times = np.array([1, 2, 700 * 10**9])
    rows = Rows(times, numbers, numbers, np.array([7, 8, 9], np.uint16))
    tree = StackTree(
        np.array([-1, 0], np.int32),
        np.array([0, 1], np.int32),
        np.array([0, 1], np.uint8),
        (Frame("", "", FrameKind.PROCESS), Frame("a\n\x00\u00e9", "b", FrameKind.USER)),
    )
    one = np.array([7], np.int32)
    return Piece(
        hints=Hints("node", "5.4", "x86_64", 2, "perf record"),
        clock=ClockKind.KERNEL_LOG,
        claim=Claim(5, Trust.FILE_NAME, "by its name"),
        sampled=Sampled(
            RowTable.of(rows),
            tree,
            Threads(one, one, one, ("comm",), ("/cgroup",)),
            (Interval(1, 9, "cpu-clock", 97.0),),
            np.array([3, 1 << 63], np.uint64),
        ),
        blocks=(Block("cpu.user", ("0", "1"), np.array([4]), np.array([[5, 6]])),),
        events=(Event(3, "exec", "x", "text", 1, 2, 3, {"a": 1.5}), Event(4, "exit", "y")),
        facts=Facts(9, 1, {"cycles": 2}, (0, 1), 0.5, ("note",), ("problem",)),
    )


def test_a_piece_reads_back_as_it_was(tmp_path: Path) -> None:
    made = piece()
    spill.save(tmp_path, 0, made)
    (found,) = spill.load_all(tmp_path)
    assert (found.hints, found.clock, found.claim) == (made.hints, made.clock, made.claim)
    assert (found.events, found.facts) == (made.events, made.facts)
    assert [
        (b.field, b.instances, b.tick_ns.tolist(), b.values.tolist()) for b in found.blocks
    ] == [("cpu.user", ("0", "1"), [4], [[5, 6]])]
    assert found.sampled is not None
    assert made.sampled is not None
    assert found.sampled.tree.frames == made.sampled.tree.frames
    assert found.sampled.tree.parent.tolist() == [-1, 0]
    assert found.sampled.threads.comm == ("comm",)
    assert found.sampled.intervals == made.sampled.intervals
    assert found.sampled.sketch.tolist() == [3, 1 << 63]
    rows = found.sampled.rows
    parts = list(rows.between(0, 1 << 60))
    assert [part.time.tolist() for part in parts] == [[1, 2], [700 * 10**9]]
    assert [part.core.tolist() for part in parts] == [[7, 8], [9]]
    assert len(rows) == 3
    assert found.span_ns() == (1, 9)


def test_a_piece_that_only_tells_of_a_clock_reads_back(tmp_path: Path) -> None:
    spill.save(tmp_path, 0, Piece(Hints(), ClockKind.WALL, None))
    (found,) = spill.load_all(tmp_path)
    assert found == Piece(Hints(), ClockKind.WALL, None)
    assert found.span_ns() is None


def test_what_another_version_left_behind_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "0.piece").write_bytes(b"as it was then")
    assert not spill.is_there(tmp_path)
    assert list(spill.load_all(tmp_path)) == []
    spill.save(tmp_path, 0, piece())
    assert spill.is_there(tmp_path)
