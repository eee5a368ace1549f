from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.cpu import core_shares
from exhume.ingest.snapshots_fill import filled
from exhume.ingest.snapshots_zombies import with_zombies
from exhume.model.series import MISSING, Block

NS = 1_000_000_000
FIELDS = ("cpu.user", "cpu.system", "cpu.idle")


def counters(
    seconds: Sequence[float], per_second: Sequence[tuple[int, int, int]], base: int = 0
) -> list[Block]:
    """One core that spends its seconds so; `per_second` is used from `seconds[0]` on."""
    at = np.array([round(second * NS) for second in seconds], np.int64)
    found = []
    for column, field in enumerate(FIELDS):
        total, values = float(base), [base]
        for i, (low, high) in enumerate(pairwise(seconds)):
            total += per_second[i][column] * (high - low)
            values.append(round(total))
        found.append(Block(field, ("0",), at, np.array(values, np.int64)[:, np.newaxis]))
    return found


def system_by_time(blocks: Sequence[Block]) -> dict[float, float]:
    shares = core_shares(blocks)
    assert shares is not None
    ends = (shares.end_ns / NS).tolist()
    return {end: float(shares.percent[1, 0, i]) for i, end in enumerate(ends)}


def test_holes_are_filled_and_exact_readings_stay() -> None:
    exact = counters([0.4, 1.4, 2.4, 8.6, 9.6], [(0, 0, 100)] * 2 + [(0, 50, 50)] + [(0, 0, 100)])
    burst = [(0, 0, 100)] * 4 + [(0, 100, 0)] * 3 + [(0, 0, 100)] * 4
    filler = counters(list(range(12)), burst, base=1000)
    found = filled(exact, filler)
    system = system_by_time(found)
    assert {end for end in system if end % 1} == {1.4, 2.4, 8.6, 9.6}
    assert [system[end] for end in (4.0, 5.0, 6.0, 7.0, 8.0)] == [0, 100, 100, 100, 0]
    # What is exact is not touched, and adds up to the same.
    by_field = {block.field: block for block in found}
    for block in exact:
        rows = np.searchsorted(by_field[block.field].tick_ns, block.tick_ns)
        assert by_field[block.field].values[rows].tolist() == block.values.tolist()


def test_before_and_after_the_exact_ones_the_filler_goes_on() -> None:
    exact = counters([3.0, 4.0, 5.0], [(10, 0, 90)] * 2, base=500)
    filler = counters(list(range(9)), [(0, 100, 0)] * 8)
    system = system_by_time(filled(exact, filler))
    assert [system[end] for end in (1.0, 2.0, 3.0)] == [100, 100, 100]
    assert [system[end] for end in (4.0, 5.0)] == [0, 0]
    assert [system[end] for end in (6.0, 7.0, 8.0)] == [100, 100, 100]


def test_what_lies_apart_is_kept_apart() -> None:
    exact = counters([100.0, 101.0, 102.0], [(10, 0, 90)] * 2, base=50_000)
    filler = counters([0.0, 1.0, 2.0], [(0, 100, 0)] * 2)
    shares = core_shares(filled(exact, filler))
    assert shares is not None
    known = np.isfinite(shares.busy[0])
    assert known.sum() == 4
    lengths = (shares.end_ns - shares.start_ns) / NS
    assert (lengths[known] == 1).all()


def test_a_field_that_only_one_of_them_has_does_no_harm() -> None:
    exact = counters([0.0, 1.0, 9.0], [(0, 0, 100)] * 2)
    exact.append(Block("cpu.guest", ("0",), exact[0].tick_ns, np.full((3, 1), 7)))
    filler = counters(list(range(10)), [(0, 0, 100)] * 9)
    filler.append(Block("cpu.steal", ("0",), filler[0].tick_ns, np.zeros((10, 1), np.int64)))
    found = {block.field: block for block in filled(exact, filler)}
    assert set(found["cpu.guest"].values[:, 0].tolist()) == {7}
    shares = core_shares(tuple(found.values()))
    assert shares is not None
    assert (shares.idle == 100).all()


