"""Harm of which nothing was measured speaks neither for nor against anybody."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from exhume.diagnose import measured
from exhume.diagnose.hypotheses import hogs
from exhume.diagnose.place import place_of
from exhume.diagnose.scene import Step
from exhume.model.case import Outcome
from exhume.model.window import Window
from tests.diagnose.made_up import NS, load, observation, occupant, scene, span, symptom

CAPTURE = (span(200, 320),)
INSIDE = [symptom(210, 5), symptom(240, 7), symptom(280, 9), symptom(310, 4)]
OUTSIDE = [symptom(20 * i, 10) for i in range(8)]
HOLDS = [one.window for one in INSIDE]


def test_half_of_it_must_have_been_measured() -> None:
    assert measured.is_covered(span(195, 206), CAPTURE)
    assert not measured.is_covered(span(190, 204), CAPTURE)
    assert measured.is_covered(span(0, 1), ()), "when anything was measured is not known"


def test_a_hole_in_the_times_of_cores_is_not_measured() -> None:
    whole = load({0: [5] * 100})
    kept = np.r_[0:40, 60:100]
    holey = replace(
        whole,
        start_ns=whole.start_ns[kept],
        end_ns=whole.end_ns[kept],
        permille=whole.permille[:, kept],
    )
    assert measured.metered(holey) == (span(0, 40), span(60, 100))
    assert measured.metered(None) == ()


def test_what_samples_tell_of_comes_first_and_then_what_times_of_cores_do() -> None:
    seen = observation(timed=CAPTURE, load=load({0: [5] * 400}))
    told, timed, sampled = symptom(450, 30), symptom(100, 20), symptom(240, 7)
    assert measured.best_first(seen, [told, timed, sampled]) == (sampled, timed, told)
    assert measured.is_measured(seen, [timed])
    assert not measured.is_measured(seen, [told])
    assert measured.is_measured(observation(), [told]), "nothing was, of any harm"


def test_harm_outside_of_the_capture_does_not_speak_against_a_cause_in_it() -> None:
    effects = [one.window for one in (*OUTSIDE, *INSIDE)]
    found = measured.counterfactual(HOLDS, effects, span(0, 600), CAPTURE)
    assert (found[0], found[1], found[3]) == ("passed", 1.0, 4)
    assert measured.counterfactual(HOLDS, effects, span(0, 600), ())[0] == "failed"


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_time_without_samples_makes_a_meeting_no_less_likely_by_chance(
    before: int, after: int
) -> None:
    within = span(200 - before, 320 + after)
    effects = [one.window for one in INSIDE]
    assert measured.counterfactual(HOLDS, effects, within, CAPTURE) == measured.counterfactual(
        HOLDS, effects, *CAPTURE, CAPTURE
    )


def test_pieces_of_a_night_are_one_stretch_of_their_own_time() -> None:
    pieces = (span(200, 260), span(10_260, 10_320))
    moved = [
        one if one.start_ns < pieces[0].end_ns else replace(
            one, start_ns=one.start_ns + 10_000 * NS, end_ns=one.end_ns + 10_000 * NS
        )
        for one in HOLDS
    ]  # fmt: skip
    apart = measured.counterfactual(moved, moved, span(0, 20_000), pieces)
    assert apart == measured.counterfactual(HOLDS, HOLDS, *CAPTURE, CAPTURE)


def test_who_held_the_core_in_a_short_capture_stands_whatever_the_log_tells_besides() -> None:
    seen = observation(timed=CAPTURE)
    made = scene(seen, [*INSIDE, *OUTSIDE], [occupant("walker", 0.95)])
    made = replace(made, stalls=made.stalls[:4], presence={"walker": tuple(HOLDS)})
    (found,) = hogs.suspects(made)
    step = found.steps[-1]
    assert "(4 of 4 times looked at)" in step.claim
    assert step.tests.counterfactual != "failed"


def test_the_core_is_told_by_the_harm_that_was_measured() -> None:
    percent = {core: [100 if core == 3 and i in range(210, 216) else 2 for i in range(600)]
               for core in range(8)}  # fmt: skip
    full = load(percent)
    kept = np.arange(200, 320)
    short = replace(full, start_ns=full.start_ns[kept], end_ns=full.end_ns[kept],
                    permille=full.permille[:, kept])  # fmt: skip
    harm = [symptom(210, 5), *OUTSIDE]
    assert place_of(observation(load=short), harm, ()).core == 3
    assert place_of(observation(load=full), harm, ()).core is None


def test_how_much_of_the_time_without_harm_a_cause_fills() -> None:
    stretches = (span(0, 100), span(500, 600))
    harms = [span(20, 30), span(21, 25), span(550, 700)]
    assert measured.share_elsewhere([span(-50, 800)], harms, stretches) == 1.0
    # Of 88 s and of 49 s: a second around harm is left out.
    half = [span(0, 10), span(5, 19), span(540, 560), span(300, 400)]
    assert measured.share_elsewhere(half, harms, stretches) == (19 + 9) / (88 + 49)
    little = [span(8, 599)]
    assert np.isnan(measured.share_elsewhere(half, little, stretches)), "seven seconds"
    assert np.isnan(measured.share_elsewhere(half, harms, ()))


def held_by(presence: Sequence[Window], place: Outcome) -> Step:
    made = scene(observation(timed=(span(0, 600),)), INSIDE, [occupant(
        "poller", 1.0, user_share=1.0, core_ns=5 * NS)], place=place)  # fmt: skip
    (found,) = hogs.suspects(replace(made, presence={"poller": tuple(presence)}))
    return found.steps[-1]


def test_who_has_a_core_all_day_was_not_there_for_just_as_long_as_somebody_waited() -> None:
    step = held_by([span(0, 600)], "untested")
    assert (step.tests.dose, step.tests.counterfactual) == ("untested", "untested")
    assert held_by(HOLDS, "untested").tests.dose == "passed"
