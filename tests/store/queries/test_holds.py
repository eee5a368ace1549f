"""Threads that stay in the kernel, by recordings of a few seconds written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.model.sample import Stretch
from exhume.model.segment import SegmentData
from exhume.store.memory import MemorySegment
from exhume.store.queries.holds import core_holds, kernel_holds
from exhume.store.queries.lives import process_times
from exhume.store.queries.occupancy import longest_runs, occupancy
from exhume.store.queries.presence import presence
from exhume.store.queries.seconds_sampled import sampled_windows
from exhume.store.recording import Recording
from exhume.store.view import SegmentView
from tests.store.make import SECOND, START, at, by_hand

USER, READ, WRITE = range(3)
STACKS = (
    ("app", "main"),
    ("app", "main", "k_sys_read", "k_walk"),
    ("app", "main", "k_sys_write", "k_copy"),
)
APP, OTHER, IDLE = range(3)
THREADS = ((10, 11, "app", "/a"), (20, 20, "other", "/b"), (0, 0, "swapper", ""))
Sample = tuple[int, float, int, int]


def recorded(
    samples: list[Sample], seconds: float = 20.0, stretches: tuple[Stretch, ...] | None = None
) -> Recording:
    data = by_hand(samples, stacks=STACKS, threads=THREADS, seconds=seconds, stretches=stretches)
    return of(data)


def of(*parts: SegmentData) -> Recording:
    segments: list[SegmentView] = [MemorySegment(data) for data in parts]
    return Recording(Path("/nonexistent"), lambda _: segments, 1 << 20)


def stay(
    start: float, seconds: float, stack: int = READ, thread: int = APP, core: int = 1
) -> list[Sample]:
    return [(core, start + step / 100, thread, stack) for step in range(round(seconds * 100))]


def around() -> list[Sample]:
    """In user mode before and after."""
    return stay(0, 5, USER) + stay(8, 4, USER)


def test_a_thread_in_one_call_for_three_seconds_is_found_with_its_exact_window() -> None:
    (hold,) = kernel_holds(recorded(around() + stay(5, 3)), at(0, 20))
    assert hold.window == at(5, 3)
    assert (hold.comm, hold.pid, hold.tid, hold.core, hold.cgroup) == ("app", 10, 11, 1, "/a")
    assert hold.is_one_call
    assert hold.is_alone
    assert (hold.call, hold.deepest) == ("k_sys_read", "k_walk")
    assert hold.functions == ("k_sys_read", "k_walk")


@pytest.mark.parametrize(
    ("event", "is_one"), [("cycles", True), ("sched:sched_switch", False), ("page-faults", False)]
)
def test_who_was_there_when_something_happened_need_not_have_stayed(
    event: str, is_one: bool
) -> None:
    """Each switch is of another call of the same function."""
    recording = recorded(around() + stay(5, 3), stretches=(Stretch(START, event, 100.0),))
    assert len(kernel_holds(recording, at(0, 20))) == is_one
    assert len(core_holds(recording, 1, at(0, 20))) == is_one
    assert bool(occupancy(recording, 1, at(0, 20)).occupants) == is_one
    assert bool(longest_runs(recording, 1, at(0, 20))) == is_one
    assert bool(process_times(recording, at(0, 20))) == is_one
    assert bool(presence(recording, 1, ("app",), at(0, 20))["app"]) == is_one
    assert bool(sampled_windows(recording, at(0, 20), of_time=True)) == is_one
    assert sampled_windows(recording, at(0, 20)) == (at(0, 20),)


def test_what_was_sampled_by_time_counts_beside_another_event() -> None:
    stretches = (
        Stretch(START, "page-faults", 100.0), Stretch(START + 10 * SECOND, "cycles", 100.0),
        Stretch(START + 16 * SECOND, "page-faults", 100.0),
    )  # fmt: skip
    samples = stay(0, 4) + stay(4, 7, USER) + stay(11, 3) + stay(14, 1, USER) + stay(15, 5)
    recording = recorded(samples, stretches=stretches)
    assert [one.window for one in kernel_holds(recording, at(0, 20))] == [at(11, 3)]
    assert sampled_windows(recording, at(0, 20), of_time=True) == (at(10, 6),)


def test_few_samples_far_apart_are_no_single_call() -> None:
    """Three in a row are chance; what lies between them nobody saw."""
    rare = (Stretch(START, "cycles", 1.0),)
    seconds: list[Sample] = [(1, float(at), APP, USER) for at in range(40)]
    for begin, length in ((5, 3), (12, 7), (25, 10)):
        seconds[begin : begin + length] = [
            (1, float(at), APP, READ) for at in range(begin, begin + length)
        ]
    found = kernel_holds(recorded(seconds, 40.0, rare), at(0, 40))
    assert [one.window for one in found] == [at(25, 10)]


def test_one_with_a_user_sample_in_between_is_not_one_call() -> None:
    broken = [*stay(5, 1.5), (1, 6.5, APP, USER), *stay(6.51, 1.49)]
    assert kernel_holds(recorded(around() + broken), at(0, 20)) == ()


def test_a_call_shorter_than_two_seconds_is_no_hold_but_may_hold_a_core() -> None:
    recording = recorded(stay(0, 5, USER) + stay(5, 1.5) + stay(6.5, 4, USER))
    assert kernel_holds(recording, at(0, 20)) == ()
    (hold,) = core_holds(recording, 1, at(0, 20))
    assert hold.window == at(5, 1.5)


def test_two_calls_in_turn_are_no_single_one() -> None:
    mixed = [
        (core, time, thread, READ if index % 2 else WRITE)
        for index, (core, time, thread, _) in enumerate(stay(5, 3))
    ]
    (hold,) = kernel_holds(recorded(around() + mixed), at(0, 20))
    assert not hold.is_one_call


def test_others_may_have_a_turn_on_its_core_meanwhile() -> None:
    taken = stay(5, 1) + stay(6, 0.3, USER, OTHER) + stay(6.3, 1.7)
    recording = recorded(around() + taken)
    (hold,) = kernel_holds(recording, at(0, 20))
    assert hold.window == at(5, 3)
    assert hold.is_one_call
    assert hold.core_seconds == pytest.approx(2.7)
    on_core = core_holds(recording, 1, at(0, 20))
    assert [one.window for one in on_core] == [at(5, 1), at(6.3, 1.7)]


def test_seconds_with_little_of_the_core_do_not_end_a_call() -> None:
    little = [(1, 7 + step / 5, APP, READ) for step in range(10)]
    taken = stay(5, 2) + little + stay(9, 2)
    recording = recorded(stay(0, 5, USER) + taken + stay(11, 2, USER))
    (hold,) = kernel_holds(recording, at(0, 20))
    assert hold.window == at(5, 6)
    assert not hold.is_alone
    assert hold.core_seconds == pytest.approx(4.1)


def test_whoever_is_away_for_half_a_second_may_have_slept() -> None:
    slept = stay(5, 2.2) + stay(7.7, 2.3)
    recording = recorded(stay(0, 5, USER) + slept)
    assert [one.window for one in kernel_holds(recording, at(0, 20))] == [at(5, 2.2), at(7.7, 2.3)]


def test_the_idle_task_holds_nobody() -> None:
    recording = recorded(around() + stay(5, 3, thread=IDLE))
    assert kernel_holds(recording, at(0, 20)) == ()
    assert core_holds(recording, 1, at(0, 20)) == ()


def test_only_the_core_asked_for_is_looked_at() -> None:
    recording = recorded(around() + stay(5, 3))
    assert core_holds(recording, 0, at(0, 20)) == ()


def test_a_border_between_segments_cuts_no_hold_in_two() -> None:
    first = by_hand(stay(0, 3, USER) + stay(3, 3), stacks=STACKS, threads=THREADS, seconds=6)
    second = by_hand(
        stay(0, 3) + stay(3, 2, USER),
        stacks=STACKS, threads=THREADS, seconds=6, start_ns=START + 6 * SECOND,
    )  # fmt: skip
    (hold,) = kernel_holds(of(first, second), at(0, 12))
    assert hold.window.seconds == pytest.approx(6, abs=0.02)
