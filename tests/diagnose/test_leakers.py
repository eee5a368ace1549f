"""Who leaves zombies behind: told by when they came, never by a name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exhume.diagnose.leakers import Leaker, leakers
from exhume.diagnose.twins import is_run_by
from exhume.model.answers import EventAnswer
from exhume.model.observation import Observation
from tests.diagnose.made_up import (
    NS,
    T0,
    event,
    lifecycle,
    lives,
    observation,
    series,
    span,
    starts,
    zombies,
)

LEAK = {10.0 * i: 100 + 20 * max(0, i - 10) for i in range(60)}
"""From second 100 on two a second."""


def seen(*names: tuple[str, int, int, int]) -> Observation:
    events = tuple(one for name in names for one in starts(*name))
    units = tuple(lifecycle("unit", name, 20 * (end - begin)) for name, begin, end, _ in names)
    return observation(events=events, lifecycles=units, zombies=zombies(LEAK))


def test_the_one_that_starts_when_they_come_is_it() -> None:
    (one,) = leakers(seen(("x.service", 10, 60, 20)))
    assert one.culprit.unit == "x.service"
    assert one.tests.outcomes() == ("passed", "untested", "passed", "passed")
    assert one.per_start == 1.0
    assert one.against == ""


def test_one_that_was_quiet_while_they_came_is_not() -> None:
    ranked = leakers(seen(("x.service", 10, 60, 20), ("y.service", 10, 20, 20)))
    assert [one.culprit.unit for one in ranked] == ["x.service", "y.service"]
    assert "while it was quiet" in ranked[1].against


def test_one_that_starts_far_more_often_is_not() -> None:
    (one,) = leakers(seen(("probe.service", 10, 60, 2000)))
    assert one.tests.dose == "failed"
    assert "far more often" in one.against


def test_one_whose_own_cgroups_were_let_go_is_not() -> None:
    clean = lifecycle("unit", "x.service", 1000, zombies_per_start=0.0)
    found = observation(
        events=starts("x.service", 10, 60), lifecycles=(clean,), zombies=zombies(LEAK)
    )
    (one,) = leakers(found)
    assert one.tests.dose == "failed"


def test_its_own_name_on_what_is_left_is_the_same_place() -> None:
    leaky = lifecycle("unit", "x.service", 1000, zombies_per_start=1.0)
    found = observation(
        events=starts("x.service", 10, 60), lifecycles=(leaky,), zombies=zombies(LEAK)
    )
    (one,) = leakers(found)
    assert one.tests.outcomes() == ("passed",) * 4


def test_a_unit_and_its_program_are_one_suspect() -> None:
    rows = [(10 * i + 0.5 * k, "agentd", "init") for i in range(10, 60) for k in range(20)]
    both = (
        lifecycle("unit", "x.service", 1000),
        lifecycle("process", "agentd", 1000, "many short jobs", "init"),
    )
    found = observation(
        events=starts("x.service", 10, 60),
        lives=lives(rows),
        lifecycles=both,
        zombies=zombies(LEAK),
    )
    (one,) = leakers(found)
    assert (one.culprit.unit, one.culprit.comm) == ("x.service", "agentd")


def half_heard(**more: Any) -> Leaker:
    """A unit and its program, of which a capture of the first 405 s tells."""
    rows = [(10 * i + 0.5 * k, "agentd", "init") for i in range(10, 40) for k in range(20)]
    process = lifecycle("process", "agentd", 600, "many short jobs", "init")
    given: dict[str, Any] = {
        "events": starts("x.service", 10, 60),
        "lifecycles": (lifecycle("unit", "x.service", 1000), process),
    } | more
    (one,) = leakers(
        observation(lives=lives(rows), sampled=(span(0, 405),), zombies=zombies(LEAK), **given)
    )
    return one


def test_where_a_capture_has_ended_its_programs_were_not_quiet() -> None:
    alone = lifecycle("process", "agentd", 600, "many short jobs", "init")
    one = half_heard(events=(), lifecycles=(alone,))
    assert one.against == ""
    assert one.tests.counterfactual == "passed"
    assert (round(one.per_start, 2), one.gained) == (1.0, 600)


def test_a_unit_and_its_program_are_one_suspect_by_the_units_figures() -> None:
    one = half_heard()
    assert (one.culprit.unit, one.culprit.comm) == ("x.service", "agentd")
    assert (one.lifecycle.kind, one.lifecycle.starts, one.starts) == ("unit", 1000, 980)
    assert round(one.per_start, 2) == 1.0


def test_where_only_the_kernels_count_is_known_that_is_taken() -> None:
    counts = series("memcg.tracked", [value + 12 for value in LEAK.values()], every=10)
    found = observation(
        events=starts("x.service", 10, 60),
        lifecycles=(lifecycle("unit", "x.service", 1000),),
        series=[counts],
    )
    (one,) = leakers(found)
    assert np.isclose(one.per_start, 1.0)


def test_without_any_count_nobody_is() -> None:
    found = observation(
        events=starts("x.service", 10, 60), lifecycles=(lifecycle("unit", "x.service", 1000),)
    )
    assert leakers(found) == ()


def counted(every: float, begin: float, end: float, per_second: float) -> dict[float, int]:
    """Zombies that come steadily, counted that often."""
    times = np.arange(0, 600, every).tolist()
    return {t: round(per_second * (min(max(t, begin), end) - begin)) for t in times}


def test_a_unit_asked_less_often_than_zombies_are_counted_is_not_quiet_in_between() -> None:
    events = tuple(event(10 * i + 3.0, "unit-start", "x.service", count=5) for i in range(11, 59))
    found = observation(
        events=events,
        lifecycles=(lifecycle("unit", "x.service", 240),),
        zombies=zombies(counted(2.0, 104, 590, 0.5)),
    )
    (one,) = leakers(found)
    assert one.against == ""
    assert one.tests.counterfactual == "passed"  # there were none in the 100 s before
    assert round(one.per_start, 1) == 1.0


def test_what_a_start_leaves_may_come_when_it_dies() -> None:
    """Each lives 4 s: what is counted every 2 s comes in another interval than its start."""
    events = tuple(event(20.0 * i, "container-start", "box") for i in range(5, 29))
    counts = {2.0 * i: sum(20.0 * k + 5 < 2 * i for k in range(5, 29)) for i in range(300)}

    def lived(seconds: float) -> str:
        boxes = (lifecycle("container", "box", 24, median_lifetime_seconds=seconds),)
        (one,) = leakers(observation(events=events, lifecycles=boxes, zombies=zombies(counts)))
        return one.tests.counterfactual

    assert lived(4.0) == "passed"
    assert lived(0.1) == "failed"


def test_what_containers_did_since_they_were_last_asked_is_not_known() -> None:
    """All are there from the beginning; of the last eight seconds' starts nobody has told yet."""
    events = tuple(event(float(second), "container-start", "box") for second in range(592))
    boxes = (lifecycle("container", "box", 592, median_lifetime_seconds=0.4),)
    (one,) = leakers(
        observation(events=events, lifecycles=boxes, zombies=zombies(counted(1.0, 0, 600, 2.0)))
    )
    assert one.against == ""
    assert one.tests.counterfactual == "untested"


