from __future__ import annotations

import pytest
from msgspec.structs import replace

from exhume.derive.leaks import container_ids, with_core_time, with_leaks
from exhume.model.lifecycles import Lifecycle, ProcessTime
from exhume.model.memcgs import MemcgName
from tests.derive.lives import event

UNIT = Lifecycle(
    kind="unit", name="ecs.service", detail="", mark="crash loop", starts=60, starts_per_hour=360,
    most_starts_in_10_minutes=60, restarts=60, ids=None, pace_seconds=10,
    success_percent_of_known_ends=0, median_lifetime_seconds=1.2, last_start_wall_ns=None,
)  # fmt: skip
AGENT = replace(UNIT, kind="container", name="ecs-agent", ids=60)
LOOP = replace(UNIT, kind="process", name="agent", mark="loop", starts=40)


def unknown(_: Lifecycle) -> float | None:
    return None


def test_a_unit_owns_the_cgroups_of_its_name() -> None:
    names = [
        MemcgName("/system.slice/ecs.service", 60, 60, 0),
        MemcgName("/user.slice/session-*.scope", 9, 9, 9),
    ]
    (found,) = with_leaks([UNIT], names, (), unknown, 338_000.0)
    assert (found.cgroups_born, found.zombies_per_start) == (60, 1.0)
    assert not found.zombies_at_most
    assert found.memory_bytes_per_start == pytest.approx(338_000)


def test_a_folded_name_fits_the_unit_it_was_folded_from() -> None:
    numbered = replace(UNIT, name="worker@12.service")
    (found,) = with_leaks(
        [numbered], [MemcgName("/s/worker@*.service", 60, 60, 30)], (), unknown, None
    )
    assert found.zombies_per_start == pytest.approx(0.5)
    assert found.memory_bytes_per_start is None


def test_containers_share_what_their_runtime_names_alike() -> None:
    other = replace(AGENT, name="other", starts=20)
    names = [MemcgName("/docker/*", 80, 80, 0)]
    agent, rest = with_leaks([AGENT, other], names, (), unknown, None)
    assert (agent.cgroups_born, rest.cgroups_born) == (60, 20)
    assert (agent.zombies_per_start, agent.zombies_at_most) == (1.0, True)


def test_a_loop_seen_in_cgroups_that_leak_may_have_left_them() -> None:
    time = ProcessTime("agent", 5, 1, "/test/box-77", "", "", 10**9)
    (found,) = with_leaks([LOOP], [MemcgName("/test/box-*", 40, 40, 0)], (time,), unknown, None)
    assert found.zombies_per_start == pytest.approx(1)
    elsewhere = replace(time, cgroup="/other/box-77")
    (found,) = with_leaks(
        [LOOP], [MemcgName("/test/box-*", 40, 40, 0)], (elsewhere,), unknown, None
    )
    assert found.zombies_per_start is None


def test_without_names_the_nodes_growth_is_the_upper_bound_for_loops() -> None:
    calm = replace(UNIT, name="calm.service", mark="healthy")
    loop, well = with_leaks([UNIT, calm], (), (), lambda _: 0.95, None)
    assert (loop.zombies_per_start, loop.zombies_at_most) == (0.95, True)
    assert (well.zombies_per_start, well.zombies_at_most) == (None, False)
    (other,) = with_leaks([UNIT], (), (), unknown, None)
    assert (other.zombies_per_start, other.zombies_at_most) == (None, False)


def test_hostile_names_are_no_patterns() -> None:
    (found,) = with_leaks([replace(UNIT, name="a[b].service")],
                          [MemcgName("/s/a[b].service", 1, 1, 0)], (), unknown, None)  # fmt: skip
    assert found.cgroups_born == 1


def test_core_time_goes_to_the_unit_the_container_and_the_name() -> None:
    times = (
        ProcessTime("ecs-init", 5, 1, "/system.slice/ecs.service", "ecs.service", "", 6 * 10**9),
        ProcessTime("agent", 6, 5, "/docker/aa", "", "aa", 3 * 10**9),
        ProcessTime("agent", 7, 5, "/docker/bb", "", "bb", 3 * 10**9),
    )
    ids = {"ecs-agent": frozenset({"aa", "bb", "cc"})}
    unit, agent, loop = with_core_time([UNIT, AGENT, LOOP], times, ids)
    assert unit.cpu_seconds_per_start == pytest.approx(0.1)
    assert agent.cpu_seconds_per_start == pytest.approx(0.1)
    assert loop.cpu_seconds_per_start == pytest.approx(6 / 40)
    (none,) = with_core_time([replace(UNIT, name="x.service")], times, {})
    assert none.cpu_seconds_per_start is None


def test_ids_are_told_by_label() -> None:
    events = [
        event("container-start", "a", 0, id="1"),
        event("container-exit", "a", 1, id="2"),
        event("unit-start", "b", 1),
    ]
    assert container_ids(events) == {"a": frozenset({"1", "2"})}


def test_a_name_that_is_nothing_but_an_id_is_no_units() -> None:
    names = [MemcgName("/system.slice/ecs.service", 60, 60, 0), MemcgName("/docker/*", 90, 90, 0)]
    (found,) = with_leaks([UNIT], names, (), unknown, None)
    assert (found.cgroups_born, found.zombies_at_most) == (60, False)
