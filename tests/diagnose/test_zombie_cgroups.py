"""The story itself: a loop leaks, a daemon walks, a neighbour waits."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple, replace

from exhume.derive.case_words import parties
from exhume.diagnose.hypotheses import HYPOTHESES
from exhume.diagnose.judge import case_of
from exhume.diagnose.scene import Scene
from exhume.model.case import Case
from tests.diagnose.made_up import (
    at,
    event,
    hold,
    lifecycle,
    lives,
    observation,
    occupant,
    process,
    scene,
    series,
    symptom,
    zombies,
)

WALK = {"ksys_read": 1.0, "memcg_numa_stat_show": 1.0, "cpumask_next": 0.9}
STARTS = tuple(event(10 * i + 5, "unit-start", "leaky.service", count=40) for i in range(3, 60))
COUNTS = {10.0 * i: 40 * max(0, i - 3) for i in range(60)}


def holds(victim: str = "victim") -> list[tuple[float, float]]:
    """A read every 40 s that takes 1.5 ms for each zombie."""
    return [(40.0 * i, 1.5e-3 * COUNTS[40.0 * i]) for i in range(2, 15)]


def story(**more: Any) -> Scene:
    like = [symptom(start, length) for start, length in holds() if length > 0.5]
    given: dict[str, Any] = {
        "events": STARTS,
        "lifecycles": (lifecycle("unit", "leaky.service", 2280, zombies_per_start=1.0),),
        "zombies": zombies(COUNTS),
        "holds": tuple(hold(start, length) for start, length in holds() if length > 0.5),
        "processes": (process("busy", 500.0), process("payer", 20.0, pid=77)),
    } | more
    seen = observation(**given)
    like.sort(key=lambda one: -one.window.seconds)
    return scene(seen, like, [occupant("payer", 0.99, WALK)])


def judged(one: Scene) -> Case:
    suspicions = [found for hypothesis in HYPOTHESES for found in hypothesis(one)]
    return case_of(one.seen, one, suspicions, (), (), ())


def test_the_loop_is_found_and_payer_and_victim_are_told_apart() -> None:
    case = judged(story())
    assert (case.verdict.status, case.verdict.confidence) == ("found", "high")
    cause = case.verdict.root_cause
    assert cause is not None
    assert (cause.kind, cause.culprit.unit) == ("zombie-cgroups", "leaky.service")
    assert cause.details["payer"]["comm"] == "payer"  # type: ignore[index]
    assert cause.details["victim"]["comm"] == "victim"  # type: ignore[index]
    assert cause.details["stall_seconds_per_zombie"] == pytest.approx(1.5e-3, rel=0.1)
    assert [link.role for link in case.chain] == [
        "symptom", "mechanism", "mechanism", "root_cause",
    ]  # fmt: skip


def test_a_job_of_cron_that_leaks_is_named_with_where_its_line_is_and_how_to_undo_it() -> None:
    starts = tuple(
        event(40 * i + 5, "unit-start", "agent", count=160, by="cron") for i in range(15)
    )
    counts = {10.0 * i: 160 * ((10 * i + 30) // 40) for i in range(60)}
    own = lifecycle("unit", "agent", 2400, "scheduled", "cron")
    case = judged(story(events=starts, lifecycles=(own,), zombies=zombies(counts)))
    cause = case.verdict.root_cause
    assert cause is not None
    assert (cause.kind, cause.culprit.comm, cause.culprit.unit) == ("zombie-cgroups", "agent", None)
    assert "grep -rnF agent /etc/crontab" in case.actions.now[0]
    assert case.actions.undo == ("take the # away again",)
    assert not any("systemctl" in one or "supervisorctl" in one for one in case.actions.now)


def test_where_zombies_become_fewer_who_walks_them_is_not_the_one_to_stop() -> None:
    falling = {at: 9000 - count // 4 for at, count in COUNTS.items()}
    case = judged(
        story(zombies=zombies(falling), lifecycles=(lifecycle("unit", "leaky.service", 2280),))
    )
    assert case.verdict.root_cause is None or case.verdict.root_cause.culprit.name != "payer"


def test_an_innocent_job_of_cron_beside_the_loop_is_ruled_out() -> None:
    cron = tuple(event(60 * i + 1, "unit-start", "agent", by="cron") for i in range(10))
    own = lifecycle("unit", "leaky.service", 2280, zombies_per_start=1.0)
    job = lifecycle("unit", "agent", 10, "scheduled", "cron")
    case = judged(story(events=(*STARTS, *cron), lifecycles=(own, job)))
    assert case.verdict.root_cause is not None
    assert case.verdict.root_cause.culprit.unit == "leaky.service"
    assert "agent" in [one.culprit.comm for one in case.rejected]
    assert "crash-loop" not in [one.kind for one in case.suspects]


def test_starts_are_told_as_units_tells_them_and_those_between_counts_beside() -> None:
    own = lifecycle("unit", "leaky.service", 2300, zombies_per_start=1.0)
    case = judged(story(lifecycles=(own,)))
    assert case.verdict.root_cause is not None
    assert case.verdict.root_cause.details["starts"] == 2300
    assert case.chain[-1].claim.startswith("leaky.service was started 2,300 times, ")
    assert case.chain[-1].claim.endswith("with each of the 2,240 starts between two counts")


def test_starts_are_those_of_all_that_the_command_beside_them_shows() -> None:
    """Lifecycles are those of the stretch around the harm, and fewer."""
    own = lifecycle("unit", "leaky.service", 400, zombies_per_start=1.0)
    case = judged(story(lifecycles=(own,)))
    assert case.chain[-1].claim.startswith("leaky.service was started 2,280 times, ")


def test_starts_of_a_bare_process_are_shown_where_they_were_read() -> None:
    rows = [(10 * i + 0.25 * k, "agentd", "keeper") for i in range(3, 59) for k in range(40)]
    loop = lifecycle("process", "agentd", 2240, "loop", "keeper")
    case = judged(story(events=(), lives=lives(rows), lifecycles=(loop,)))
    (proof,) = (one for one in case.evidence if one.check.startswith("exhume units"))
    assert (proof.window.start_ns, proof.window.end_ns) == (at(30), at(589.75) + 1)


def test_a_function_known_by_the_kernels_own_trace_is_said_to_be() -> None:
    made = story()
    told = scene(made.seen, made.like, [occupant("payer", 0.99, WALK, is_told=True)])
    case = judged(told)
    assert case.verdict.root_cause is not None
    assert case.verdict.root_cause.culprit.unit == "leaky.service"
    (trace,) = [one for one in case.evidence if "own trace" in one.claim]
    assert trace.check.startswith("exhume events ")
    assert not any("payer's samples have" in one.claim for one in case.evidence)


def test_the_payer_itself_is_no_more_than_suspected() -> None:
    case = judged(story())
    assert "payer" not in {one.culprit.comm for one in case.suspects}
    payers = [one for one in case.rejected if one.culprit.comm == "payer"]
    assert any("it only pays for" in one.reason for one in payers)
    assert {one.confidence for one in payers} <= {"medium", "low"}


def test_whoever_is_merely_busiest_is_rejected_by_place() -> None:
    case = judged(story())
    reasons = {one.culprit.comm: one.reason for one in case.rejected}
    assert "not in the same place" in reasons["busy"]


def test_another_name_changes_nothing() -> None:
    renamed = tuple(event(10 * i + 5, "unit-start", "zz9.service", count=40) for i in range(3, 60))
    lives = (lifecycle("unit", "zz9.service", 2280, zombies_per_start=1.0),)
    cause = judged(story(events=renamed, lifecycles=lives)).verdict.root_cause
    assert cause is not None
    assert cause.culprit.unit == "zz9.service"


def test_where_living_cgroups_were_not_counted_the_zombies_are_no_more_than_all() -> None:
    """The kernel's own count has both."""
    tracked = series("memcg.tracked", [value + 30 for value in COUNTS.values()], every=10)
    case = judged(story(zombies=None, series=[tracked]))
    cause = case.verdict.root_cause
    assert cause is not None
    assert cause.culprit.unit == "leaky.service"
    assert cause.details["zombies_at_most"] == 2163
    assert "zombies" not in cause.details
    assert "payer walks at most 2,163 of them" in case.verdict.summary
    assert "and at most 1.00 zombies came with each " in case.chain[-1].claim
    claims = [one.claim for one in case.evidence]
    assert any(claim.startswith("at most 2,163 zombie cgroups") for claim in claims)


