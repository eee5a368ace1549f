"""A job of cron is suspected where zombies come with its starts, and for nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from exhume.diagnose.in_step import in_step, start_together
from exhume.diagnose.leakers import Leaker, leakers
from exhume.model.observation import Observation
from tests.diagnose.made_up import event, lifecycle, observation, zombies

EVERY_10 = [10.0 * i for i in range(60)]
BY_MINUTE = [60.0 * i + 7 for i in range(60)]
NAN = float("nan")


def cron(name: str, minutes: int, second: float = 1.0) -> tuple[list, list]:  # type: ignore[type-arg]
    events = [event(60 * m + second, "unit-start", name, by="cron") for m in range(minutes)]
    return events, [lifecycle("unit", name, minutes, "scheduled", "cron")]


def seen(counts: Mapping[float, int], *some: tuple[list, list]) -> Observation:  # type: ignore[type-arg]
    return observation(
        events=tuple(sorted((e for own, _ in some for e in own), key=lambda one: one.wall_ns)),
        lifecycles=tuple(one for _, own in some for one in own),
        zombies=zombies(counts),
    )


def one_each_minute(at: float) -> int:
    return 1000 + 6 * int((at + 58) // 60)


def by_name(found: tuple[Leaker, ...]) -> dict[str, Leaker]:
    return {one.lifecycle.name: one for one in found}


def test_a_job_whose_starts_bring_zombies_and_nothing_else_does_is_suspected() -> None:
    (one,) = leakers(seen({at: one_each_minute(at) for at in EVERY_10}, cron("agent", 10)))
    assert one.against == ""
    assert (one.culprit.comm, one.culprit.unit) == ("agent", None)
    assert (one.tests.dose, one.tests.counterfactual, one.at_most) == ("passed", "passed", "high")


def test_an_innocent_job_beside_a_loop_is_ruled_out_though_their_numbers_would_fit() -> None:
    """Counted once a minute, six zombies come from each start of the job to the next."""
    loop = (
        [event(10 * i + 3, "unit-start", "leaky.service") for i in range(360)],
        [lifecycle("unit", "leaky.service", 360)],
    )
    counts = {at: 1000 + int((at - 3) // 10) for at in BY_MINUTE}
    found = leakers(seen(counts, loop, cron("agent", 60)))
    assert found[0].culprit.unit == "leaky.service"
    assert "nothing shows that zombies come with its starts" in by_name(found)["agent"].against


def test_an_innocent_job_is_not_accused_where_nobody_else_is_known() -> None:
    counts = {at: 1000 + int((at - 3) // 10.8) for at in BY_MINUTE}
    (one,) = leakers(seen(counts, cron("agent", 60)))
    assert one.against


def test_as_many_with_each_start_is_no_more_than_a_suspicion() -> None:
    counts = {at: 1000 + int(at // 60) for at in BY_MINUTE}
    (one,) = leakers(seen(counts, cron("agent", 60)))
    assert (one.against, one.at_most) == ("", "medium")


def test_of_two_jobs_of_the_same_minutes_neither_is_found() -> None:
    counts = {at: one_each_minute(at) for at in EVERY_10}
    found = leakers(seen(counts, cron("agent", 10), cron("probe", 10, 1.5)))
    assert {one.at_most for one in found if not one.against} == {"medium"}


@pytest.mark.parametrize(
    ("each", "agreement", "counterfactual", "said"),
    [
        ([1] * 60, NAN, "untested", "as many"),
        ([2] * 60, NAN, "untested", "as many"),
        ([6] * 60, NAN, "untested", ""),
        ([1, 0] * 30, NAN, "untested", ""),
        ([1] * 30 + [0] * 30, NAN, "untested", ""),
        ([1] * 20, NAN, "untested", ""),
        ([6] * 60, 0.8, "untested", "in step"),
        ([6] * 60, NAN, "passed", "in step"),
    ],
)
def test_in_step(each: list[int], agreement: float, counterfactual: str, said: str) -> None:
    started, gained = np.ones(len(each), np.int64), np.array(each, np.float64)
    assert in_step(started, gained, agreement, counterfactual) == said  # type: ignore[arg-type]


def test_jobs_start_together_in_nearly_all_minutes() -> None:
    minute = 60_000_000_000
    one = np.arange(60, dtype=np.int64) * minute
    assert start_together(one, one + 5)
    assert not start_together(one, one[::2])