def test_without_exact_readings_the_filler_is_all_there_is() -> None:
    filler = counters([0.0, 1.0], [(0, 100, 0)])
    other = Block("memcg.live", ("",), np.array([0]), np.array([[4]]))
    assert filled([other], filler) == (other, *filler)


def test_parts_of_one_log_follow_each_other_seamlessly() -> None:
    burst = [(0, 100, 0), (0, 0, 100)] * 6
    whole = counters(list(range(13)), burst)
    cut = [
        [Block(b.field, b.instances, b.tick_ns[rows], b.values[rows]) for b in whole]
        for rows in (slice(0, 5), slice(4, 9), slice(8, 13))
    ]
    found: tuple[Block, ...] = ()
    for part in cut:
        found = filled(found, part)
    assert system_by_time(found) == system_by_time(whole)


@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True).map(sorted),
    st.lists(st.integers(0, 60), min_size=2, max_size=40, unique=True).map(sorted),
    st.integers(-1000, 1000),
)
def test_no_interval_is_made_up(exact_at: list[int], filler_at: list[int], base: int) -> None:
    exact = counters([at + 0.25 for at in exact_at], [(0, 0, 100)] * 60)
    filler = counters([float(at) for at in filler_at], [(0, 0, 100)] * 60, base=base)
    found = filled(exact, filler)
    ticks = found[0].tick_ns
    assert (np.diff(ticks) > 0).all()
    shares = core_shares(found)
    assert shares is not None
    # All that is known is idle, and no more time than there is.
    known = np.isfinite(shares.idle[0])
    assert np.allclose(shares.idle[0][known], 100)
    idle = next(block for block in found if block.field == "cpu.idle").values[:, 0]
    both = (idle[1:] != MISSING) & (idle[:-1] != MISSING)
    gained = (idle[1:] - idle[:-1])[both]
    assert (gained <= np.diff(ticks)[both] / NS * 100 + 1).all()


def gauge(field: str, seconds: Sequence[float], values: Sequence[int]) -> Block:
    at = np.array([round(second * NS) for second in seconds], np.int64)
    return Block(field, ("",), at, np.array(values, np.int64)[:, np.newaxis])


def test_zombies_are_what_two_counts_taken_together_leave() -> None:
    tracked = gauge("memcg.tracked", [0, 10, 20, 30], [10, 500, 900, 1400])
    live = gauge("memcg.live", [10.5, 25, 30], [4, 4, 5])
    *_, zombies = with_zombies([tracked, live])
    assert zombies.field == "memcg.zombies"
    assert zombies.tick_ns.tolist() == [10_500_000_000, 30 * NS]
    assert zombies.values[:, 0].tolist() == [496, 1395]
    assert with_zombies([tracked]) == (tracked,)
    said = gauge("memcg.zombies", [0], [7])
    assert with_zombies([tracked, live, said])[-1] is said
    late = gauge("memcg.live", [100], [4])
    assert with_zombies([tracked, late]) == (tracked, late)


def test_what_goes_on_from_a_young_counter_is_not_below_zero() -> None:
    """A reading within the filler's first second: how much of that lay before it is a guess."""
    exact = counters([0.63, 1.63, 2.63], [(44, 50, 6)] * 2, base=8)
    filler = counters([0.0, 1.0, 2.0, 3.0], [(44, 56, 0)] * 3)
    for block in filled(exact, filler):
        known = block.values[block.values != MISSING]
        assert (known >= 0).all()
        assert (np.diff(known) >= 0).all()


def test_what_came_before_a_reboot_keeps_its_own_scale() -> None:
    exact = counters([100.5, 101.5, 102.5], [(10, 0, 90)] * 2, base=20)
    filler = counters([float(at) for at in range(90, 104)], [(0, 100, 0)] * 13, base=5000)
    found = filled(exact, filler)
    for block in found:
        assert (block.values[block.values != MISSING] >= 0).all()
    system = system_by_time(found)
    assert [system[float(end)] for end in range(91, 98)] == [100] * 7
