"""Two things wrong at once."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from exhume.diagnose.judge import case_of
from exhume.diagnose.together import Told, together, unexplained
from exhume.model.case import Case, Party, RootCause, Suspect, Symptom, Verdict
from tests.diagnose.made_up import observation, scene, symptom

Grade = Literal["high", "medium", "low"]


def suspect(name: str, kind: str = "realtime-hog", confidence: Grade = "high") -> Suspect:
    return Suspect(kind, Party(comm=name), {}, confidence, f"{name} did it")


def harm(start: float, victim: str, core: int | None, kind: str = "starved-thread") -> Symptom:
    return replace(symptom(start, 3, kind=kind), victim=Party(comm=victim, core=core))


def told(like: tuple[Symptom, ...], *suspects: Suspect) -> Told:
    made = scene(observation(), like, core=like[0].victim.core)
    case: Case = case_of(made.seen, made, (), (), (), ())
    if suspects:
        first = suspects[0]
        cause = RootCause(first.kind, first.culprit)
        case = replace(case, verdict=Verdict("found", first.summary, "high", cause))
    return Told(like, replace(case, suspects=suspects))


def test_the_cause_of_other_harm_comes_right_after_the_worst_ones() -> None:
    hog, zombies = suspect("hog"), suspect("leaker", "zombie-cgroups")
    main = told((harm(10, "a", 0),), hog, suspect("c", confidence="low"), suspect("d"))
    case = together(main, [told((harm(100, "b", 1),), zombies, suspect("e"))])
    assert case.verdict.root_cause == main.case.verdict.root_cause
    assert [one.culprit.comm for one in case.suspects] == ["hog", "leaker", "c", "d"]


def test_a_guess_at_the_worst_harm_comes_after_the_causes_of_others() -> None:
    main = told((harm(10, "a", 0, "job-failure"),))
    guess = suspect("neighbour", confidence="low")
    main = Told(main.like, replace(main.case, suspects=(guess,)))
    case = together(main, [told((harm(100, "b", 1),), suspect("leaker"))])
    assert case.verdict.root_cause is None
    assert [one.culprit.comm for one in case.suspects] == ["leaker", "neighbour"]


def test_the_same_cause_is_listed_once() -> None:
    main = told((harm(10, "a", 0),), suspect("hog"))
    case = together(main, [told((harm(100, "b", 1),), suspect("hog"))])
    assert [one.culprit.comm for one in case.suspects] == ["hog"]


def test_what_could_not_be_explained_adds_nobody() -> None:
    main = told((harm(10, "a", 0),), suspect("hog"))
    beside = told((harm(100, "b", 1),))
    beside = Told(beside.like, replace(beside.case, suspects=(suspect("x", confidence="low"),)))
    assert [one.culprit.comm for one in together(main, [beside]).suspects] == ["hog"]


def test_harm_at_the_same_time_on_the_same_core_is_the_same_trouble() -> None:
    main = told((harm(10, "a", 0),), suspect("hog"))
    assert unexplained([(harm(11, "b", 0),), (harm(11, "c", None),)], [main]) is None
    elsewhere, later = (harm(11, "b", 1),), (harm(60, "b", 0),)
    assert unexplained([elsewhere], [main]) == elsewhere
    assert unexplained([later], [main]) == later


def test_what_explains_nothing_leaves_all_others_open() -> None:
    beside = (harm(11, "b", 0),)
    assert unexplained([beside], [told((harm(10, "a", 0),))]) == beside


def test_another_kind_or_core_comes_before_more_of_the_same() -> None:
    main = told((harm(10, "a", 0),), suspect("hog"))
    more, other = (harm(60, "b", 0),), (harm(90, "c", 0, "held-thread"),)
    assert unexplained([more, other], [main]) == other
