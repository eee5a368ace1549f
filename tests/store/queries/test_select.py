from __future__ import annotations

from pathlib import Path

import pytest

from exhume.model.answers import Filter
from exhume.store.memory import MemorySegment
from exhume.store.queries import flame, samples, top
from exhume.store.recording import Recording
from tests.store.make import at, by_hand

THREADS = (
    (10, 10, "etcd", "/a"),
    (10, 11, "grpc", "/a"),
    (20, 20, "proxy", "/b"),
    (20, 21, "grpc", "/b"),
    (30, 31, "etcd", "/c"),
    (40, 40, "bash", "/d"),
    (40, 40, "make", "/d"),
)
STACKS = tuple((comm, "main") for _, _, comm, _ in THREADS)


def recording(seconds: int = 1) -> Recording:
    """Of each thread a sample a second."""
    taken = [(0, second + n / 10, n, n) for second in range(seconds) for n in range(len(THREADS))]
    made = by_hand(taken, stacks=STACKS, threads=THREADS, seconds=float(seconds))
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(made)], 1 << 20)


@pytest.mark.parametrize(
    ("comms", "tids"),
    [
        (("etcd",), [10, 11, 31]),
        (("grpc",), [11, 21]),
        (("proxy", "bash"), [20, 21, 40]),
        (("nobody",), []),
    ],
)
def test_the_name_of_a_process_stands_for_all_its_threads(
    comms: tuple[str, ...], tids: list[int]
) -> None:
    wanted = Filter(comms=comms)
    found = samples(recording(), at(0, 1), wanted, 100)
    assert [one.tid for one in found.samples] == tids
    assert flame(recording(), at(0, 1), wanted).samples == len(tids)


def test_frames_whose_past_cannot_be_told_from_that_of_others_have_none() -> None:
    """Roll-ups know threads by their own names, and two processes have one called grpc."""
    for comm, is_known in (("etcd", False), ("grpc", True), ("make", True)):
        found = top(recording(200), at(180, 10), Filter(comms=(comm,)))
        past = [frame.baseline_percent_of_one_core for frame in found.frames]
        assert past
        assert all((one is not None) is is_known for one in past), comm