def test_one_that_started_as_often_while_none_came_is_not() -> None:
    late = {10.0 * i: 40 + 20 * max(0, i - 30) for i in range(60)}
    events = (*starts("x.service", 30, 60), *starts("probe.service", 0, 60))
    units = tuple(lifecycle("unit", name, 600) for name in ("x.service", "probe.service"))
    first, second = leakers(observation(events=events, lifecycles=units, zombies=zombies(late)))
    assert (first.culprit.unit, first.against) == ("x.service", "")
    assert (second.culprit.unit, second.tests.dose) == ("probe.service", "failed")
    assert "of its starts left nothing" in second.against


def test_where_the_kernel_numbers_no_more_cgroups_no_start_is_in_vain() -> None:
    full = {10.0 * i: min(65_000, 60_000 + 400 * i) for i in range(60)}
    (one,) = leakers(
        observation(
            events=starts("x.service", 0, 60, 400),
            lifecycles=(lifecycle("unit", "x.service", 24_000),),
            zombies=zombies(full),
        )
    )
    assert one.against == ""


COUNTS = range(0, 600, 5)
LOOKS = range(0, 600, 30)


def box(every: float, name: str = "box") -> tuple[EventAnswer, ...]:
    """A container that is removed and run anew, as tables of `docker ps -a` show it: at each look
    the latest one, with another id."""
    events = []
    for look in LOOKS[1:]:
        start = look // every * every
        events.append(event(start, "container-start", name, id=f"{name} {start}"))
        events.append(event(look, "container-removed", name, id=f"{name} {start - 30}"))
    return tuple(sorted(events, key=lambda one: one.wall_ns))


