"""Roll-ups against the same sums taken sample by sample."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.answers import MAP_MODES
from exhume.model.arrays import I64
from exhume.model.sample import Samples, Stretch
from exhume.model.segment import SegmentData
from exhume.store.memory import MemorySegment
from exhume.store.rollups import MIN_FRAME_MS, processes_of, weights_ns
from exhume.store.summing import CoreRollUp, FrameRollUp, ProcessRollUp
from tests.store.make import SECOND, START, busy_node, by_hand, jiffies, segments


def cut(samples: Samples, *borders: int) -> list[Samples]:
    edges = [0, *sorted(min(b, len(samples)) for b in borders), len(samples)]
    return [
        Samples(
            samples.time_ns[a:b],
            samples.core[a:b],
            samples.thread[a:b],
            samples.stack[a:b],
            samples.weight_ns[a:b],
        )
        for a, b in pairwise(edges)
    ]


@given(segments(), st.lists(st.integers(0, 40), max_size=3))
@settings(max_examples=50, deadline=None)
def test_pieces_add_up_to_the_whole(data: SegmentData, borders: list[int]) -> None:
    def results(parts: list[Samples]) -> list[object]:
        cores = CoreRollUp(data.blocks, data.origin.user_hz)
        seconds = ProcessRollUp(
            data.start_ns, data.stretches, data.tree, processes_of(data.threads)
        )
        minutes = FrameRollUp(data.start_ns, data.end_ns, data.stretches, data.tree)
        for part in parts:
            for roll_up in (cores, seconds, minutes):
                roll_up.add(part)
        return [cores.result(), seconds.result(), minutes.result()]

    whole, pieces = results([data.samples]), results(cut(data.samples, *borders))
    for a, b in zip(whole, pieces, strict=True):
        assert repr(a) == repr(b)


def test_process_seconds_count_every_sample_once() -> None:
    data = busy_node()
    rows = MemorySegment(data).process_seconds()
    mode = data.tree.mode[data.samples.stack]
    expected: Counter[tuple[int, int, int, str, bool]] = Counter()
    for time, core, thread, system in zip(
        data.samples.time_ns.tolist(),
        data.samples.core.tolist(),
        data.samples.thread.tolist(),
        (mode != 0).tolist(),
        strict=True,
    ):
        key = (
            (time - START) // SECOND,
            core,
            int(data.threads.pid[thread]),
            data.threads.comm[thread],
        )
        expected[*key, system] += 1
    found: Counter[tuple[int, int, int, str, bool]] = Counter()
    first = processes_of(data.threads).first_thread
    for second, core, process, user, system in zip(
        rows.second, rows.core, rows.process, rows.user, rows.system, strict=True
    ):
        thread = int(first[process])
        key = int(second), int(core), int(data.threads.pid[thread]), data.threads.comm[thread]
        found[*key, False] += int(user)
        found[*key, True] += int(system)
    assert +found == expected
    period = round(1e9 / 97)
    assert rows.weight_us.sum() == pytest.approx(len(data.samples) * period / 1000, rel=1e-4)


def test_frame_minutes_are_inclusive_and_count_recursion_once() -> None:
    stacks = (("app", "f", "g", "f"), ("app", "f"), ("db", "g"))
    samples = [(0, i * 0.01, 0, 0) for i in range(100)]
    samples += [(1, i * 0.01, 0, 1) for i in range(50)]
    samples += [(2, 60 + i * 0.01, 0, 2) for i in range(40)]
    data = by_hand(samples, stacks=stacks, seconds=90.0)
    rows = MemorySegment(data).frame_minutes()
    names = [frame.name for frame in data.tree.frames]
    found = {
        (int(m), names[p], names[f]): (int(i), int(s))
        for m, p, f, i, s in zip(
            rows.minute, rows.process, rows.frame, rows.inclusive_ms, rows.self_ms, strict=True
        )
    }
    assert found == {
        (0, "app", "app"): (1500, 0),
        (0, "app", "f"): (1500, 1500),
        (0, "app", "g"): (1000, 0),
        (1, "db", "db"): (400, 0),
        (1, "db", "g"): (400, 400),
    }


def test_frames_too_small_for_a_baseline_are_left_out() -> None:
    few = MIN_FRAME_MS // 10 - 1
    data = by_hand([(0, i * 0.01, 0, 0) for i in range(few)])
    assert len(MemorySegment(data).frame_minutes().minute) == 0


def test_the_longest_wait_for_a_sample_counts_in_the_second_it_ends_in() -> None:
    times = [0.1, 0.11, 0.5, 2.4, 2.41, 2.45]
    data = by_hand(
        [(7, t, 0, 0) for t in times] + [(8, 0.2, 0, 0)],
        blocks=jiffies(4, {7: {"user": 100}, 8: {"idle": 100}, 9: {"idle": 100}}),
    )
    seconds = MemorySegment(data).core_seconds()
    assert seconds is not None
    assert seconds.cores == (7, 8, 9)
    assert seconds.gap_ms.tolist() == [[390, 0, 1900, 0], [0] * 4, [0] * 4]


def test_core_seconds_are_permille_by_mode() -> None:
    data = by_hand([], blocks=jiffies(2, {0: {"system": 75, "idle": 25}, 1: {"iowait": 100}}))
    seconds = MemorySegment(data).core_seconds()
    assert seconds is not None
    assert seconds.permille[MAP_MODES.index("system")].tolist() == [[750, 750], [0, 0]]
    assert seconds.permille[MAP_MODES.index("iowait")].tolist() == [[0, 0], [1000, 1000]]


def test_without_per_core_times_there_is_no_roll_up_of_them() -> None:
    assert MemorySegment(by_hand([])).core_seconds() is None


@given(st.lists(st.integers(0, 100), max_size=30), st.lists(st.integers(1, 100), max_size=4))
def test_a_sample_weighs_one_over_the_rate_in_force(times: list[int], changes: list[int]) -> None:
    rates = [97.0, 49.0, 10.0, 1.0, 97.0]
    starts = [0, *sorted(set(changes))]
    stretches = [Stretch(s, "cpu-clock", r) for s, r in zip(starts, rates, strict=False)]
    found: I64 = weights_ns(stretches, np.array(times, np.int64))
    for time, weight in zip(times, found.tolist(), strict=True):
        rate = [s.rate_hz for s in stretches if s.start_ns <= time][-1]
        assert weight == round(1e9 / rate)


def test_processes_are_threads_with_one_pid_and_name() -> None:
    threads = by_hand(
        [], threads=((1, 1, "a", "/x"), (1, 2, "a", "/x"), (1, 1, "b", "/x"), (2, 2, "a", "/y"))
    ).threads
    processes = processes_of(threads)
    assert processes.of_thread.tolist() == [0, 0, 1, 2]
    assert processes.first_thread.tolist() == [0, 2, 3]
    groups: dict[int, set[int]] = defaultdict(set)
    for row, process in enumerate(processes.of_thread.tolist()):
        groups[process].add(int(threads.pid[row]))
    assert all(len(pids) == 1 for pids in groups.values())