@pytest.mark.parametrize(
    ("function", "kernel", "said"),
    [
        (
            "memcg_numa_stat_show",
            "5.4.0",
            "(reading v1's memory.numa_stat of an ancestor; on Linux 5.4.0 that lets nobody else "
            "run meanwhile)",
        ),
        ("memcg_numa_stat_show", "", "(reading v1's memory.numa_stat of an ancestor)"),
        ("cgroup_rstat_flush_locked", "5.4.0", "(bringing the statistics of cgroups up to date)"),
        ("mem_cgroup_iter", "5.4.0", "in mem_cgroup_iter"),
    ],
)
def test_what_walks_is_told_by_the_function_that_was_seen(
    function: str, kernel: str, said: str
) -> None:
    made = story(kernel=kernel)
    case = judged(scene(made.seen, made.like, [occupant("payer", 0.99, {function: 1.0})]))
    assert case.chain[2].claim.endswith(said)
    by_file = "memory.numa_stat" in " ".join(case.actions.for_good)
    assert by_file is (function == "memcg_numa_stat_show")


def test_with_few_zombies_walking_them_is_no_cause() -> None:
    few = zombies({10.0 * i: 30 for i in range(60)})
    case = judged(story(zombies=few, events=(), lifecycles=()))
    assert all(one.kind != "zombie-cgroups" for one in case.suspects)
    reasons = [one.reason for one in case.rejected if one.kind == "zombie-cgroups"]
    assert any("only 30 zombies" in reason for reason in reasons)


