from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from exhume.ingest.overlaps import (
    THREADS_TOLD,
    Covered,
    Span,
    is_whole,
    left_out,
    note,
    some_threads,
    without,
)

NS = 1_000_000_000
SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4)


def covered(start: int, end: int, **other: object) -> Covered:
    one = Covered(
        "n", f"/x/{start}-{end}.data", ((start * NS, end * NS),), "cpu-clock", 99.0, True, (0, 1),
        (5, 6), 1000,
    )  # fmt: skip
    return replace(one, **other)


def spans(one: Covered, *better: Covered) -> list[Span]:
    return [(start // NS, end // NS) for (start, end), _ in left_out(one, better)]


def test_two_captures_of_the_whole_machine_count_once_where_they_overlap() -> None:
    assert spans(covered(10, 40), covered(20, 30, rate_hz=999.0)) == [(20, 30)]
    assert spans(covered(10, 40), covered(0, 20), covered(30, 50)) == [(10, 20), (30, 40)]
    assert spans(covered(10, 40), covered(40, 80)) == []
    assert spans(covered(10, 40), covered(10, 40, node="another")) == []


@pytest.mark.parametrize(
    ("one", "other", "is_left_out"),
    [
        ({"is_whole": False}, {"is_whole": False, "threads": (7, 8)}, False),
        ({"is_whole": False}, {"is_whole": False, "threads": (6, 8)}, True),
        ({"is_whole": False, "threads": (9,)}, {}, True),
        ({"cores": (0,)}, {"cores": (1,)}, False),
        ({"cores": ()}, {"cores": (1,)}, True),
        ({"is_whole": False, "event": "cycles"}, {"is_whole": False, "threads": (7,)}, True),
    ],
)
def test_what_tells_of_other_cores_or_threads_is_added(
    one: dict[str, object], other: dict[str, object], is_left_out: bool
) -> None:
    found = spans(covered(10, 40, **one), covered(10, 40, **other))
    assert found == ([(10, 40)] if is_left_out else [])


def test_what_is_no_measure_of_time_is_taken_only_without_one() -> None:
    switches = covered(10, 40, event="sched:sched_switch")
    assert spans(switches, covered(100, 110)) == [(10, 40)]
    assert spans(switches, covered(100, 110, event="page-faults")) == []
    assert "cpu-clock, which measures time better" in note(
        left_out(switches, [covered(100, 110)]), switches
    )


def test_captures_that_follow_each_other_may_seem_to_overlap() -> None:
    """A name tells when one was started, a second or two off."""
    assert spans(covered(0, 120), covered(118, 238)) == []
    assert spans(covered(0, 120), covered(117, 238)) == [(117, 120)]
    assert spans(covered(0, 120), covered(60, 62)) == [(60, 62)]


def test_the_best_comes_first() -> None:
    ranked = [
        covered(0, 9, rate_hz=999.0),
        covered(0, 9, rows=2000),
        covered(0, 9),
        covered(0, 9, event="cycles", rate_hz=9999.0),
        covered(0, 9, event="cpu-clock:u", rate_hz=9999.0),
        covered(0, 9, is_whole=False, rate_hz=9999.0),
        covered(0, 9, event="page-faults", rate_hz=9999.0),
    ]
    ranked.reverse()
    assert sorted(ranked, key=lambda one: one.rank) == ranked[::-1]


def test_what_was_left_out_is_told() -> None:
    one, other = covered(10, 40), covered(20, 30)
    assert note(left_out(one, [other]), one) == (
        "10 s of its samples are left out: 20-30.data has that time too, and it would count twice; "
        "import it alone to see them"
    )
    whole = note(left_out(other, [one]), other)
    assert whole.startswith("its samples are left out: 10-40.data")


@given(SPANS, SPANS)
def test_what_is_left_is_what_nobody_took(held: list[Span], taken: list[Span]) -> None:
    inside = {at for start, end in held for at in range(start, end)}
    gone = {at for start, end in taken for at in range(start, end)}
    left = without([s for s in held if s[0] < s[1]], [s for s in taken if s[0] < s[1]])
    assert {at for start, end in left for at in range(start, end)} == inside - gone


@pytest.mark.parametrize(
    ("command", "idle", "tid", "expected"),
    [
        ("perf record -F 99 -ag -- sleep 1", 0, [5], True),
        ("perf record -a", 0, [5], True),
        ("perf record --all-cpus -g", 0, [5], True),
        ("perf record -C 0-3 -g", 0, [5], True),
        ("perf record -g -p 70", 0, [5], False),
        ("/usr/bin/perf record -q -e cpu-clock -F 99 -a -g -o x.data -- sleep 4", 0, [5], True),
        ("perf record -g --call-graph=fp ./train -a", 0, [5], False),
        ("perf record -o a -p 70 -- sleep -a", 0, [5], False),
        ("perf record -a -G docker/1d56 -- sleep 9", 0, [5], False),
        ("perf record --cgroup=x -a", 0, [5], False),
        ("perf record -I -b -W --max-size 1G -agF 99 ./train", 0, [5], True),
        ("perf record -z3 -r 1 -D 9 -a", 0, [5], True),
        ("perf record -ga -- ./train", 0, [5], True),
        ("perf record -gp 70", 0, [5], False),
        ("perf record -g", 7, [5], True),
        ("", 0, [0, 5], True),
        ("", 0, [5], False),
    ],
)
def test_a_capture_of_whoever_ran_shows_by_its_command_or_the_idle_task(
    command: str, idle: int, tid: list[int], expected: bool
) -> None:
    assert is_whole(command, idle, np.array(tid, np.int32)) is expected


def test_the_same_threads_are_told_of_the_same() -> None:
    many = np.arange(1, 5000, dtype=np.int32)
    assert some_threads(many) == some_threads(many[::-1])
    assert len(some_threads(many)) == THREADS_TOLD
    assert some_threads(np.array([0, -1], np.int32)) == ()
