from __future__ import annotations

import pytest
from msgspec.structs import replace

from exhume.derive.zombies import SECONDS_PER_ZOMBIE, outlook
from exhume.diagnose.walking import measured
from exhume.model.memcgs import Slope, ZombiesAnswer
from tests.diagnose.made_up import hold, zombies

COUNTS = {10.0 * i: 100 * i for i in range(60)}


def counted(counts: dict[float, int] = COUNTS) -> ZombiesAnswer:
    answer = zombies(counts)
    growth = Slope(36_000.0, 36_000.0, 36_000.0, 60, 1)
    assumed = outlook("5.4.0", answer.zombies, growth.per_hour)
    return replace(answer, growth=growth, outlook=assumed)


def test_what_walks_took_here_counts_before_what_is_assumed() -> None:
    walks = [hold(at, 0.8e-3 * COUNTS[at]) for at in (200.0, 300.0, 400.0)]
    found = measured(counted(), walks).outlook
    assert found is not None
    assert found.seconds_per_zombie == pytest.approx(0.8e-3)
    assert found.measured_walks == 3
    first, second = found.walks
    assert (first.zombies, first.in_ns) == (1250, 0)
    assert second.zombies == 6250
    assert second.in_ns == pytest.approx((6250 - 5900) / 36_000 * 3600e9, rel=1e-6)


def test_a_walk_may_go_on_in_functions_that_others_call_too() -> None:
    inside = ("ksys_write", "mem_cgroup_force_empty_write", "shrink_node")
    walks = [
        hold(at, 0.3e-3 * COUNTS[at], call=inside[0], deepest=inside[-1], functions=inside)
        for at in (300.0, 400.0)
    ]
    found = measured(counted(), walks).outlook
    assert found is not None
    assert found.seconds_per_zombie == pytest.approx(0.3e-3)


@pytest.mark.parametrize(
    "holds",
    [
        [],
        [hold(400.0, 3.2)],  # one is no measure
        [hold(at, 2.0, deepest="copy_page", call="ksys_read") for at in (300.0, 400.0)],
        [hold(at, 2.0, is_one_call=False) for at in (300.0, 400.0)],
        [hold(at, 2.0) for at in (0.0, 10.0)],  # of hardly any zombies
    ],
)
def test_without_such_walks_it_stays_assumed(holds: list[object]) -> None:
    found = measured(counted(), holds).outlook  # type: ignore[arg-type]
    assert found is not None
    assert (found.seconds_per_zombie, found.measured_walks) == (SECONDS_PER_ZOMBIE, 0)


def test_where_nobody_counted_there_is_no_outlook() -> None:
    nothing = replace(zombies({}), zombies=None)
    assert measured(nothing, [hold(300.0, 3.0), hold(400.0, 3.0)]).outlook is None
