from __future__ import annotations

from pathlib import Path

import numpy as np

from exhume.model.profile import ProfiledThread, SampleBatch, Tables
from exhume.model.sample import Stretch
from exhume.model.segment import SegmentData
from exhume.model.stack import Mode
from exhume.store import queries
from exhume.store.queries.sample_stream import SampleStream
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, T0, at, busy_node, by_hand, moved_clock

CGROUP = "/system.slice/kubelet.service"


def recording(root: Path, *parts: SegmentData) -> Recording:
    for part in parts:
        write_segment(root, part)
    return Recording.open(root)


def read(stream: SampleStream) -> tuple[list[SampleBatch], Tables]:
    return list(stream), stream.tables()


def stack(tables: Tables, node: int) -> tuple[str, ...]:
    names: list[str] = []
    while node > 0:
        names.append(tables.tree.frames[int(tables.tree.frame[node])].name)
        node = int(tables.tree.parent[node])
    return tuple(reversed(names))


def test_samples_come_in_order_of_time_whatever_their_core(tmp_path: Path) -> None:
    samples = [(5, 0.5, 0, 0), (0, 3.0, 0, 0), (1, 1.0, 0, 0), (0, 1.0, 0, 0), (9, 9.9, 0, 0)]
    found = recording(tmp_path, by_hand(samples))
    (batch,), _ = read(SampleStream(found, at(0, 10)))
    assert batch.core.tolist() == [5, 0, 1, 0, 9]
    assert ((batch.wall_ns - T0) / SECOND).tolist() == [0.5, 1.0, 1.0, 3.0, 9.9]
    assert set(batch.weight_ns.tolist()) == {SECOND // 100}


def test_a_window_is_read_piece_by_piece_and_nothing_twice(tmp_path: Path) -> None:
    found = recording(tmp_path, busy_node())
    whole, tables = read(SampleStream(found, at(0, 130), step_ns=200 * SECOND))
    pieces, again = read(SampleStream(found, at(0, 130), step_ns=7 * SECOND))
    assert (len(whole), len(pieces)) == (1, 19)
    joined = np.concatenate([piece.wall_ns for piece in pieces])
    assert np.array_equal(joined, whole[0].wall_ns)
    assert len(joined) == queries.flame(found, at(0, 130)).samples
    nodes = np.concatenate([piece.stack for piece in pieces]).tolist()
    assert [stack(again, node) for node in nodes[:500]] == [
        stack(tables, node) for node in whole[0].stack[:500].tolist()
    ]


def test_segments_share_one_numbering_of_threads_and_stacks(tmp_path: Path) -> None:
    stacks = (("app", "main", "k_read"), ("app", "main"))
    first = by_hand([(0, 1.0, 0, 0)], stacks=stacks[:1], threads=((10, 10, "app", CGROUP),))
    second = by_hand(
        [(0, 1.0, 1, 1), (0, 2.0, 1, 0), (0, 3.0, 0, 0)],
        stacks=stacks,
        threads=((11, 11, "other", ""), (10, 10, "app", CGROUP)),
        start_ns=START + 10 * SECOND,
    )
    found = recording(tmp_path, first, second)
    batches, tables = read(SampleStream(found, at(0, 20)))
    rows = [
        (stack(tables, node), tables.threads[thread].pid)
        for batch in batches
        for node, thread in zip(batch.stack.tolist(), batch.thread.tolist(), strict=True)
    ]
    assert rows == [(stacks[0], 10), (stacks[1], 10), (stacks[0], 10), (stacks[0], 11)]
    assert len(tables.tree.parent) == 4
    assert tables.threads[0] == ProfiledThread(
        10, 10, "app", CGROUP, "kubelet.service", "", "", "b0071d00-1111"
    )
    # A node that one segment only passes through and the other ends at has the mode of the end.
    modes = {stack(tables, n): int(m) for n, m in enumerate(tables.tree.mode)}
    assert (modes[stacks[1]], modes[stacks[0]]) == (Mode.USER, Mode.SYSTEM)


def test_a_lowered_rate_gives_heavier_samples(tmp_path: Path) -> None:
    rates = (Stretch(START, "cpu-clock", 100.0), Stretch(START + 5 * SECOND, "cpu-clock", 50.0))
    samples = [(0, 1.0, 0, 0), (0, 6.0, 0, 0)]
    found = recording(tmp_path, by_hand(samples, stretches=rates))
    (batch,), tables = read(SampleStream(found, at(0, 10)))
    assert batch.weight_ns.tolist() == [SECOND // 100, SECOND // 50]
    assert (tables.event, tables.node) == ("cpu-clock", "node-1")


def test_hours_without_a_recording_are_skipped(tmp_path: Path) -> None:
    day = 86_400
    first = by_hand([(0, 1.0, 0, 0)])
    second = by_hand([(0, 2.0, 0, 0)], start_ns=START + day * SECOND)
    found = recording(tmp_path, first, second)
    batches, _ = read(SampleStream(found, at(-1000 * day, 2000 * day), step_ns=SECOND))
    walls = [int(batch.wall_ns[0] - T0) // SECOND for batch in batches]
    assert walls == [1, day + 2]


def test_a_clock_that_was_set_back_keeps_every_sample_once(tmp_path: Path) -> None:
    samples = [(0, second + 0.5, 0, 0) for second in range(10)]
    moved = moved_clock(by_hand(samples), [(0.0, 0.0), (5.0, 3.0)])
    found = recording(tmp_path, moved)
    batches, _ = read(SampleStream(found, at(-5, 30), step_ns=SECOND))
    walls = [(int(ns) - T0) / SECOND for batch in batches for ns in batch.wall_ns]
    assert walls == sorted(walls)
    assert len(walls) == 10
