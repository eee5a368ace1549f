"""Whether a victim waited for a core at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.diagnose.hypotheses import HYPOTHESES
from exhume.diagnose.judge import case_of
from exhume.diagnose.scene import Scene
from exhume.diagnose.waiting import had_room, to_be_asked
from exhume.model.case import Case, Symptom
from exhume.model.window import Window
from tests.diagnose.made_up import at as at_ns
from tests.diagnose.made_up import (
    load,
    observation,
    occupant,
    process,
    scene,
    series,
    span,
    symptom,
)

HARM = [symptom(at, 6.0, "db") for at in (100.0, 200.0, 300.0)]


def beside(busy: int, harm: Sequence[Symptom] = HARM, by: Sequence[tuple[int, int]] = ()) -> Scene:
    """Core 1 is so busy all the time, and otherwise from a second to another."""
    percent = [busy] * 600
    for second, otherwise in by:
        percent[second] = otherwise
    seen = observation(load=load({0: [50] * 600, 1: percent}, mode=0), timed=(span(0, 600),))
    trainer = occupant("trainer", 0.9, user_share=1.0, longest_run=span(101, 106))
    made = scene(seen, harm, [trainer])
    return replace(made, presence={"trainer": (span(0, 600),)})


def judged(made: Scene) -> Case:
    found = [one for hypothesis in HYPOTHESES for one in hypothesis(made)]
    return case_of(made.seen, made, found, (), (), ())


def test_who_is_late_on_a_core_with_room_waits_for_something_else() -> None:
    told = judged(beside(88))
    assert told.suspects == ()
    (rejected,) = (one for one in told.rejected if one.culprit.comm == "trainer")
    assert rejected.reason.startswith("CPU 1 was idle for 12 % of that time, all along")
    assert rejected.reason.endswith("db waited for something else")


def test_a_full_core_has_no_room() -> None:
    assert had_room(beside(97)) == ""


def test_a_second_that_was_full_may_be_when_it_waited() -> None:
    full = [(round(one.window.start_ns / 1e9 - 1.8e9) + 3, 100) for one in HARM]
    assert had_room(beside(88, by=full)) == ""


def test_of_a_second_or_two_no_reading_lies_inside() -> None:
    assert had_room(beside(20, [symptom(100.4, 1.8, "db")])) == ""


@pytest.mark.parametrize("kind", ["starved-thread", "network-reset", "lockup"])
def test_who_was_seen_to_wait_did_wait(kind: str) -> None:
    assert had_room(beside(20, [replace(one, kind=kind) for one in HARM])) == ""


def test_where_samples_name_nobody_it_is_said_what_tells_more() -> None:
    (said,) = to_be_asked(beside(88))
    assert said.startswith("if db waited for something else than a core")
    refused = replace(HARM[0], is_late=False)
    assert to_be_asked(beside(88, [refused])) == ()


def test_who_has_the_core_at_all_other_times_too_does_not_say_why_it_was_then() -> None:
    told = judged(beside(100))
    assert told.verdict.root_cause is None
    trainer = next(one for one in told.suspects if one.culprit.comm == "trainer")
    assert trainer.confidence == "low"
    assert "but so it is for 100 % of the time that nobody is harmed" in trainer.summary
    assert ", every" not in trainer.summary


@pytest.mark.parametrize(("event_class", "dose"), [("", "passed"), ("job", "untested")])
def test_a_line_that_does_not_say_how_long_tells_nothing_of_a_length(
    event_class: str, dose: str
) -> None:
    """A second stands for it, and whoever was there for one would have been there for as long."""
    harm = symptom(100.0, 1.000_000_001, "job", event_class=event_class)
    seen = observation(timed=(span(0, 600),))
    told = judged(scene(seen, [harm], [occupant("worker", 0.8, user_share=1.0)]))
    (link,) = (one for one in told.chain if one.role != "symptom")
    assert link.tests.dose == dose


@pytest.mark.parametrize(("others", "is_suspected"), [(4, True), (20, False)])
def test_who_takes_turns_with_others_keeps_nobody_from_a_core(
    others: int, is_suspected: bool
) -> None:
    """By chance it was there each time; real-time priority leaves others five percent."""
    harm = [symptom(at, 6.0, "db") for at in (100.0, 200.0, 300.0)]
    seen = observation(load=load({1: [100] * 600}, mode=0), timed=(span(0, 600),))
    there = occupant("batch", 0.95, user_share=1.0, longest_run=span(101, 106))
    made = scene(seen, harm, [replace(there, others_between=others)])
    windows = tuple(span(at, at + 6.0) for at in (100.0, 200.0, 300.0))
    told = judged(replace(made, presence={"batch": windows}))
    assert (told.verdict.root_cause is not None) == is_suspected
    if not is_suspected:
        (first, *_) = told.suspects
        assert "is on CPU 1 in user mode" in first.summary
        assert "others had their turns there, 17 % of that time" in first.summary


@pytest.mark.parametrize(
    ("sampled", "is_ruled_out"), [(span(0, 600), True), (span(400, 600), False)]
)
def test_who_was_elsewhere_is_ruled_out_only_where_it_was_looked(
    sampled: Window, is_ruled_out: bool
) -> None:
    seen = observation(timed=(sampled,), processes=(process("busy", 300.0),))
    told = judged(scene(seen, HARM, [occupant("nobody", 0.01)]))
    assert bool(told.rejected) == is_ruled_out


@pytest.mark.parametrize(("waited_us", "is_suspected"), [(900_000, True), (2_000, False)])
def test_who_waits_for_a_core_leaves_pressure(waited_us: int, is_suspected: bool) -> None:
    windows = tuple(span(at, at + 6.0) for at in (100.0, 200.0, 300.0))
    gains = [waited_us if any(w.contains(at_ns(i)) for w in windows) else 2_000 for i in range(600)]
    pressure = series("pressure.cpu.some_us", np.cumsum(gains).tolist())
    seen = observation(
        load=load({1: [100] * 600}, mode=0), timed=(span(0, 600),), series=[pressure]
    )
    made = scene(seen, HARM, [occupant("batch", 0.99, user_share=1.0, longest_run=span(101, 106))])
    told = judged(replace(made, presence={"batch": windows}))
    assert (told.verdict.root_cause is not None) == is_suspected
    assert is_suspected != any("by the pressure" in one.reason for one in told.rejected)
