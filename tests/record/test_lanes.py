from __future__ import annotations

import threading
import time

import pytest

from exhume.model.reading import Reading
from exhume.record.lanes import STUCK_NS, Collected, Lanes, Source

SECOND = 1_000_000_000


def counting(name: str, calls: list[str]) -> Source:
    def collect() -> Collected:
        calls.append(name)
        return Collected((Reading.of_node(name, len(calls)),))

    return Source(name, SECOND, collect)


@pytest.mark.parametrize("phase_ns", [0, 1, 400_000_000, 500_000_000, 999_500_000, 999_999_999])
def test_every_tick_has_its_reading_whatever_its_phase_and_jitter(phase_ns: int) -> None:
    """A tick planned just before a whole second falls now before, now behind it."""
    calls: list[str] = []
    lanes = Lanes([counting("cpu", calls)], 5)
    jitter = (0, 900_000, 100_000, 5_000_000, 0, 0, 20_000_000, 0)
    for tick in range(40):
        now = tick * SECOND + phase_ns + jitter[tick % len(jitter)]
        assert [name for name, _ in lanes.collect(now)] == ["cpu"], tick
    assert len(calls) == 40


def test_a_slow_pace_is_kept() -> None:
    calls: list[str] = []
    source = counting("nic", calls)
    source.every_ns = 10 * SECOND
    lanes = Lanes([source], 5)
    for tick in range(60):
        lanes.collect(tick * SECOND + 730_000_000)
    assert len(calls) in (6, 7)


def test_one_that_hangs_delays_no_other_and_is_not_asked_twice() -> None:
    let_go, calls = threading.Event(), list[str]()

    def hang() -> Collected:
        calls.append("hangs")
        let_go.wait(60)
        return Collected((Reading.of_node("hangs", 1),))

    lanes = Lanes([Source("hangs", SECOND, hang), counting("cpu", calls)], 0.2)
    try:
        names = [[name for name, _ in lanes.collect(tick * SECOND)] for tick in range(4)]
        assert names == [["cpu"]] * 4
        assert calls.count("hangs") == 1
        assert lanes.states()["hangs"].state == "slow"
        assert lanes.states()["cpu"].state == "ok"
    finally:
        let_go.set()
    found: list[str] = []
    tick, deadline = 4, time.monotonic() + 20
    while "hangs" not in found and time.monotonic() < deadline:
        found += [name for name, _ in lanes.collect(tick * SECOND)]
        tick += 1
        time.sleep(0.001)  # its thread has to get a core first
    assert "hangs" in found
    assert lanes.states()["hangs"].state == "ok"


def test_broken_and_absent_are_told_apart() -> None:
    def broken() -> Collected:
        raise ValueError("line 3")

    lanes = Lanes([Source("broken", SECOND, broken), Source("absent", SECOND, lambda: None)], 5)
    assert lanes.collect(0) == []
    states = lanes.states()
    assert (states["broken"].state, states["broken"].detail) == ("broken", "line 3")
    assert states["absent"].state == "absent"


def test_where_nobody_waits_one_that_hangs_is_left_behind_after_a_while() -> None:
    let_go, calls = threading.Event(), list[str]()

    def hang() -> Collected:
        calls.append("hangs")
        let_go.wait(60)
        return Collected((Reading.of_node("hangs", 1),))

    lanes = Lanes([Source("hangs", SECOND, hang), counting("nic", calls)], 0)
    found: list[str] = []
    try:
        for tick in range(200):
            found += [name for name, _ in lanes.collect(tick * SECOND)]
            if tick == STUCK_NS // SECOND - 1:
                assert lanes.states()["hangs"].state == "ok", "it is merely not finished"
            if found.count("nic") == 3:
                break
            time.sleep(0.01)
        assert found == ["nic"] * 3
        assert calls.count("hangs") == 1
        assert lanes.states()["hangs"].state == "slow"
    finally:
        let_go.set()
