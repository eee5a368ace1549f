"""A core that was full while its victim waited, where nobody was sampled."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from exhume.diagnose.hypotheses import HYPOTHESES
from exhume.diagnose.judge import case_of
from exhume.model.case import Case
from exhume.model.occupancy import Occupant
from tests.diagnose.made_up import load, observation, occupant, scene, symptom

BURST = range(310, 316)
SYSTEM, USER = 1, 0


def case(
    full: Sequence[int],
    mode: int = SYSTEM,
    core: int = 39,
    during: Sequence[Occupant] = (),
    resets_at: Sequence[float] = (310.8,),
    partly: Sequence[int] = (),
) -> Case:
    """Core 39 is full in these seconds; a queue that waits for `core` is reset."""
    percent = {one: [2] * 600 for one in range(96)}
    percent[39] = [
        100 if second in full else 40 if second in partly else 2 for second in range(600)
    ]
    seen = observation(load=load(percent, mode), sampled_seconds=0.0)
    like = [
        symptom(at, 6.3, "eth0 queue 5", "network-reset", source="kernel log") for at in resets_at
    ]
    made = scene(seen, like, during, core)
    found = [one for hypothesis in HYPOTHESES for one in hypothesis(made)]
    return case_of(seen, made, found, (), (), ())


def test_it_is_the_mechanism_and_who_took_it_stays_unknown() -> None:
    told = case(BURST)
    assert (told.verdict.status, told.verdict.root_cause) == ("unknown", None)
    assert "CPU 39 was full for 6 s" in told.verdict.summary
    link = told.chain[-1]
    assert (link.role, link.tests.outcomes()) == (
        "mechanism", ("passed", "passed", "passed", "untested"),
    )  # fmt: skip
    evidence = next(one for one in told.evidence if one.id in link.evidence)
    assert evidence.figures["mode"] == "system"
    assert any("who had CPU 39" in gap for gap in told.gaps)


def test_a_burst_that_begins_within_a_second_begins_there() -> None:
    """The log has whole seconds, so the reset seems to begin up to one earlier than it did."""
    told = case(range(311, 316), resets_at=(309.1,), partly=(310,))
    assert "CPU 39 was full for 5 s, 100 % of it in the kernel" in told.chain[-1].claim
    assert told.chain[-1].tests.order == "passed"
    assert case(range(311, 316), resets_at=(309.1,)).suspects == ()


def test_the_harm_that_came_without_it_speaks_against_it() -> None:
    told = case(BURST, resets_at=(100.0, 200.0, 310.8, 400.0, 500.0))
    assert told.suspects == ()
    assert "counterfactual" in told.rejected[-1].reason


@pytest.mark.parametrize(
    "told",
    [
        case(BURST, core=40),
        case(range(100, 106)),
        case(BURST, USER),
        case((312,)),
    ],
    ids=["another core", "another time", "what cores are for", "a second"],
)
def test_it_is_not_told_of(told: Case) -> None:
    assert [link.role for link in told.chain] == ["symptom"]


def test_whoever_was_sampled_there_says_more() -> None:
    told = case(BURST, during=[occupant("walker", 0.95)])
    assert [one.culprit.comm for one in told.suspects] == ["walker"]
