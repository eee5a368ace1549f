from __future__ import annotations

import numpy as np
import pytest

from exhume.model.event import Event
from exhume.perf.births import SECOND_NS, STORM_A_SECOND, exec_events, exit_events
from exhume.perf.history import History
from tests.perf.test_history import Story, child, told

Fields = dict[str, str | int | float]
S = SECOND_NS
MS = S // 1000


def events_of(story: Story) -> list[Event]:
    """The execs, then the exits, each in the order that they are told."""
    known = History()
    side = told(story)
    known.learn(side)
    return exec_events(known, side.comms) + exit_events(known, side.exits)


def check(story: Story, *expected: Event) -> None:
    assert events_of(story) == list(expected)


INIT = (0, 1, 1, "init")


def test_a_program_that_starts_and_ends_is_two_events_with_its_parent_and_lifetime() -> None:
    story = Story(
        named=[INIT],
        execs=[(5 * S, 7, 7, "agent")],
        forks=[child(5 * S - 3 * MS, 7, 1)],
        exits=[child(7 * S, 7, 1)],
    )
    who: Fields = {"parent_pid": 1, "parent": "init"}
    check(
        story,
        Event(5 * S, "exec", "agent", pid=7, fields=who),
        Event(7 * S, "exit", "agent", pid=7, fields={**who, "lifetime_seconds": 2.0}),
    )


def test_a_child_that_never_starts_a_program_has_lived_since_its_fork() -> None:
    story = Story(named=[INIT], forks=[child(S, 7, 1)], exits=[child(S + 250 * MS, 7, 1)])
    who: Fields = {"parent_pid": 1, "parent": "init", "lifetime_seconds": 0.25}
    check(story, Event(S + 250 * MS, "exit", "init", pid=7, fields=who))


def test_what_is_not_known_is_left_out() -> None:
    story = Story(scanned=[(S, 8)], exits=[child(5 * S, 9, 1), child(6 * S, 8, 1)])
    check(story, Event(5 * S, "exit", ":9", pid=9), Event(6 * S, "exit", ":8", pid=8))


def test_threads_that_end_and_names_that_change_are_no_births_or_deaths() -> None:
    story = Story(
        named=[INIT, (S, 1, 1, "renamed")],
        forks=[(S, 1, 1, 2, 1)],
        exits=[(2 * S, 1, 1, 2, 1)],
    )
    check(story)


def test_nothing_happened() -> None:
    check(Story())


def loop(second: int, count: int, *, parent: int = 1, name: str = "agent", pid: int = 0) -> Story:
    """`count` processes forked and ended within one second; the i-th lives i milliseconds."""
    first = pid or 1000 + second * 1000
    pids = range(first, first + count)
    at = second * S
    return Story(
        execs=[(at, p, p, name) for p in pids],
        forks=[child(at, p, parent) for p in pids],
        exits=[child(at + (p - first) * MS, p, parent) for p in pids],
    )


def together(*stories: Story) -> Story:
    return Story(
        named=[INIT, (0, 2, 2, "dockerd")],
        execs=[row for story in stories for row in story.execs],
        forks=[row for story in stories for row in story.forks],
        exits=[row for story in stories for row in story.exits],
    )


@pytest.mark.parametrize(
    ("count", "is_folded"), [(STORM_A_SECOND - 1, False), (STORM_A_SECOND, True)]
)
def test_from_so_many_a_second_on_like_events_are_folded(count: int, is_folded: bool) -> None:
    found = events_of(together(loop(3, count)))
    assert sum(event.count for event in found if event.kind == "exec") == count
    assert sum(event.count for event in found if event.kind == "exit") == count
    assert len(found) == (2 if is_folded else 2 * count)
    assert all((event.pid is None) == is_folded for event in found)


def test_a_storm_is_folded_by_name_and_parent_with_the_median_lifetime() -> None:
    many = STORM_A_SECOND
    story = together(
        loop(3, many),
        loop(3, 10, parent=2, pid=9000),
        loop(3, 4, name="other", pid=9500),
        loop(3, 1, name="alone", pid=9900),
    )
    execs = {(e.subject, e.fields["parent"]): e for e in events_of(story) if e.kind == "exec"}
    assert {key: event.count for key, event in execs.items()} == {
        ("agent", "init"): many,
        ("agent", "dockerd"): 10,
        ("other", "init"): 4,
        ("alone", "init"): 1,
    }
    assert execs["alone", "init"].pid == 9900
    exits = {(e.subject, e.fields["parent"]): e for e in events_of(story) if e.kind == "exit"}
    assert exits["agent", "init"].fields["lifetime_seconds"] == (many - 1) / 2 / 1000
    assert exits["agent", "dockerd"].fields["lifetime_seconds"] == 0.0045
    assert exits["other", "init"].fields["lifetime_seconds"] == 0.0015
    assert exits["other", "init"].fields["parent_pid"] == 1


def test_each_second_is_folded_by_itself_and_a_quiet_one_is_not() -> None:
    found = events_of(together(loop(3, 60), loop(4, 70), loop(5, 2)))
    execs = [(e.time_ns // S, e.count) for e in found if e.kind == "exec"]
    assert sorted(execs) == [(3, 60), (4, 70), (5, 1), (5, 1)]


def test_a_storm_of_processes_that_were_there_before_has_no_lifetime() -> None:
    exits = [child(3 * S, pid, 1) for pid in range(100, 200)]
    (event,) = events_of(
        Story(named=[INIT, *((0, p, p, "old") for p in range(100, 200))], exits=exits)
    )
    assert (event.subject, event.count) == ("old", 100)
    assert "lifetime_seconds" not in event.fields


def test_a_storm_costs_as_many_events_as_it_has_names() -> None:
    pids = np.arange(2000)
    story = Story(
        named=[INIT],
        execs=[(3 * S + int(p), 1000 + int(p), 1000 + int(p), f"x{p % 3}") for p in pids],
        forks=[child(3 * S, 1000 + int(p), 1) for p in pids],
    )
    assert len(events_of(story)) == 3
