from __future__ import annotations

import numpy as np
import pytest

import exhume.ingest.merge as merging
from exhume.ingest.merge import Placed, merge, windows
from exhume.ingest.piece import ClockKind, Hints, Interval, Piece, Sampled
from exhume.ingest.row_table import Rows, RowTable
from exhume.ingest.written import listed, origin
from exhume.model.core import NO_CORE
from exhume.model.event import Event
from exhume.model.sample import Samples, Threads
from exhume.model.series import Block
from exhume.model.stack import Frame, FrameKind, StackTree

NS = 1_000_000_000
ORIGIN = origin(Hints("node"), listed([]))


def sampled(comm: str, leaf: str, times: list[int], core: int = 0) -> Sampled:
    """All in one stack of one thread."""
    nodes = np.full(len(times), 2, np.int32)
    cores = np.full(len(times), core, np.uint16)
    rows = Rows(np.array(times, np.int64), nodes, np.zeros_like(nodes), cores)
    frames = (
        Frame("", "", FrameKind.PROCESS),
        Frame(comm, "", FrameKind.PROCESS),
        Frame(leaf, "kernel", FrameKind.KERNEL),
        Frame("never used", "x", FrameKind.USER),
    )
    tree = StackTree(
        np.array([-1, 0, 1, 1], np.int32),
        np.arange(4, dtype=np.int32),
        np.array([0, 0, 1, 0], np.uint8),
        frames,
    )
    id_ = np.array([9], np.int32)
    threads = Threads(id_, id_, id_, (comm,), ("",))
    interval = Interval(min(times), max(times) + 1, "cpu-clock", 100.0)
    return Sampled(RowTable.of(rows), tree, threads, (interval,))


def placed(offset_ns: int, with_samples: bool = True, **content: object) -> Placed:
    piece = Piece(Hints("node"), ClockKind.KERNEL_LOG, None, **content)  # type: ignore[arg-type]
    return Placed(lambda: piece, offset_ns, with_samples, is_kernel_log=True)


def joined(pieces: list[Samples]) -> tuple[list[int], list[int], list[int], list[int]]:
    return (
        [t for p in pieces for t in p.time_ns.tolist()],
        [c for p in pieces for c in p.core.tolist()],
        [t for p in pieces for t in p.thread.tolist()],
        [s for p in pieces for s in p.stack.tolist()],
    )


def test_samples_of_two_inputs_share_one_tree_and_are_in_order() -> None:
    a = placed(1000, sampled=sampled("x", "f", [30, 10], core=1))
    b = placed(2000, sampled=sampled("x", "g", [5, 6], core=0))
    found = merge([a, b], 0, 10_000, ORIGIN)
    assert found is not None
    time, core, thread, stack = joined(list(found.pieces()))
    assert (time, core) == ([2005, 2006, 1010, 1030], [0, 0, 1, 1])
    assert thread == [0, 0, 0, 0]  # the same thread in both
    tree = found.data.tree
    assert [tree.frames[tree.frame[node]].name for node in stack] == ["g", "g", "f", "f"]
    assert sorted(tree.frames[f].name for f in tree.frame.tolist()) == ["", "f", "g", "x"]
    assert [int(tree.mode[node]) for node in stack] == [1, 1, 1, 1]
    assert (found.data.start_ns, found.data.end_ns) == (1010, 2007)
    assert found.data.clock.pairs[0].kernel_log_ns == 10


def test_samples_without_a_core_come_last_in_order_of_time() -> None:
    nowhere = placed(0, sampled=sampled("x", "f", [30, 10, 20], core=NO_CORE))
    somewhere = placed(0, sampled=sampled("x", "g", [25, 15], core=95))
    found = merge([nowhere, somewhere], 0, 10_000, ORIGIN)
    assert found is not None
    time, core, _, _ = joined(list(found.pieces()))
    assert (time, core) == ([15, 25, 10, 20, 30], [95, 95, NO_CORE, NO_CORE, NO_CORE])


def test_only_what_lies_in_the_stretch_is_taken() -> None:
    block = Block("cpu.user", ("0",), np.array([1, 50]), np.array([[1], [2]]))
    events = (Event(2, "exec", "early"), Event(60, "exec", "late", pid=3))
    one = placed(100, sampled=sampled("x", "f", [1, 40, 70]), blocks=(block,), events=events)
    found = merge([one], 140, 165, ORIGIN)
    assert found is not None
    assert joined(list(found.pieces()))[0] == [140]
    assert [event.subject for event in found.data.events] == ["late"]
    assert found.data.events[0].time_ns == 160
    # Of a counter the reading before too, to count from.
    assert [b.tick_ns.tolist() for b in found.data.blocks] == [[101, 150]]
    assert found.data.start_ns == 140
    assert merge([one], 5000, 6000, ORIGIN) is None


def test_of_very_many_births_the_first_are_kept_and_all_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merging, "MOST_BIRTHS", 3)
    events = (*(Event(at, "exec", f"p{at}") for at in range(5)), Event(9, "gap", "late"))
    found = merge([placed(0, events=events), placed(50, events=events)], 0, 1000, ORIGIN)
    assert found is not None
    assert [event.subject for event in found.data.events] == ["p0", "p1", "p2", "late", "late"]
    assert found.has_too_many


def test_samples_that_are_there_already_are_left_out_and_the_rest_stays() -> None:
    one = placed(
        0, with_samples=False, sampled=sampled("x", "f", [1, 2]), events=(Event(2, "exec", "x"),)
    )
    found = merge([one], 0, 100, ORIGIN)
    assert found is not None
    assert list(found.pieces()) == []
    assert len(found.data.events) == 1
    assert [s.event for s in found.data.stretches] == ["none"]


def test_too_many_samples_become_several_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MAX_ROWS", 25)
    times = [i * NS // 10 for i in range(100)]  # ten a second
    one = placed(0, sampled=sampled("x", "f", times))
    cut = windows([one], 0, 600 * NS)
    assert [(a // NS, b // NS) for a, b in cut] == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 600)]
    counts = []
    for start, end in cut:
        found = merge([one], start, end, ORIGIN)
        assert found is not None
        counts.append(sum(len(piece) for piece in found.pieces()))
    assert counts == [20] * 5
    assert windows([], 0, 600 * NS) == [(0, 600 * NS)]


@pytest.mark.parametrize(
    ("shares", "seconds"), [(2, [0, 5]), (3, [0, 3, 7]), (4, [0, 2, 5, 7]), (99, list(range(10)))]
)
def test_for_several_processes_it_is_cut_into_equal_shares(shares: int, seconds: list[int]) -> None:
    times = [i * NS // 10 for i in range(100)]
    cut = windows([placed(0, sampled=sampled("x", "f", times))], 0, 600 * NS, shares)
    assert [start // NS for start, _ in cut] == seconds
    assert [end for _, end in cut] == [*(start for start, _ in cut[1:]), 600 * NS]


def test_what_is_of_one_second_is_one_segment() -> None:
    one = placed(0, sampled=sampled("x", "f", [5 * NS + i for i in range(100)]))
    assert windows([one], 0, 600 * NS, 4) == [(0, 600 * NS)]


def test_neither_of_several_shares_has_more_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MAX_ROWS", 100)
    times = [i * NS // 10 for i in range(1000)]
    one = placed(0, sampled=sampled("x", "f", times))
    cut = windows([one], 0, 600 * NS, 2)
    counts = [sum(start <= at < end for at in times) for start, end in cut]
    assert sum(counts) == 1000
    assert max(counts) <= 100
    assert min(counts) >= 70
    assert len(cut) % 2 == 0  # so that two have something to do to the end
