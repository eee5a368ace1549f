from __future__ import annotations

import math
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.fleet import statistics
from exhume.model.arrays import I64


def row(*numbers: int) -> list[I64]:
    return [np.array([number], np.int64) for number in numbers]


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, int, int, int]:
    nodes = draw(st.integers(2, 60))
    ill = draw(st.integers(1, nodes - 1))
    marked = draw(st.integers(0, nodes))
    return draw(st.integers(max(0, ill + marked - nodes), min(ill, marked))), marked, ill, nodes


@settings(deadline=None)
@given(tables())
def test_both_tails_are_those_of_counting(table: tuple[int, int, int, int]) -> None:
    drawn, marked, ill, nodes = table
    ways = {
        x: comb(marked, x) * comb(nodes - marked, ill - x)
        for x in range(max(0, ill + marked - nodes), min(ill, marked) + 1)
    }
    upper, lower = statistics.fisher(*row(*table))
    total = comb(nodes, ill)
    assert math.exp(upper[0]) == pytest.approx(
        sum(w for x, w in ways.items() if x >= drawn) / total
    )
    assert math.exp(lower[0]) == pytest.approx(
        sum(w for x, w in ways.items() if x <= drawn) / total
    )


def test_three_against_three_can_not_be_less_than_one_in_twenty() -> None:
    upper, _ = statistics.fisher(*row(3, 3, 3, 6))
    assert math.exp(upper[0]) == pytest.approx(0.05)


def test_ten_thousand_nodes_do_not_underflow() -> None:
    upper, lower = statistics.fisher(*row(4000, 4000, 4000, 10_000))
    assert upper[0] == pytest.approx(-math.log(comb(10_000, 4000)), rel=1e-9)
    assert lower[0] == 0.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=9), st.data())
def test_a_chosen_threshold_is_worth_what_all_drawings_say(
    values: list[int], data: st.DataObject
) -> None:
    _, rank = np.unique(values, return_inverse=True)
    nodes = len(values)
    ill = data.draw(st.sets(st.integers(0, nodes - 1), min_size=1, max_size=nodes - 1))
    if rank.max() == 0:
        return

    def gap(chosen: frozenset[int]) -> float:
        inside = np.isin(np.arange(nodes), list(chosen))
        return max(
            float((rank > cut)[inside].mean() - (rank > cut)[~inside].mean())
            for cut in range(rank.max())
        )

    seen = gap(frozenset(ill))
    draws = [gap(frozenset(c)) >= seen - 1e-9 for c in combinations(range(nodes), len(ill))]
    expected = sum(draws) / len(draws) if seen > 0 else 1.0
    is_ill = np.isin(np.arange(nodes), list(ill)).astype(float)
    ((_, upper, _),) = statistics.best_cuts([(rank.astype(np.int64), is_ill)])
    assert math.exp(upper) == pytest.approx(expected)


def test_a_threshold_in_a_large_fleet_is_found_and_paid_for() -> None:
    rank = np.arange(1000)
    is_ill = (rank >= 700).astype(float)
    ((cut, upper, lower),) = statistics.best_cuts([(rank, is_ill)])
    assert cut == 699
    assert upper == pytest.approx(-math.log(comb(1000, 300)) + math.log(999))
    assert lower == 0.0


def test_thresholds_of_noise_are_rarely_claimed() -> None:
    random = np.random.default_rng(7)
    columns = []
    for _ in range(400):
        _, rank = np.unique(random.integers(0, 50, 120), return_inverse=True)
        columns.append((rank.astype(np.int64), (random.random(120) < 0.3).astype(float)))
    low = [min(up, down) <= math.log(0.025) for _, up, down in statistics.best_cuts(columns)]
    assert sum(low) <= 0.07 * len(low)


def test_false_discoveries_are_counted_as_benjamini_and_hochberg_do() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.5])
    assert statistics.benjamini_hochberg(np.log(p)).tolist() == pytest.approx(
        [0.04, 0.16 / 3, 0.16 / 3, 0.5]
    )
    assert statistics.benjamini_hochberg(np.log(p), 8)[0] == pytest.approx(0.08)


def test_strata_that_never_differ_say_nothing() -> None:
    # Where the other holds, all have it; where it doesn't, none has.
    table = [np.array(pair, np.int64) for pair in ((5, 0), (5, 0), (5, 0), (5, 5))]
    assert statistics.stratified(*table) is None


def test_strata_are_summed_exactly_and_for_many_nodes_nearly() -> None:
    small = statistics.stratified(
        *(np.array(pair, np.int64) for pair in ((3, 3), (3, 3), (3, 3), (6, 6)))
    )
    assert small == pytest.approx(0.05**2)
    large = [
        np.array(pair, np.int64)
        for pair in ((1030, 1030), (2000, 2000), (2000, 2000), (4000, 4000))
    ]
    approximate = statistics.stratified(*large)
    assert approximate is not None
    assert 0.001 < approximate < 0.01
