"""Grades, ranks, and what can't be said without evidence."""

from __future__ import annotations

import pytest

from exhume.diagnose.judge import case_of, grade, merged
from exhume.diagnose.scene import Proof, Step, Suspicion
from exhume.model import case as model
from exhume.model.case import Confidence, Outcome, Party
from tests.diagnose.made_up import WINDOW, observation, scene, symptom

PASSED: tuple[Outcome, ...] = ("passed",) * 4


def proof(signal: str) -> Proof:
    return Proof(signal, f"{signal} says so", {}, WINDOW, "exhume top")


def suspicion(
    *tests: tuple[Outcome, ...],
    kind: str = "kernel-hog",
    name: str = "x",
    depth: int = 1,
    signals: tuple[str, ...] = ("samples", "counters"),
    at_most: Confidence = "high",
    contradiction: str = "",
    payer: Party | None = None,
) -> Suspicion:
    steps = tuple(
        Step("it did", "mechanism", model.Tests(*t), tuple(map(proof, signals))) for t in tests
    )
    return Suspicion(
        kind, Party(comm=name), f"{name} did it", steps, depth, at_most=at_most,
        contradiction=contradiction, payer=payer,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tests", "confidence"),
    [
        ([PASSED], "high"),
        ([PASSED, ("passed", "passed", "untested", "untested")], "high"),
        ([PASSED, ("passed", "untested", "untested", "untested")], "medium"),
        ([("passed", "passed", "untested", "untested")], "medium"),
        ([("passed", "untested", "untested", "untested")], "low"),
        ([("untested",) * 4], "low"),
    ],
)
def test_the_grade_is_what_the_tests_say(tests: list[tuple[Outcome, ...]], confidence: str) -> None:
    assert grade(suspicion(*tests)) == confidence


def test_one_kind_of_signal_is_not_enough_for_anybody() -> None:
    assert grade(suspicion(PASSED, signals=("samples",))) == "low"


def test_who_is_likely_to_pay_only_is_never_found() -> None:
    assert grade(suspicion(PASSED, at_most="medium")) == "medium"


def test_a_chain_fails_where_any_link_does() -> None:
    failed: tuple[Outcome, ...] = ("passed", "failed", "passed", "untested")
    steps = suspicion(PASSED, failed).steps
    assert merged(steps).outcomes() == ("passed", "failed", "passed", "passed")


def test_what_is_contradicted_is_rejected_with_the_reason() -> None:
    seen = observation()
    case = case_of(
        seen, scene(seen, [symptom(10, 5)]),
        [suspicion(PASSED, contradiction="it was not there"),
         suspicion(("passed", "failed", "passed", "passed"), name="y")],
        (), (), (),
    )  # fmt: skip
    assert case.verdict.status == "unknown"
    assert case.verdict.root_cause is None
    assert case.suspects == ()
    assert case.rejected[0].reason == "it was not there"
    assert "place" in case.rejected[1].reason


def test_of_two_that_fit_the_one_further_up_the_chain_wins() -> None:
    seen = observation()
    case = case_of(
        seen, scene(seen, [symptom(10, 5)]),
        [suspicion(PASSED, depth=1), suspicion(PASSED, name="far", kind="zombie-cgroups", depth=3)],
        (), (), (),
    )  # fmt: skip
    assert case.verdict.root_cause is not None
    assert case.verdict.root_cause.culprit.comm == "far"
    assert [one.culprit.comm for one in case.suspects] == ["far", "x"]


@pytest.mark.parametrize(
    ("tests", "payer", "remain"),
    [
        (PASSED, Party(comm="x"), ["far"]),
        (PASSED, Party(comm="x", pid=7), ["far"]),
        (PASSED, Party(comm="y"), ["far", "x"]),
        (PASSED, None, ["far", "x"]),
        (("passed", "passed", "untested", "untested"), Party(comm="x"), ["x", "far"]),
    ],
)
def test_the_payer_of_what_is_found_is_no_suspect_beside_it(
    tests: tuple[Outcome, ...], payer: Party | None, remain: list[str]
) -> None:
    seen = observation()
    far = suspicion(tests, name="far", kind="zombie-cgroups", depth=3, payer=payer)
    near = suspicion(PASSED, depth=1)
    case = case_of(seen, scene(seen, [symptom(10, 5)]), [near, far], (), (), ())
    assert [one.culprit.comm for one in case.suspects] == remain
    told = [(one.culprit.comm, one.reason) for one in case.rejected]
    is_paying = "x" not in remain
    assert told == [("x", "it only pays for far: the chain above says how")] * is_paying


def test_a_low_grade_accuses_nobody_and_is_still_listed() -> None:
    seen = observation()
    case = case_of(
        seen, scene(seen, [symptom(10, 5)]),
        [suspicion(("passed", "untested", "untested", "untested"))], (), (), (),
    )  # fmt: skip
    assert (case.verdict.status, case.verdict.root_cause) == ("unknown", None)
    assert len(case.suspects) == 1
    assert case.actions.now == ()


def test_without_a_symptom_the_node_is_healthy() -> None:
    case = case_of(observation(), None, (), (), (), ())
    assert (case.verdict.status, case.symptom, case.chain) == ("healthy", None, ())


def test_every_link_names_evidence_that_is_there() -> None:
    seen = observation()
    case = case_of(seen, scene(seen, [symptom(10, 5)]), [suspicion(PASSED, PASSED)], (), (), ())
    known = {one.id for one in case.evidence}
    assert all(link.evidence and set(link.evidence) <= known for link in case.chain)
    assert [link.role for link in case.chain] == ["symptom", "mechanism", "mechanism"]


def test_a_link_without_evidence_can_not_be() -> None:
    seen = observation()
    bare = suspicion(PASSED, signals=())
    with pytest.raises(ValueError, match="needs evidence"):
        case_of(seen, scene(seen, [symptom(10, 5)]), [bare], (), (), ())
