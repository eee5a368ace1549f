from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.fleet.cohort import CaseFacts, Fleet, fleet_of
from exhume.fleet.expression import evaluate
from tests.fleet.made import fingerprint

FLEET = fleet_of(
    [
        fingerprint("a", {"label": {"zone": "a"}, "load": {"zombies": ("load", 5000)},
                          "unit": {"ecs.service": ("state", "runs")}, "sysctl": {"vm.x": "10"}}),
        fingerprint("b", {"label": {"zone": "b"}, "load": {"zombies": ("load", 3)}, "unit": {},
                          "sysctl": {"vm.x": "200"}}),
        fingerprint("c", {"label": {"zone": "a"}, "sysctl": {}}),
    ],
    {0: (CaseFacts("zombie-cgroups", "found"),), 1: (CaseFacts("", "healthy"),)},
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ill", "known"),
    [
        ("zone==a", "ac", "abc"),
        ("zone=a", "ac", "abc"),
        ("zone != a", "b", "abc"),
        ("zombies>1000", "a", "ab"),
        ("not zombies > 1000", "b", "ab"),
        ("cases", "a", "abc"),
        ("cases.zombie-cgroups>0", "a", "abc"),
        ("zombie-cgroups", "a", "abc"),
        ("cases.out-of-memory > 0", "", "abc"),
        ("unit/ecs.service == runs", "a", "ab"),
        ("unit.ecs.service", "a", "ab"),
        ("sysctl.vm.x >= 200", "b", "abc"),
        ("vm.x < 200", "a", "abc"),
        ("zone==a and zombies>1000", "a", "ab"),
        ("zone==a or zombies>1000", "ac", "abc"),
        ("(zone==b or zone==a) and not 'vm.x'==200", "ac", "abc"),
        ('zone=="a" and cases', "a", "abc"),
    ],
)
def test_who_is_ill(text: str, ill: str, known: str) -> None:
    truth = evaluate(text, FLEET).truth
    assert "".join(n for n, x in zip("abc", truth.holds & truth.known, strict=True) if x) == ill
    assert "".join(n for n, x in zip("abc", truth.known, strict=True) if x) == known


def test_what_was_asked_is_told_so_that_it_can_be_left_out() -> None:
    assert evaluate("zone==a and zombies>1", FLEET).used == {"label/zone", "load/zombies"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("zone==", "a value is expected"),
        ("zone==a)", "too late"),
        ("(zone==a", "missing"),
        ("zoen==a", "is zone"),
        ("zone > b", "needs a number"),
        ("and", "no node has"),
        ("zone==a zone==b", "too late"),
        ("(" * 200 + "zone", "nested"),
        ("!", "makes no sense"),
    ],
)
def test_what_makes_no_sense_is_said_to(text: str, why: str) -> None:
    with pytest.raises(ExhumeError, match=why) as caught:
        evaluate(text, FLEET)
    assert caught.value.exit_code == EXIT_USAGE


@settings(deadline=None)
@given(st.text(alphabet="zone=ab()<>!'\" and or not cases.1", max_size=60))
def test_any_text_is_an_answer_or_an_error(text: str) -> None:
    try:
        truth = evaluate(text, FLEET).truth
    except ExhumeError:
        return
    assert len(truth.holds) == 3


def test_a_fleet_without_cases_has_none() -> None:
    bare = Fleet(FLEET.nodes, FLEET.columns)
    assert not evaluate("cases", bare).truth.holds.any()