def test_without_the_loop_the_cause_is_open_and_says_what_to_record() -> None:
    case = judged(story(events=(), lifecycles=()))
    assert case.verdict.status != "found"
    first = case.suspects[0]
    assert (first.kind, first.culprit.unit) == ("zombie-cgroups", None)
    assert any("tracefs" in gap for gap in case.gaps)


def test_where_nobody_is_known_it_is_said_how_to_find_them() -> None:
    case = judged(story(events=(), lifecycles=()))
    assert case.verdict.root_cause is not None
    assert ("culprit", "not known yet") in list(parties(case))
    lines = " ".join(line for part in astuple(case.actions) for line in part)
    assert "unknown" not in lines
    assert "exhume zombies --last 10m" in case.actions.now[0]
    assert "NRestarts" in case.actions.now[1]
    assert case.actions.undo == ()


def test_what_another_supervisor_runs_is_not_stopped_with_systemctl() -> None:
    starts = tuple(replace(one, subject="gauge") for one in STARTS)
    case = judged(story(events=starts, lifecycles=(lifecycle("unit", "gauge", 2280),)))
    lines = " ".join(line for part in astuple(case.actions) for line in part)
    assert case.verdict.root_cause is not None
    assert case.verdict.root_cause.culprit.unit == "gauge"
    assert "supervisorctl stop gauge" in lines
    assert "systemctl" not in lines


def test_of_a_container_it_is_said_how_to_find_what_starts_it() -> None:
    starts = tuple(replace(one, kind="container-start", subject="box") for one in STARTS)
    box = lifecycle("container", "box", 2280, zombies_per_start=1.0)
    case = judged(story(events=starts, lifecycles=(box,)))
    find, stop = case.actions.now[:2]
    assert "docker inspect -f '{{.HostConfig.RestartPolicy.Name}}' box" in find
    assert stop == "stop that, and then docker stop box"


def test_of_a_bare_process_the_one_is_named_who_starts_it() -> None:
    rows = [(10 * i + 0.25 * k, "agentd", "keeper") for i in range(3, 60) for k in range(40)]
    loop = lifecycle("process", "agentd", 2280, "loop", "keeper")
    case = judged(story(events=(), lives=lives(rows), lifecycles=(loop,)))
    assert case.verdict.root_cause is not None
    assert case.actions.now[0] == "stop keeper, which starts agentd again and again"


@pytest.mark.parametrize(
    ("parent", "tool"),
    [("systemd", "systemctl list-units"), ("init", "NRestarts"), ("containerd-shim", "crictl ps")],
)
def test_who_starts_everything_on_a_node_is_not_to_be_stopped(parent: str, tool: str) -> None:
    rows = [(10 * i + 0.25 * k, "sh", parent) for i in range(3, 60) for k in range(40)]
    loop = lifecycle("process", "sh", 2280, "loop", parent)
    case = judged(story(events=(), lives=lives(rows), lifecycles=(loop,)))
    assert case.verdict.root_cause is not None
    assert tool in case.actions.now[0]
    lines = " ".join(line for part in astuple(case.actions) for line in part)
    assert f"stop {parent}" not in lines
    assert "repair sh" not in lines


def test_a_loop_of_even_pace_beside_far_too_many_zombies_is_not_accused() -> None:
    """The log of one supervisor tells of one loop; who leaves 40 a start may be in none."""
    starts = tuple(event(10.0 * i + 5, "unit-start", "push.service") for i in range(60))
    case = judged(story(events=starts, lifecycles=(lifecycle("unit", "push.service", 60),)))
    assert case.verdict.root_cause is not None
    assert case.verdict.root_cause.culprit.unit is None
    assert ("push.service", "low") in [(one.culprit.name, one.confidence) for one in case.suspects]


def test_a_walk_is_as_long_as_it_was_on_the_core() -> None:
    """Others had more and more turns the fewer zombies there were: the clock shows no dose."""
    walks = [(start, length) for start, length in holds() if length > 0.5]
    shared = tuple(
        hold(start, length + 0.5 * (len(walks) - i), is_alone=False, core_ns=round(length * 1e9))
        for i, (start, length) in enumerate(walks)
    )
    like = [
        symptom(start, one.window.seconds, "payer", kind="held-thread", source="samples")
        for (start, _), one in zip(walks, shared, strict=True)
    ]
    seen = story(holds=shared).seen
    case = judged(scene(seen, like, [occupant("payer", 0.3, WALK)]))
    cause = case.verdict.root_cause
    assert cause is not None
    assert cause.culprit.unit == "leaky.service"
    assert cause.details["stall_seconds_per_zombie"] == pytest.approx(1.5e-3, rel=0.1)
    assert cause.details["wall_seconds_per_zombie"] > 2e-3  # type: ignore[operator]
    walk = next(link for link in case.chain if "was walking" in link.claim)
    assert walk.tests.dose == "passed"


def test_where_it_was_alone_one_figure_is_enough() -> None:
    cause = judged(story()).verdict.root_cause
    assert cause is not None
    assert "wall_seconds_per_zombie" not in cause.details


def test_the_answer_is_the_same_each_time() -> None:
    assert judged(story()) == judged(story())
