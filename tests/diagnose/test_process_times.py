"""Counters of processes, where there are no samples: whom to look at, and nobody found."""

from __future__ import annotations

import pytest

from exhume.diagnose.hypotheses import full_cores
from exhume.diagnose.judge import case_of
from exhume.diagnose.place import place_of
from exhume.diagnose.process_times import cores_of, who_had
from exhume.model.answers import SeriesAnswer
from exhume.model.observation import Observation
from tests.diagnose.made_up import load, observation, scene, series, span, symptom

BURST = range(310, 316)


def process(name: str, core: int, busy: range, field: str = "process.system") -> list[SeriesAnswer]:
    """Its time, read every second: all of a core in these seconds."""
    took = [100 * sum(second < at for second in busy) for at in range(600)]
    return [series(field, took, name), series("process.core", [core] * 600, name)]


def seen(*parts: SeriesAnswer) -> Observation:
    full = {1: [100 if second in BURST else 2 for second in range(600)], 0: [2] * 600}
    return observation(load=load(full), sampled_seconds=0.0, series=parts)


def test_who_had_half_of_a_core_by_its_own_times_is_told() -> None:
    found = who_had(seen(*process("77 reader", 1, BURST)), 1, span(310, 316))
    assert found is not None
    assert (found.party.comm, found.party.pid, round(found.share, 2)) == ("reader", 77, 1.0)


@pytest.mark.parametrize(
    "parts",
    [
        process("77 reader", 0, BURST),
        process("77 reader", 1, range(100, 106)),
        process("77 reader", 1, range(310, 312)),
        process("77 reader", 1, BURST)[:1],
        [],
    ],
    ids=["another core", "another time", "less than half", "where it was is not known", "nobody"],
)
def test_nobody_else_is(parts: list[SeriesAnswer]) -> None:
    assert who_had(seen(*parts), 1, span(310, 316)) is None


def every_five(name: str, took: dict[int, int]) -> list[SeriesAnswer]:
    """Its time on CPU 1, read every five seconds, and how much of it came in which of them."""
    total = [sum(took.get(earlier, 0) for earlier in range(at + 1)) for at in range(120)]
    return [
        series("process.system", total, name, every=5.0),
        series("process.core", [1] * 120, name, every=5.0),
    ]


def test_who_alone_can_have_had_a_core_for_a_burst_between_two_readings_is_told() -> None:
    """pidstat 5: of a walk of three seconds there are two in one of its rows, one in the next."""
    burst = span(313, 316)
    walker, other = every_five("77 walker", {63: 200, 64: 110}), every_five("8 other", {63: 40})
    found = who_had(seen(*walker, *other), 1, burst)
    assert found is not None
    assert (found.party.comm, round(found.share, 2), found.is_bound) == ("walker", 1.0, True)
    either = every_five("8 other", {63: 190, 64: 20})
    assert who_had(seen(*walker, *either), 1, burst) is None, "it may be the one or the other"


def test_a_full_core_is_told_with_who_was_on_it_and_nobody_is_found() -> None:
    found = seen(*process("77 reader", 1, BURST))
    made = scene(found, [symptom(310.0, 6.0)], core=1)
    case = case_of(found, made, list(full_cores.suspects(made)), (), (), ())
    assert case.verdict.root_cause is None
    assert "reader was on it, and for whom it worked is open" in case.verdict.summary
    (proof,) = [one for one in case.evidence if "by its own times" in one.claim]
    assert proof.check.startswith("exhume series process.system '77 reader' ")
    assert any(gap.startswith("what reader did on CPU 1: ") for gap in case.gaps)


def test_the_victims_core_is_known_where_its_counters_say_it_each_time() -> None:
    found = seen(*process("7 victim", 1, range(0)))
    place = place_of(found, [symptom(310.0, 6.0)], [])
    assert (place.core, place.known) == (1, "passed")


def test_a_few_readings_are_too_few_to_say_where_somebody_always_is() -> None:
    assert cores_of(seen(series("process.core", [1] * 4, "7 victim")), "victim") == ()
