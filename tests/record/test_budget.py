from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.record.budget import (
    CALM_ROUNDS,
    PAGE_BYTES,
    SLOWEST_HZ,
    Governor,
    default_budget_percent,
    own_cost,
)
from tests.record.fake import machine, put

GOOD, BAD = 0.1, 1.5
costs = st.lists(st.floats(0, 400) | st.sampled_from([GOOD, BAD, 0.5, 1.0]), max_size=60)


def test_one_bad_round_changes_nothing() -> None:
    governor = Governor(97.0, 1.0)
    assert [governor.decide(cost) for cost in (BAD, GOOD, BAD, GOOD, BAD)] == [None] * 5
    assert governor.rate_hz == 97.0


def test_two_bad_rounds_halve_the_rate() -> None:
    governor = Governor(97.0, 1.0)
    assert [governor.decide(cost) for cost in (BAD, BAD)] == [None, 48.5]
    assert governor.rate_hz == 48.5


def test_it_stops_at_the_slowest_rate() -> None:
    governor = Governor(97.0, 1.0)
    for _ in range(50):
        governor.decide(BAD)
    assert SLOWEST_HZ <= governor.rate_hz < 2 * SLOWEST_HZ


def test_a_rate_that_was_asked_for_below_the_slowest_is_left_alone() -> None:
    governor = Governor(5.0, 1.0)
    assert [governor.decide(BAD) for _ in range(9)] == [None] * 9
    assert governor.rate_hz == 5.0


def test_it_comes_back_when_all_has_been_calm_for_long() -> None:
    governor = Governor(97.0, 1.0)
    for cost in (BAD, BAD, BAD, BAD):
        governor.decide(cost)
    assert governor.rate_hz == 24.25
    rounds = [governor.decide(GOOD) for _ in range(3 * CALM_ROUNDS)]
    assert [rate for rate in rounds if rate is not None] == [48.5, 97.0]
    assert rounds.index(48.5) == CALM_ROUNDS - 1


def test_it_stays_down_where_the_old_rate_would_not_fit() -> None:
    """At half the rate it takes 0.7 of the 1 % it may: at the full rate that would be 1.4."""
    governor = Governor(97.0, 1.0)
    governor.decide(BAD)
    governor.decide(BAD)
    assert [governor.decide(0.7) for _ in range(5 * CALM_ROUNDS)] == [None] * 5 * CALM_ROUNDS


@given(st.floats(1, 10_000), st.floats(0.01, 100), costs)
def test_whatever_happens_the_rate_stays_between_its_bounds(
    wanted: float, budget: float, rounds: list[float]
) -> None:
    governor = Governor(wanted, budget)
    before = wanted
    bad_in_a_row = 0
    for cost in rounds:
        bad_in_a_row = bad_in_a_row + 1 if cost > budget else 0
        answer = governor.decide(cost)
        assert answer is None or answer == governor.rate_hz
        assert min(wanted, SLOWEST_HZ) <= governor.rate_hz <= wanted
        if governor.rate_hz < before:
            assert bad_in_a_row >= 2
            assert governor.rate_hz == before / 2
            bad_in_a_row = 0
        elif governor.rate_hz > before:
            assert cost * 2 < budget
            assert governor.rate_hz == min(before * 2, wanted)
        before = governor.rate_hz


@given(st.lists(st.floats(0, 400), max_size=30))
def test_from_wherever_it_is_it_finds_back_to_what_was_asked_for(rounds: list[float]) -> None:
    governor = Governor(97.0, 1.0)
    for cost in rounds:
        governor.decide(cost)
    for _ in range(5 * CALM_ROUNDS):
        governor.decide(0.0)
    assert governor.rate_hz == 97.0


@pytest.mark.parametrize(
    ("cores", "percent"), [(1, 1.0), (2, 1.0), (32, 1.0), (96, 3.0), (256, 8.0)]
)
def test_the_budget_is_one_percent_of_a_core_and_3_percent_at_96_cores(
    cores: int, percent: float
) -> None:
    assert default_budget_percent(cores) == percent


def test_memory_is_read_from_the_kernel_and_missing_where_it_is_not_told(tmp_path: Path) -> None:
    host = machine(tmp_path)
    assert own_cost(host).rss_bytes == 20 * PAGE_BYTES
    assert own_cost(host).cpu_ns > 0
    for garbage in ("", "1", "x y z", "\0"):
        put(host.proc / "self/statm", garbage)
        assert own_cost(host).rss_bytes is None
    (host.proc / "self/statm").unlink()
    assert own_cost(host).rss_bytes is None


def test_work_of_children_that_ended_counts() -> None:
    import subprocess
    import sys

    from exhume.host import Host

    before = own_cost(Host()).cpu_ns
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert own_cost(Host()).cpu_ns - before > 5_000_000
