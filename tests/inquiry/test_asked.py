"""Which harm a question is about."""

from __future__ import annotations

from msgspec.structs import replace

from exhume.inquiry.asked import Question, asked, unanswered
from exhume.model.case import Party, Symptom
from exhume.model.window import Window
from tests.diagnose.made_up import NS, span, symptom


def harm(
    start: float, seconds: float, victim: str, core: int | None, kind: str = "starved-thread"
) -> Symptom:
    return replace(symptom(start, seconds, kind=kind), victim=Party(comm=victim, core=core))


HERE = harm(10, 9, "walker", 0, "held-thread")
THERE = harm(11, 2, "python", 1)
SAME_VICTIM = harm(50, 1, "python", 0)
GROUPS = [(THERE, SAME_VICTIM), (HERE,)]


def test_without_a_question_nothing_changes() -> None:
    assert asked(GROUPS, Question()) == GROUPS


def test_an_instant_on_a_core_is_about_the_harm_there_and_then() -> None:
    """The same victim was harmed then, and on that core, but not both at once."""
    found = asked(GROUPS, Question(at=span(11, 14), core=0))
    assert found[0] == (HERE,)
    assert sorted(one.victim.name for group in found[1:] for one in group) == ["python", "python"]


def test_of_equal_harm_the_one_that_fills_the_instant_comes_first() -> None:
    assert asked(GROUPS, Question(at=span(11, 14)))[0] == (HERE,)


def test_worse_harm_comes_first_even_if_it_was_shorter() -> None:
    reset = harm(12, 1, "eth0 queue 1", None, "network-reset")
    assert asked([*GROUPS, (reset,)], Question(at=span(11, 14)))[0] == (reset,)


def test_where_nobody_was_harmed_the_question_is_the_symptom() -> None:
    first, *others = asked(GROUPS, Question(at=span(11, 14), core=3))
    assert [(one.kind, one.victim.core, one.window) for one in first] == [
        ("question", 3, span(11, 14))
    ]
    assert others == GROUPS


def test_harm_that_was_just_over_is_what_an_instant_is_about() -> None:
    assert asked(GROUPS, Question(at=span(21, 26)))[0] == (HERE,)
    assert asked(GROUPS, Question(at=span(52, 57)))[0][0].wall_ns == SAME_VICTIM.wall_ns
    assert asked(GROUPS, Question(at=span(30, 35)))[0][0].kind == "question"


def test_an_event_is_matched_as_exactly_as_it_was_said_and_comes_first() -> None:
    minute = Question(event=span(0, 60))
    assert [group[0] for group in asked(GROUPS, minute)] == [THERE, HERE]
    late = SAME_VICTIM.wall_ns
    second = Window(late - NS // 3, late - NS // 3 + NS)
    assert asked(GROUPS, Question(event=second)) == [(SAME_VICTIM, THERE), (HERE,)]
    before = Window(late - 2 * NS, late - NS)
    assert asked(GROUPS, Question(event=before)) == []


def test_of_an_event_and_what_samples_show_at_that_time_the_event_is_meant() -> None:
    line = replace(harm(18, 1, "CPU 0", 0, "lockup"), event_class="cpu")
    assert asked([*GROUPS, (line,)], Question(event=span(18, 20)))[0] == (line,)


def test_no_other_harm_is_an_answer() -> None:
    assert asked(GROUPS, Question(core=7)) == []
    verdict, others = unanswered(GROUPS, Question(event=span(40, 41)))
    assert (verdict.status, [one.wall_ns for one in others]) == (
        "unknown", [SAME_VICTIM.wall_ns, HERE.wall_ns],
    )  # fmt: skip


def test_a_core_alone_leaves_out_what_its_victims_suffered_elsewhere() -> None:
    found = asked(GROUPS, Question(core=0))
    assert found == [(SAME_VICTIM,), (HERE,), (THERE,)]
