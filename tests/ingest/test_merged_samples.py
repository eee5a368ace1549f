"""What pieces have together is bounded; that they share what they have is in test_merge."""

from __future__ import annotations

import numpy as np
import pytest

from exhume.ingest import merged_samples
from exhume.ingest.merged_samples import MergedSamples
from exhume.ingest.piece import Sampled
from exhume.ingest.row_table import Rows, RowTable
from exhume.model.sample import Threads
from exhume.model.stack import Frame, FrameKind, Mode, StackTree

ALL = [(0, 1000)]


def sampled(name: str, depth: int) -> Sampled:
    """One thread with a sample in user code and one in the kernel, each so deep."""
    frames = [Frame("", "", FrameKind.PROCESS), Frame(name, "", FrameKind.PROCESS)]
    parent, frame, mode = [-1, 0], [0, 1], [0, 0]
    for level in range(depth):
        for number, kind in enumerate((FrameKind.USER, FrameKind.KERNEL)):
            parent.append(1 if level == 0 else len(parent) - 2)
            frame.append(len(frames))
            mode.append(int(Mode.USER) if number == 0 else int(Mode.SYSTEM))
            frames.append(Frame(f"{name}-{level}", "", kind))
    ends = [len(parent) - 2, len(parent) - 1]
    rows = Rows(
        np.array([5, 6]), np.array(ends, np.int32), np.zeros(2, np.int32), np.zeros(2, np.uint16)
    )
    tree = StackTree(
        np.array(parent, np.int32), np.array(frame, np.int32), np.array(mode, np.uint8),
        tuple(frames),
    )  # fmt: skip
    id_ = np.array([len(name)], np.int32)
    return Sampled(RowTable.of(rows), tree, Threads(id_, id_, id_, (name,), ("",)), ())


def stacks(merged: MergedSamples) -> list[tuple[list[str], Mode, str]]:
    tree, threads, pieces, counts = merged.finish()
    assert len(tree.parent) == len(counts)
    found = []
    for piece in pieces():
        for node, thread in zip(piece.stack.tolist(), piece.thread.tolist(), strict=True):
            mode, names = Mode(int(tree.mode[node])), []
            while node > 0:
                names.append(tree.frames[tree.frame[node]].name)
                node = int(tree.parent[node])
            found.append((names[::-1], mode, threads.comm[thread]))
    return found


def test_stacks_go_as_far_as_there_is_room_for_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_samples, "MOST_MERGED_NODES", 10)
    merged = MergedSamples(0)
    told = []
    for name, depth in (("a", 2), ("b", 3), ("c", 1)):
        merged.add(sampled(name, depth), 0, ALL)
        told.append(merged.has_too_many)
    assert told == [False, True, True]
    more_user, more_system = (f"[more {word} stacks than are kept]" for word in ("user", "system"))
    assert sorted(stacks(merged)) == [
        (["[more system stacks than are kept]"], Mode.SYSTEM, "c"),
        (["[more user stacks than are kept]"], Mode.USER, "c"),
        (["a", "a-0", "a-1"], Mode.USER, "a"),
        (["a", "a-0", "a-1"], Mode.SYSTEM, "a"),
        (["b", "b-0", more_system], Mode.SYSTEM, "b"),
        (["b", "b-0", more_user], Mode.USER, "b"),
    ]


def test_threads_and_names_that_come_late_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_samples, "MOST_THREADS", 2)
    merged = MergedSamples(0)
    for name in ("a", "bb", "ccc", "dddd", "a"):
        merged.add(sampled(name, 1), 0, ALL)
    assert merged.has_too_many
    assert {(names[0], comm) for names, _, comm in stacks(merged)} == {
        ("a", "a"), ("bb", "bb"), ("ccc", "[more names than are kept]"),
        ("dddd", "[more names than are kept]"),
    }  # fmt: skip
    monkeypatch.setattr(merged_samples, "MOST_MERGED_NAMES", 3)
    merged = MergedSamples(0)
    merged.add(sampled("a", 4), 0, ALL)
    assert merged.has_too_many
