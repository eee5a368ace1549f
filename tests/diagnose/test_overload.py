"""More is ready to run than there are cores, and somebody is late."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from exhume.diagnose.hypotheses import HYPOTHESES
from exhume.diagnose.judge import case_of
from exhume.diagnose.scene import Crowding
from exhume.model.case import Case, Outcome
from exhume.model.occupancy import Occupant
from tests.diagnose.made_up import load, observation, occupant, scene, series, symptom

TIMES = [(60.0 * i, 4.0) for i in range(1, 9)]
THEN = {second for start, length in TIMES for second in range(int(start), int(start + length))}
USER, SYSTEM = 0, 1


def case(
    crowds: Sequence[Crowding] = (),
    *,
    during: Sequence[Occupant] = (),
    core: int | None = None,
    threads: int = 60,
    full: Sequence[int] = range(8),
    kind: str = "job-failure",
    place: Outcome = "passed",
    otherwise: int = 10,
    text: str = "health check timed out",
    counted: int = 600,
) -> Case:
    """Of 8 cores those are full while somebody is late, and so many threads are ready; `otherwise`:
    percent while nobody is; `counted`: for so long it was looked who is ready."""
    percent = {
        one: [100 if one in full and second in THEN else otherwise for second in range(600)]
        for one in range(8)
    }
    ready = series("system.running", [threads if s in THEN else 3 for s in range(counted)])
    seen = observation(load=load(percent, USER), series=[ready])
    like = [symptom(start, length, kind=kind, text=text) for start, length in TIMES]
    made = replace(scene(seen, like, during, core, place), crowds=tuple(crowds))
    found = [one for hypothesis in HYPOTHESES for one in hypothesis(made)]
    return case_of(seen, made, found, (), (), ())


WORKERS = Crowding("cc1plus", 0.9, 0.05, 60)


def test_a_crowd_that_fills_all_cores_is_named_and_no_single_one_of_it() -> None:
    told = case([WORKERS])
    cause = told.verdict.root_cause
    assert cause is not None
    assert (told.verdict.confidence, cause.kind) == ("high", "userspace-hog")
    assert (cause.culprit.comm, cause.culprit.pid, cause.details["processes"]) == (
        "cc1plus", None, 60,
    )  # fmt: skip
    assert "60 processes of cc1plus take 90 % of all 8 cores" in told.verdict.summary
    assert not [line for line in told.actions.now if "taskset" in line]


def test_threads_of_one_process_crowd_as_well() -> None:
    told = case([Crowding("trainer", 0.8, 0.1, 1)])
    assert told.verdict.summary.startswith("trainer takes 80 % of all 8 cores")


@pytest.mark.parametrize("usual", [0.8, None])
def test_whoever_takes_as_much_at_other_times_is_less_sure(usual: float | None) -> None:
    assert case([replace(WORKERS, usual=usual)]).verdict.confidence == "medium"


@pytest.mark.parametrize(("kind", "sure"), [("job-failure", "low"), ("starved-thread", "medium")])
def test_who_fills_the_cores_all_day_is_suspected_only_where_somebody_was_seen_to_wait(
    kind: str, sure: str
) -> None:
    told = case([replace(WORKERS, usual=0.9)], otherwise=96, kind=kind)
    assert told.verdict.confidence == sure
    assert ("so it is for 100 % of the time that nobody" in told.verdict.summary) == (sure == "low")


def test_what_ended_by_itself_and_what_interrupts_serve_was_not_kept_waiting_by_a_crowd() -> None:
    assert case([WORKERS], text="command failed with exit code 1").verdict.confidence == "low"
    assert case([WORKERS], kind="network-reset").verdict.confidence == "low"


def test_where_nobody_stands_out_it_is_the_mechanism_alone() -> None:
    told = case([Crowding(f"job{i}", 0.1, 0.0, 6) for i in range(9)])
    assert (told.verdict.status, told.verdict.root_cause) == ("unknown", None)
    assert "all 8 cores are full with 60 threads" in told.verdict.summary


def test_where_nobody_counted_the_queue_meanwhile_the_samples_tell() -> None:
    told = case([WORKERS], counted=30)
    cause = told.verdict.root_cause
    assert cause is not None
    assert cause.culprit.comm == "cc1plus"
    assert case(counted=30).suspects == ()


@pytest.mark.parametrize(
    "more",
    [
        {"threads": 9},  # as many as there are cores: each has its own
        {"full": range(7)},
        {"kind": "out-of-memory"},
    ],
)
def test_full_cores_without_a_queue_make_nobody_late(more: dict[str, object]) -> None:
    assert case([WORKERS], **more).suspects == ()  # type: ignore[arg-type]


def many(count: int, samples: int = 9) -> list[Occupant]:
    return [
        occupant("blob", 0.96 / count, user_share=1.0, pid=100 + i, samples=samples)
        for i in range(count)
    ]


def test_processes_of_one_name_that_crowd_on_the_victims_core_are_named() -> None:
    told = case(during=many(30), core=1, full=(1,))
    assert told.verdict.root_cause is not None
    assert told.verdict.root_cause.culprit.comm == "blob"
    assert "30 processes of blob take 96 % of CPU 1" in told.verdict.summary
    assert case(during=many(30), core=1, full=(1,), place="untested").suspects == ()


def test_a_crowd_that_walks_dead_cgroups_is_not_at_fault() -> None:
    walking = [
        replace(one, frames={"memcg_numa_stat_show": 1.0}, user_share=0.0) for one in many(9)
    ]
    told = case(during=walking, core=1, full=(1,))
    assert (told.verdict.root_cause, told.verdict.confidence) == (None, "low")


@pytest.mark.parametrize("those", [many(3), many(30, samples=1)])
def test_a_few_and_those_that_follow_each_other_are_no_crowd(those: list[Occupant]) -> None:
    assert case(during=those, core=1, full=(1,)).suspects == ()