def looked(*events: EventAnswer, counts: dict[float, int], **names: int) -> tuple[Leaker, ...]:
    boxes = tuple(
        lifecycle("container", name, n, median_lifetime_seconds=1.0) for name, n in names.items()
    )
    total = series("container.total", [3] * len(LOOKS), every=30)
    order = tuple(sorted(events, key=lambda one: one.wall_ns))
    return leakers(
        observation(events=order, lifecycles=boxes, zombies=zombies(counts), series=[total])
    )


STEADY = {float(at): at // 10 for at in COUNTS}
"""A zombie every 10 s, counted every 5 s."""


def test_nobody_is_quiet_between_two_looks_that_show_different_containers() -> None:
    (one,) = looked(*box(10.0), counts=STEADY, box=19)
    assert (one.against, one.tests.counterfactual) == ("", "untested")
    assert (one.tests.dose, one.misses_starts) == ("passed", True)
    assert round(one.per_start) == 3  # at most: looks saw one of three starts


def test_too_many_for_the_starts_that_looks_saw_speak_against_nobody() -> None:
    (one,) = looked(*box(10.0), counts={at: 2 * int(at) for at in STEADY}, box=19)
    assert one.per_start > 10
    assert (one.misses_starts, one.against, one.at_most) == (True, "", "high")


def test_one_that_two_looks_show_unchanged_was_quiet_between_them() -> None:
    """It ends at second 240 and stays in the list; zombies come on as before."""
    stopped = [e for e in box(30.0, "other") if e.wall_ns <= T0 + 240 * NS]
    stopped.append(event(241, "container-exit", "other", id="other 240.0", exit_code=1))
    first, second = looked(*box(10.0), *stopped, counts=STEADY, box=19, other=8)
    assert (first.culprit.container, first.against) == ("box", "")
    assert second.culprit.container == "other"
    assert "while it was quiet" in second.against


def test_of_one_that_no_look_shows_nothing_is_known() -> None:
    """It is removed: it may have come and gone between two looks."""
    stopped = [e for e in box(30.0, "other") if e.wall_ns <= T0 + 240 * NS]
    stopped.append(event(270, "container-exit", "other", "gone", id="other 240.0"))
    (one,) = looked(*stopped, counts=STEADY, other=8)
    assert (one.against, one.tests.counterfactual) == ("", "untested")


def test_looks_that_count_starts_tell_when_a_unit_was_quiet() -> None:
    """Looks every 30 s, of which the first ten read another count of restarts each."""
    events = tuple(
        event(at, "unit-start", "x.service", count=3, sub_state="auto-restart")
        for at in LOOKS[1:11]
    )
    total = series("unit.restarts", [3 * min(n, 10) for n in range(20)], "x.service", every=30)
    units = (lifecycle("unit", "x.service", 30),)

    def weighed(counts: dict[float, int]) -> Leaker:
        (one,) = leakers(
            observation(events=events, lifecycles=units, zombies=zombies(counts), series=[total])
        )
        return one

    one = weighed({at: min(many, 30) for at, many in STEADY.items()})
    assert (one.against, one.tests.counterfactual) == ("", "passed")
    assert (round(one.per_start, 1), one.misses_starts) == (1.0, False)
    assert "while it was quiet" in weighed(STEADY).against


def test_states_of_a_unit_do_not_tell_that_it_was_quiet() -> None:
    """`systemctl list-units` every 120 s: running at each look, or waiting for its restart."""
    events = tuple(
        event(120.0 * n, "unit-start", "x.service", sub_state="running")
        if n % 2
        else event(120.0 * n, "unit-waiting", "x.service", sub_state="auto-restart")
        for n in range(1, 30)
    )
    counts = {float(at): at // 10 for at in range(0, 3600, 5)}
    active = series("unit.active", [n % 2 for n in range(30)], "x.service", every=120)
    units = (lifecycle("unit", "x.service", 15),)
    (one,) = leakers(
        observation(events=events, lifecycles=units, zombies=zombies(counts), series=[active])
    )
    assert one.against == ""
    assert (one.tests.counterfactual, one.tests.dose) == ("untested", "untested")


def late_log(*others: EventAnswer) -> Leaker:
    """It starts all the while, and its log begins in the second half."""
    steady = {10.0 * i: 100 + 20 * i for i in range(60)}
    (one,) = leakers(
        observation(
            events=tuple(sorted((*others, *starts("x", 40, 60)), key=lambda e: e.wall_ns)),
            lifecycles=(lifecycle("unit", "x", 400),),
            zombies=zombies(steady),
        )
    )
    return one


def test_before_a_log_begins_nobody_was_quiet() -> None:
    one = late_log()
    assert (one.against, one.tests.order, one.tests.counterfactual) == ("", "untested", "untested")
    told = late_log(event(5, "unit-start", "other"))
    assert told.against == "most zombies were there before it first started"


@pytest.mark.parametrize("seen_to_start", [6, 2, 0])
def test_a_unit_of_which_only_states_are_known_and_its_container_are_one_suspect(
    seen_to_start: int,
) -> None:
    looks = [30.0 * i for i in range(20)]
    events = [
        *(event(at, "container-start", "ecs-agent", id=str(at)) for at in looks),
        *(event(at, "container-exit", "ecs-agent", "gone", id=str(at - 30)) for at in looks[1:]),
        *(
            event(at, "unit-start", "ecs.service", sub_state="running")
            for at in looks[2::3][:seen_to_start]
        ),
    ]
    found = observation(
        events=tuple(sorted(events, key=lambda e: e.wall_ns)),
        lifecycles=(
            lifecycle("container", "ecs-agent", 20),
            lifecycle("unit", "ecs.service", seen_to_start),
            lifecycle("unit", "node-exporter.service", 6),
        ),
        zombies=zombies({10.0 * i: 100 + 10 * i for i in range(60)}),
        series=[
            series("container.total", [3] * 20, every=30.0),
            series("unit.active", [1] * 20, "ecs.service", every=30.0),
        ],
    )
    (one,) = leakers(found)
    assert (one.culprit.unit, one.culprit.container) == ("ecs.service", "ecs-agent")
    assert one.lifecycle.kind == "container", "whose starts were seen"


@pytest.mark.parametrize(
    ("unit", "container", "is_one"),
    [
        ("ecs.service", "ecs-agent", True),
        ("beacon.service", "beacon", True),
        ("log-shipper.service", "kube-system/log-shipper-x8k2p/log-shipper", True),
        ("node-exporter.service", "node-problem-detector", False),
        ("echo.service", "ecs-agent", False),
    ],
)
def test_a_unit_runs_the_container_of_its_name(unit: str, container: str, is_one: bool) -> None:
    found = is_run_by(lifecycle("container", container, 20), lifecycle("unit", unit, 6))
    assert found == is_one
