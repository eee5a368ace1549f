from __future__ import annotations

from pathlib import Path

from exhume.model.answers import Filter
from exhume.store import queries
from exhume.store.memory import MemorySegment
from exhume.store.queries import never_sampled
from exhume.store.queries.never_sampled import NeverSampled
from exhume.store.recording import Recording
from tests.store.make import at, by_hand

THREADS = (
    (10, 10, "etcd", "/system.slice/etcd.service"),
    (10, 11, "etcd", "/system.slice/etcd.service"),
    (40, 40, "bash", "/user.slice"),
)


def recording() -> Recording:
    stacks = tuple((comm, "main") for _, _, comm, _ in THREADS)
    taken = [(0, n / 10, n, n) for n in range(len(THREADS))]
    made = by_hand(taken, stacks=stacks, threads=THREADS, seconds=20.0)
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(made)], 1 << 20)


def test_who_was_sampled_at_another_time_is_quiet_and_no_mistake() -> None:
    late = at(10, 1)
    assert never_sampled(recording(), late, Filter()) is None
    for known in (
        Filter(comms=("etcd", "nobody")),
        Filter(pids=(40,)),
        Filter(units=("etcd.service",)),
        Filter(cgroups=("/system.slice",), modes=("irq",)),
    ):
        assert never_sampled(recording(), late, known) is None


def test_who_never_was_is_named_with_who_was() -> None:
    found = never_sampled(recording(), at(0, 1), Filter(comms=("etc",), pids=(10,)))
    assert found == NeverSampled("comms", ("etc",), ("etcd", "bash"))
    found = never_sampled(recording(), at(0, 1), Filter(comms=("etcd",), units=("x.service",)))
    assert found == NeverSampled("units", ("x.service",), ("etcd.service",))
    found = never_sampled(recording(), at(0, 1), Filter(pids=(5, 6)))
    assert found == NeverSampled("pids", ("5", "6"), ())


def test_who_took_most_time_is_named_first() -> None:
    """A crash loop has thousands of threads, and the one who is meant may be a single one."""
    threads = (*THREADS, (50, 50, "trainer", ""))
    stacks = tuple((comm, "main") for _, _, comm, _ in threads)
    taken = [(0, n / 10, n, n) for n in range(len(THREADS))]
    taken += [(1, n / 10, 3, 3) for n in range(5)]
    made = by_hand(taken, stacks=stacks, threads=threads, seconds=20.0)
    many = Recording(Path("/nonexistent"), lambda _: [MemorySegment(made)], 1 << 20)
    found = never_sampled(many, at(0, 1), Filter(comms=("x",)))
    assert found == NeverSampled("comms", ("x",), ("trainer", "etcd", "bash"))


def test_a_name_may_be_given_as_it_is_shown() -> None:
    made = by_hand([(0, 0.1, 0, 0)], stacks=(("a\nb", "main"),), threads=((7, 7, "a\nb", ""),))
    odd = Recording(Path("/nonexistent"), lambda _: [MemorySegment(made)], 1 << 20)
    for name in ("a\nb", "a\\x0ab"):
        assert never_sampled(odd, at(0, 1), Filter(comms=(name,))) is None
        assert queries.top(odd, at(0, 1), Filter(comms=(name,))).samples == 1
