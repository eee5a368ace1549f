from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.derive.starts import most_left, starts_of
from exhume.model.arrays import I64
from exhume.model.lifecycles import no_lives
from tests.derive.lives import T0, event, lived, process_events
from tests.derive.test_leaks import AGENT, LOOP, UNIT

NS = 1_000_000_000
WALL = T0 + np.arange(37, dtype=np.int64) * 10 * NS
STEADY = np.arange(37, dtype=np.int64) * 600
NEVER = (np.empty(0, np.int64), np.empty(0, np.int64))


def every(seconds: float, count: int = 1) -> tuple[I64, I64]:
    wall = T0 + (np.arange(0, 360, seconds) * NS).astype(np.int64)
    return wall, np.full(len(wall), count, np.int64)


def test_starts_are_those_of_its_own_name_and_parent() -> None:
    rows = [*lived(1, "a", "init", 1, 2.0), *lived(4, "a", "cron", 7, 2.0)]
    lives = process_events([*rows, *lived(5, "b", "init", 1, 2.0)])
    own = replace(LOOP, name="a", detail="init")
    assert (starts_of(own, (), lives)[0] - T0).tolist() == [NS]
    events = [event("unit-start", "ecs.service", 3), event("container-start", "ecs.service", 4)]
    wall, count = starts_of(UNIT, events, no_lives())
    assert ((wall - T0).tolist(), count.tolist()) == ([3 * NS], [1])


def test_what_the_node_gained_is_at_most_what_each_start_left() -> None:
    loop = replace(UNIT, starts=360 * 60)
    assert most_left(loop, every(0.5, 30), WALL, STEADY) == pytest.approx(1.0)
    assert most_left(replace(AGENT, starts=36), every(10), WALL, STEADY) == pytest.approx(600)
    assert most_left(loop, every(0.5, 30), WALL, STEADY[::-1]) == 0
    assert most_left(replace(UNIT, starts=50), NEVER, WALL, STEADY) == pytest.approx(432)


def test_without_a_start_or_a_count_nothing_is_said() -> None:
    assert most_left(replace(AGENT, starts=0), NEVER, WALL, STEADY) is None
    assert most_left(UNIT, every(0.5), WALL[:1], STEADY[:1]) is None


def test_zombies_that_come_without_a_start_are_not_its() -> None:
    assert most_left(replace(LOOP, starts=6), every(60), WALL, STEADY) is None
    long = replace(LOOP, starts=6, median_lifetime_seconds=55.0)
    assert most_left(long, every(60), WALL, STEADY) == pytest.approx(3600)


def test_starts_that_leave_none_most_of_the_time_are_not_the_cause() -> None:
    once = np.where(np.arange(37) > 30, 600, 0).astype(np.int64)
    assert most_left(replace(LOOP, starts=36), every(10), WALL, once) is None
