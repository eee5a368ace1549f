"""What the count of zombies gained, and what only seemed to come."""

from __future__ import annotations

import numpy as np

from exhume.diagnose.gains import Gains, gains_of, risen_of
from exhume.diagnose.leakers import Leaker, leakers
from exhume.model.answers import EventAnswer
from tests.diagnose.made_up import event, lifecycle, observation, zombies

WOBBLE = (0, 3, -2, 4, 1, -3, 2, 0, 3, -1)
"""Living cgroups are counted a moment after all."""


def test_a_small_fall_is_made_up_for_before_anything_has_come() -> None:
    assert risen_of(np.array([4.0, -3, 2, 6])).tolist() == [4, 0, 0, 5]
    assert risen_of(np.array([4.0, -300, 20])).tolist() == [4, 0, 20], "many were freed"


def gains(counts: dict[float, int]) -> Gains:
    found = gains_of(observation(zombies=zombies(counts)))
    assert found is not None
    return found


def test_how_far_off_a_count_is_shows_in_small_falls() -> None:
    assert gains({10.0 * i: 500 + WOBBLE[i % 10] for i in range(60)}).wobble > 1
    assert gains({10.0 * i: 500 + 9 * i for i in range(60)}).wobble == 0


def loops(counts: dict[float, int], **pace: tuple[int, int]) -> dict[str, Leaker]:
    """By unit: started from when on, and every how many seconds."""
    events: list[EventAnswer] = []
    for name, (begin, every) in pace.items():
        events += [event(at, "unit-start", name) for at in range(begin, 600, every)]
    units = tuple(lifecycle("unit", name, 600 // every) for name, (_, every) in pace.items())
    found = leakers(observation(events=tuple(events), lifecycles=units, zombies=zombies(counts)))
    return {str(one.culprit.unit): one for one in found}


def test_a_loop_during_which_the_count_stood_still_leaves_nothing() -> None:
    still = {10.0 * i: 500 + WOBBLE[i % 10] for i in range(60)}
    one = loops(still, loop=(5, 5))["loop"]
    assert "stood still over 11" in one.against
    assert loops(still, loop=(5, 50))["loop"].against == "", "eleven starts may leave two"
    falling = {10.0 * i: 5000 - 60 * i for i in range(60)}
    assert loops(falling, loop=(5, 5))["loop"].against == "", "as many may have come as it had"
    full = {at: 65_000 + count for at, count in still.items()}
    assert loops(full, loop=(5, 5))["loop"].against == "", "the kernel has no more numbers"


def test_where_too_few_came_for_a_loop_it_is_hardly_a_suspect() -> None:
    still = {10.0 * i: 500 + WOBBLE[i % 10] for i in range(60)}
    one = loops(still, loop=(5, 8))["loop"]
    assert (one.against, one.at_most) == ("", "low")


def test_a_likely_ratio_alone_makes_a_suspect_and_no_culprit() -> None:
    unseen = {10.0 * i: 500 + i for i in range(60)}
    assert loops(unseen, clean=(2, 7))["clean"].at_most == "medium"
    assert loops(unseen, leaky=(2, 10))["leaky"].at_most == "high", "one with each start"


def test_of_two_that_start_alike_it_may_be_either() -> None:
    counts = {10.0 * i: 500 + i for i in range(60)}
    found = loops(counts, one=(2, 10), other=(3, 10), slow=(4, 50))
    assert [found[name].at_most for name in ("one", "other")] == ["medium", "medium"]


def test_what_comes_with_another_one_of_less_pace_is_that_ones() -> None:
    counts = {10.0 * i: 500 + 60 * ((i + 4) // 10) + WOBBLE[i % 10] for i in range(60)}
    found = loops(counts, loop=(5, 10), other=(55, 100))
    assert "its starts left nothing" in found["loop"].against
    assert found["other"].against == ""
    assert next(iter(found)) == "other"
