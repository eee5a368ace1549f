from __future__ import annotations

import pytest

from exhume.ingest.wanted_events import NONE, choose, instead, none_such
from exhume.perf import eventnames

EVENTS = ("sched:sched_switch", "cpu-clock/freq=400/", "cpu-clock:u", "dummy:u")


def measures(*names: str) -> dict[str, str]:
    return {name: eventnames.plain(name) for name in names}


@pytest.mark.parametrize(
    ("asked", "measure", "names"),
    [
        ("", "cpu-clock", {"cpu-clock/freq=400/"}),
        ("cpu-clock", "cpu-clock", {"cpu-clock/freq=400/"}),
        ("cpu-clock:u", "cpu-clock", {"cpu-clock:u"}),
        ("sched:sched_switch", "sched:sched_switch", {"sched:sched_switch"}),
        ("sched_switch", "sched:sched_switch", {"sched:sched_switch"}),
        ("cpu-clokc", "cpu-clokc", set()),
    ],
)
def test_one_measure_is_taken(asked: str, measure: str, names: set[str]) -> None:
    found = choose(measures(*EVENTS), asked)
    assert (found.measure, set(found.names)) == (measure, names)


def test_a_name_of_ones_own_is_found_by_that_and_by_what_it_measures() -> None:
    events = {"mine": "cpu-clock", "page-faults": "page-faults"}
    for asked in ("", "mine", "cpu-clock"):
        assert choose(events, asked).names == {"mine"}


def test_a_dummy_is_taken_only_where_there_is_nothing_else() -> None:
    assert choose(measures("dummy:HG", "page-faults"), "").measure == "page-faults"
    assert choose(measures("dummy:HG"), "").measure == "dummy"
    assert choose({}, "") == NONE


@pytest.mark.parametrize(
    ("measure", "seen", "others", "found"),
    [
        ("cpu-clock", 1, {"page-faults": 500}, ""),
        ("cpu-clock", 0, {"page-faults": 5, "cs": 7}, "cs"),
        ("sched:sched_wakeup", 2, {"sched:sched_switch": 900, "sched:sched_waking": 30},
         "sched:sched_switch"),
        ("minor-faults", 175, {"cs": 188}, ""),
        ("minor-faults", 175, {}, ""),
    ],
)  # fmt: skip
def test_of_events_that_measure_no_time_one_with_few_samples_gives_way(
    measure: str, seen: int, others: dict[str, int], found: str
) -> None:
    assert instead(measure, seen, others) == found


def test_an_event_that_is_not_there_is_told_with_those_that_are() -> None:
    error = none_such("x.data", "cpu-clokc", [f"e{n}" for n in range(10)])
    assert "cpu-clokc, which --event asks for" in error.what
    assert error.todo == "it has e0, e1, e2, e3, e4, e5, e6, e7 and 2 more"
