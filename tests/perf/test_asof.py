from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.arrays import I64
from exhume.perf.asof import NOTHING_SAID, UNKNOWN, Statement, last_before, with_inheritance

SMALL = st.integers(0, 6)
ROWS = st.lists(st.tuples(SMALL, SMALL), max_size=12)
SAID = st.lists(st.tuples(SMALL, SMALL, st.integers(0, 99)), max_size=10)


def columns(rows: Sequence[tuple[int, ...]], width: int) -> list[I64]:
    return list(np.array(rows, np.int64).reshape(-1, width).T)


def statement(rows: Sequence[tuple[int, int, int]]) -> Statement:
    """(time, key, value) each."""
    return Statement(*columns(rows, 3))


def naive_last_before(rows: Sequence[tuple[int, int]], key: int, position: int) -> int:
    best = UNKNOWN
    for index, (row_key, row_position) in enumerate(rows):
        is_candidate = row_key == key and row_position <= position
        if is_candidate and (best == UNKNOWN or row_position >= rows[best][1]):
            best = index
    return best


@given(ROWS, ROWS)
@settings(deadline=None)
def test_the_last_row_before_is_what_a_plain_loop_finds(
    rows: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    found = last_before(*columns(rows, 2), *columns(asked, 2))
    assert found.tolist() == [naive_last_before(rows, *question) for question in asked]


def test_of_rows_at_one_position_the_last_counts_and_a_question_at_it_sees_it() -> None:
    said = statement([(5, 1, 10), (5, 1, 20), (4, 1, 30)])
    assert said.at(np.array([1, 1, 1]), np.array([3, 4, 5])).tolist() == [UNKNOWN, 30, 20]


def test_extreme_positions_are_in_order_too() -> None:
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    said = statement([(lowest, 1, 7), (highest, 1, 8)])
    asked = np.array([lowest, -1, highest - 1, highest])
    assert said.at(np.ones(4, np.int64), asked).tolist() == [7, 7, 7, 8]


def test_nothing_said_answers_nothing_and_nobody_asked_gets_nothing() -> None:
    assert NOTHING_SAID.at(np.array([1]), np.array([1])).tolist() == [UNKNOWN]
    assert statement([(1, 1, 1)]).at(np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []


Forked = tuple[int, int, int]
"""Time, child, parent."""


def naive_value(
    said: Sequence[tuple[int, int, int]], forks: Sequence[Forked], key: int, time: int
) -> int:
    """Replay everything in order of time; at one time forks come first, then what is said."""
    events = [(t, 0, index, k, p) for index, (t, k, p) in enumerate(forks)]
    events += [(t, 1, index, k, v) for index, (t, k, v) in enumerate(said)]
    value: dict[int, int] = {}
    for at, kind, _, subject, what in sorted(events):
        if at > time:
            break
        value[subject] = value.get(what, UNKNOWN) if kind == 0 else what
    return value.get(key, UNKNOWN)


@st.composite
def family(draw: st.DrawFn) -> tuple[list[tuple[int, int, int]], list[Forked]]:
    """Every fork at a time of its own: what forks at one instant in a chain is nobody's promise."""
    said = [(2 * t, key, value) for t, key, value in draw(SAID)]
    times = draw(st.lists(st.integers(0, 6), unique=True, max_size=7))
    forks = [(2 * t + 1, draw(SMALL), draw(SMALL)) for t in times]
    return said, [fork for fork in forks if fork[1] != fork[2]]


@given(family(), st.lists(st.tuples(SMALL, st.integers(0, 14)), max_size=8))
@settings(deadline=None, max_examples=200)
def test_children_inherit_what_a_replay_in_order_of_time_gives_them(
    told: tuple[list[tuple[int, int, int]], list[Forked]], asked: list[tuple[int, int]]
) -> None:
    said, forks = told
    fork_time, child, parent = columns(forks, 3)
    known = with_inheritance(statement(said), fork_time, child, parent)
    key, time = columns(asked, 2)
    expected = [naive_value(said, forks, *question) for question in asked]
    assert known.at(key, time).tolist() == expected


def test_a_chain_of_forks_without_a_word_of_their_own_inherits_from_the_first() -> None:
    generations = 3000
    time = np.arange(1, generations + 1)
    known = with_inheritance(statement([(0, 0, 42)]), time, time, time - 1)
    assert known.at(time, np.full(generations, generations)).tolist() == [42] * generations


def test_a_reused_id_does_not_pass_on_what_it_was_in_its_former_life() -> None:
    # 7 was once told to be 99; it is forked anew by 1 and forks 8.
    said = statement([(0, 1, 42), (0, 7, 99)])
    known = with_inheritance(said, np.array([10, 20]), np.array([7, 8]), np.array([1, 7]))
    assert known.at(np.array([7, 7, 8]), np.array([5, 15, 25])).tolist() == [99, 42, 42]


def test_a_reused_id_with_an_unknown_parent_is_unknown() -> None:
    known = with_inheritance(statement([(0, 7, 99)]), np.array([10]), np.array([7]), np.array([1]))
    assert known.at(np.array([7, 7]), np.array([5, 15])).tolist() == [99, UNKNOWN]


def test_what_is_said_of_a_child_at_the_instant_of_its_fork_overrides() -> None:
    said = statement([(0, 1, 42), (10, 2, 43)])
    known = with_inheritance(said, np.array([10]), np.array([2]), np.array([1]))
    assert known.at(np.array([2]), np.array([10])).tolist() == [43]


def test_forks_that_go_round_in_a_circle_end_in_nothing() -> None:
    # Only damage can say so: two processes that forked each other at one instant.
    known = with_inheritance(NOTHING_SAID, np.array([5, 5]), np.array([1, 2]), np.array([2, 1]))
    assert known.at(np.array([1, 2]), np.array([9, 9])).tolist() == [UNKNOWN, UNKNOWN]
