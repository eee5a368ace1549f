"""A job's failure and the harm to its node before it."""

from __future__ import annotations

from msgspec.structs import replace

from exhume.diagnose.followed import following, harm_before
from exhume.diagnose.judge import case_of
from exhume.diagnose.scene import Proof, Step, Suspicion
from exhume.model import case as model
from exhume.model.case import Party, Symptom
from tests.diagnose.made_up import observation, scene, span, symptom

RESETS = (1000.0, 3250.0, 5470.0)
NIGHT = span(0, 7200)


def told(start: float, kind: str, victim: str, source: str = "kernel log") -> Symptom:
    return replace(symptom(start, 1, kind=kind), victim=Party(comm=victim), source=source)


def failures(*seconds: float) -> tuple[Symptom, ...]:
    return tuple(told(at, "job-failure", "train", "job log") for at in seconds)


def resets(*seconds: float, queue: int = 5) -> tuple[Symptom, ...]:
    return tuple(told(at, "network-reset", f"eth0 queue {queue}") for at in seconds)


def test_failures_that_follow_resets_are_linked_to_them() -> None:
    (before,) = harm_before(failures(*(at + 6 for at in RESETS)), [resets(*RESETS)], NIGHT)
    assert before.group == resets(*RESETS)
    assert before.link.claim.startswith("3 of 3 failures came 6 s after a network-reset")
    assert before.link.tests == model.Tests(order="passed", counterfactual="passed")
    (proof,) = before.link.proofs
    assert proof.figures["met_percent"] == 100.0


def test_resets_of_several_queues_are_one_cause_and_the_commonest_is_explained_first() -> None:
    groups = [resets(3250, queue=3), resets(1000, 5470, queue=5), resets(7000, queue=9)]
    found = harm_before(failures(*(at + 6 for at in RESETS)), groups, NIGHT)
    assert [one.group for one in found] == [groups[1], groups[0]]


def test_what_comes_later_or_long_before_or_is_no_kernel_line_is_no_cause() -> None:
    job = failures(200)
    assert harm_before(job, [resets(210)], NIGHT) == ()
    assert harm_before(job, [resets(100)], NIGHT) == ()
    waits = (told(195, "starved-thread", "x", "run delay"),)
    assert harm_before(job, [waits], NIGHT) == ()
    assert harm_before(resets(200), [resets(195)], NIGHT) == ()


def test_one_reset_does_not_explain_many_failures() -> None:
    assert harm_before(failures(100, 200, 300, 400), [resets(95)], NIGHT) == ()


def test_one_failure_is_linked_but_proves_no_counterfactual() -> None:
    (before,) = harm_before(failures(106), [resets(100)], NIGHT)
    assert before.link.tests == model.Tests(order="passed", counterfactual="untested")


def test_many_lines_of_one_failure_are_one() -> None:
    burst = failures(1006, 1007, 1010, 1030)
    (before,) = harm_before(burst, [resets(1000)], NIGHT)
    assert before.link.tests.counterfactual == "untested"
    assert before.link.claim.startswith("it came 6 s after")


def test_what_explains_the_reset_explains_the_failure_no_surer_than_the_link() -> None:
    proof = Proof("samples", "it had the core", {}, span(994, 1000), "exhume top")
    step = Step(
        "it had the core",
        "root_cause",
        model.Tests("passed", "passed", "passed", "passed"),
        (proof,),
    )
    one = Suspicion("kernel-hog", Party(comm="walker"), "walker keeps eth0 waiting", (step,), 1)
    for seconds, status in ((RESETS, "found"), (RESETS[:1], "suspected")):
        job = failures(*(at + 6 for at in seconds))
        (before,) = harm_before(job, [resets(*seconds)], NIGHT)
        made = scene(observation(), job)
        case = case_of(made.seen, made, list(following([one], before, job[0])), (), (), ())
        assert case.verdict.status == status
        assert case.verdict.root_cause is not None
        assert case.verdict.root_cause.culprit.comm == "walker"
        assert case.verdict.root_cause.details["job"] == "train"
        assert [link.role for link in case.chain] == ["symptom", "mechanism", "root_cause"]


def test_what_is_said_is_of_the_reset_before_the_failure_in_question() -> None:
    """The worst reset comes first in its group, and may be hours from the failure asked for."""
    worst_first = resets(5470, 1000, 3250)
    job = failures(*(at + 6 for at in (3250.0, 1000.0, 5470.0)))
    (before,) = harm_before(job, [worst_first], NIGHT)
    assert before.group == resets(3250, 5470, 1000)
    (proof,) = before.link.proofs
    assert proof.window.start_ns == before.group[0].window.start_ns
    assert proof.window.end_ns == job[0].wall_ns
