"""A capture alone: nobody counted zombies, but somebody loops and the walks grow longer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.made_up import lifecycle, lives
from tests.diagnose.test_zombie_cgroups import COUNTS, judged, story

MAKES = {"supervisor": {"cgroup_mkdir": 900}}
# As many as there would be zombies: 40 every 10 s.
EXECS = [
    (10.0 * i + 0.2 * n, "leaky", "supervisor")
    for i in range(3, 60)
    for n in range(COUNTS[100.0] - COUNTS[90.0])
]
LOOP = lifecycle("process", "leaky", len(EXECS), mark="many short jobs", detail="supervisor")


def uncounted(**more: Any) -> Any:
    given: dict[str, Any] = {
        "zombies": None, "events": (), "lives": lives(EXECS), "lifecycles": (LOOP,),
        "frame_ms": MAKES,
    }  # fmt: skip
    return judged(story(**(given | more)))


def test_a_loop_of_one_who_makes_cgroups_is_suspected_and_no_more() -> None:
    case = uncounted()
    assert (case.verdict.status, case.verdict.confidence) == ("suspected", "medium")
    cause = case.verdict.root_cause
    assert (cause.kind, cause.culprit.comm) == ("zombie-cgroups", "leaky")
    assert cause.details["payer"]["comm"] == "payer"
    told = next(one for one in case.evidence if "starts" in one.figures)
    assert told.figures["microseconds_per_start"] == pytest.approx(1500, rel=0.05)
    assert any("copies of /proc/cgroups" in gap for gap in case.gaps)


@pytest.mark.parametrize(
    "other",
    [
        {"frame_ms": {}},  # it makes no cgroups
        {"frame_ms": {"somebody": {"cgroup_mkdir": 900}}},
        {"lives": lives([row for row in EXECS if row[0] > 500])},  # most walks came before it
        {"lives": lives([(t / 8, n, p) for t, n, p in EXECS])},  # it ended, and walks grew on
        {"lifecycles": ()},
    ],
)
def test_who_does_not_fit_is_not_suspected(other: dict[str, Any]) -> None:
    case = uncounted(**other)
    assert case.verdict.root_cause is None or case.verdict.root_cause.culprit.comm != "leaky"
    suspected = [one for one in case.suspects if one.culprit.comm == "leaky"]
    assert all(one.confidence == "low" for one in suspected)


def test_where_they_were_counted_the_count_decides() -> None:
    """It starts often enough, but zombies came while it was quiet."""
    case = uncounted(zombies=story().seen.zombies, lives=lives(EXECS[:400]))
    assert case.verdict.root_cause is None or case.verdict.root_cause.culprit.comm != "leaky"
