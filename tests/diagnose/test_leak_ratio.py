"""What the number of zombies a start says of who starts: whose they can be, and whose not."""

from __future__ import annotations

import numpy as np
import pytest

from exhume.diagnose.leakers import Leaker, leakers
from exhume.model.case import Outcome
from tests.diagnose.made_up import (
    event,
    lifecycle,
    lives,
    observation,
    starts,
    zombies,
)

SUDDEN = {10.0 * i: 40 + 1000 * max(0, i - 58) for i in range(61)}
"""A thousand in each of the last two intervals."""


def sudden(maker: str = "") -> Outcome:
    """What 50 a start say of a program that was started in the last two intervals."""
    rows = [(580.2 + 0.49 * k, "worker", "parent") for k in range(40)]
    (one,) = leakers(
        observation(
            lives=lives(rows),
            lifecycles=(lifecycle("process", "worker", 40, detail="parent"),),
            zombies=zombies(SUDDEN),
            frame_ms={maker: {"cgroup_mkdir": 5}},
        )
    )
    assert round(one.per_start) == 50
    return one.tests.dose


def test_two_intervals_are_too_few_to_say_that_each_start_makes_dozens() -> None:
    assert sudden("parent") == "untested"


def test_dozens_at_once_come_from_elsewhere_where_nobody_there_makes_cgroups() -> None:
    assert sudden("somebody else") == "failed"


def test_units_make_cgroups_by_themselves() -> None:
    events = (
        event(585, "unit-start", "x.service", count=20),
        event(595, "unit-start", "x.service", count=20),
    )
    units = (lifecycle("unit", "x.service", 40),)
    (one,) = leakers(observation(events=events, lifecycles=units, zombies=zombies(SUDDEN)))
    assert (one.tests.dose, one.against) == ("untested", "")


def dozens(counts: list[int], gained: list[int]) -> Leaker:
    """A unit that is started so often in each ten seconds, in which so many zombies come."""
    level = np.concatenate(([100], 100 + np.cumsum(gained)))
    events = tuple(
        event(10 * i + 5, "unit-start", "x.service", count=n) for i, n in enumerate(counts) if n
    )
    (one,) = leakers(
        observation(
            events=events,
            lifecycles=(lifecycle("unit", "x.service", sum(counts)),),
            zombies=zombies({10.0 * i: int(value) for i, value in enumerate(level)}),
        )
    )
    return one


UNEVEN = [2, 3, 2, 2, 4, 2, 2, 3, 2, 2] * 6


def test_dozens_that_come_with_its_starts_are_its_own() -> None:
    one = dozens(UNEVEN, [40 * n for n in UNEVEN])
    assert (one.tests.dose, one.against) == ("passed", "")


def test_something_that_dies_at_a_steady_pace_beside_a_steady_growth_is_not_the_cause() -> None:
    one = dozens(UNEVEN, [600 + 7 * (i % 3) for i in range(60)])
    assert one.tests.dose == "failed"
    assert "zombies a start: they come from elsewhere" in one.against


def test_two_paces_that_never_change_prove_nothing() -> None:
    one = dozens([2] * 60, [600] * 60)
    assert (one.tests.dose, one.against) == ("untested", "")
    assert one.at_most == "low", "nothing ties so many to it"


@pytest.mark.parametrize(("each", "sure"), [(3, "high"), (20, "medium")])
def test_what_came_one_by_one_with_somebodys_starts_is_not_sure_to_be_anothers(
    each: int, sure: str
) -> None:
    steady = {10.0 * i: 100 + 20 * i for i in range(61)}
    events = (*starts("x.service", 0, 60), *starts("y.service", 0, 60, each))
    units = tuple(lifecycle("unit", name, 20 * 60) for name in ("x.service", "y.service"))
    found = leakers(observation(events=events, lifecycles=units, zombies=zombies(steady)))
    told = {one.culprit.unit: (one.at_most, one.against) for one in found}
    assert told["x.service"] == (sure, ""), "of two that fit as well it may be either"
    assert told["y.service"] == ("medium", "")


@pytest.mark.parametrize(("maker", "dose"), [("worker", "passed"), ("another", "failed")])
def test_beside_a_pace_that_hardly_changes_it_counts_who_was_seen_to_make_cgroups(
    maker: str, dose: Outcome
) -> None:
    # Five a second, which leave a hundred each; counted every two or four seconds, now and then
    # one start earlier or later.
    edges = np.cumsum([0, *[2, 4, 4, 2, 2, 4, 2, 4] * 2])
    rows = [(0.2 * k, "worker", "sh") for k in range(int(edges[-1] / 0.2))]
    odd = [0, 70, -40, 60, -70, 50, -60, 30, 0] * 2
    counts = {float(edge): 100 + int(500 * edge) + odd[i] for i, edge in enumerate(edges)}
    (one,) = leakers(
        observation(
            lives=lives(rows),
            lifecycles=(lifecycle("process", "worker", len(rows), detail="sh"),),
            zombies=zombies(counts),
            frame_ms={maker: {"cgroup_mkdir": 5}},
        )
    )
    assert one.agreement < 0.5
    assert (one.tests.dose, bool(one.against)) == (dose, dose == "failed")


@pytest.mark.parametrize(
    "loops", [[9, 10, 9, 10, 10, 9, 9], [8, 11, 8, 11, 10, 9, 7]], ids=["even", "held up together"]
)
def test_the_loop_that_collects_the_evidence_leaves_no_zombies(loops: list[int]) -> None:
    """Once a second, beside an agent that leaves 180 a start, as it was recorded: when walks held
    up the node both were slower, and 460 zombies came with each round."""
    gained = [4320, 4680, 4140, 4682, 4500, 4320, 3781]
    agent = [23, 25, 25, 25, 25, 27, 19]
    rows = [
        (10 * at + (place + 0.5) * 10 / count, name, parent)
        for name, parent, counts in (("agent", "init", agent), ("date", "sh", loops))
        for at, count in enumerate(counts)
        for place in range(count)
    ]
    level = np.concatenate(([198], 198 + np.cumsum(gained)))
    first, other = leakers(
        observation(
            lives=lives(sorted(rows)),
            lifecycles=(
                lifecycle("process", "agent", sum(agent), detail="init"),
                lifecycle("process", "date", sum(loops), "many short jobs", detail="sh"),
            ),
            zombies=zombies({10.0 * i: int(value) for i, value in enumerate(level)}),
            frame_ms={"agent": {"cgroup_mkdir": 5}},
        )
    )
    assert (first.culprit.comm, first.against, first.at_most) == ("agent", "", "high")
    assert "come from elsewhere" in other.against


def test_of_what_starts_at_one_pace_the_loop_is_it_before_the_script_and_never_its_pause() -> None:
    """One zombie a second, an agent that dies every second, and a script that looks every second
    and sleeps: by their figures it may be any."""
    each = ((0.1, "sleep", "sh"), (0.5, "agent", "init"), (0.9, "date", "sh"))
    rows = [(second + at, name, parent) for second in range(100) for at, name, parent in each]
    jobs = (lifecycle("process", name, 100, "many short jobs", "sh") for name in ("sleep", "date"))
    found = leakers(
        observation(
            lives=lives(rows),
            lifecycles=(*jobs, lifecycle("process", "agent", 100, "loop", "init")),
            zombies=zombies({float(at): 100 + at for at in range(0, 101, 10)}),
        )
    )
    assert [one.culprit.comm for one in found] == ["agent", "date"]
    assert {one.at_most for one in found} == {"medium"}
