"""The statistics of a comparison, vectorised: exact tails, best thresholds, false discoveries.

Everything is in natural logarithms: with ten thousand nodes a p-value has thousands of zeros. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from exhume.model.arrays import F64, I64

EXACT_NODES = 64
"""Up to so many nodes the correction for choosing a threshold is exact; above that it is one for
each threshold that might have been chosen, which costs little where nodes are many."""
_SETTLED = 1e-17
_MAX_SUPPORT = 600


@lru_cache(maxsize=4)
def _log_factorials(largest: int) -> F64:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, largest + 1)))])


def log_pmf(drawn: I64, marked: I64, ill: I64, nodes: I64) -> F64:
    """log P(X = drawn): so many of the `ill` are among the `marked`, were it by chance."""
    fact = _log_factorials(int(nodes.max(initial=1)))
    well = nodes - ill
    rest = marked - drawn
    found: F64 = (
        fact[ill] - fact[drawn] - fact[ill - drawn]
        + fact[well] - fact[rest] - fact[well - rest]
        - fact[nodes] + fact[marked] + fact[nodes - marked]
    )  # fmt: skip
    return found


def fisher(drawn: I64, marked: I64, ill: I64, nodes: I64) -> tuple[F64, F64]:
    """One-sided Fisher tests in both directions: log P(X ≥ drawn) and log P(X ≤ drawn).

    The tail that leads away from the mode is summed, the other one follows from it.
    """
    if len(drawn) == 0:
        return np.zeros(0), np.zeros(0)
    drawn, marked, ill, nodes = (np.asarray(x, np.int64) for x in (drawn, marked, ill, nodes))
    point = log_pmf(drawn, marked, ill, nodes)
    mode = ((marked + 1) * (ill + 1)) // (nodes + 2)
    is_upper = drawn >= mode
    total, term = np.ones(len(drawn)), np.ones(len(drawn))
    at = drawn.copy()
    alive = np.flatnonzero(np.isfinite(point))
    while len(alive):
        x, k, n, big = at[alive], marked[alive], ill[alive], nodes[alive]
        up = is_upper[alive]
        rising = (k - x) * (n - x) / np.maximum(1.0, (x + 1.0) * (big - k - n + x + 1.0))
        falling = x * (big - k - n + x) / np.maximum(1.0, (k - x + 1.0) * (n - x + 1.0))
        term[alive] *= np.where(up, rising, falling)
        total[alive] += term[alive]
        at[alive] += np.where(up, 1, -1)
        alive = alive[term[alive] > _SETTLED * total[alive]]
    tail = np.minimum(0.0, point + np.log(total))
    other = np.minimum(0.0, np.logaddexp(_log_complement(tail), point))
    return np.where(is_upper, tail, other), np.where(is_upper, other, tail)


def least_attainable(marked: I64, ill: I64, nodes: I64) -> F64:
    """The smallest log p any arrangement of the ill could give; by the margins alone."""
    upper = log_pmf(np.minimum(marked, ill), marked, ill, nodes)
    lower = log_pmf(np.maximum(0, ill + marked - nodes), marked, ill, nodes)
    return np.minimum(upper, lower)


def best_cuts(columns: Sequence[tuple[I64, F64]]) -> list[tuple[int, float, float]]:
    """For each column the threshold that separates best, and what that is worth after choosing it.

    A column is the rank of each node (0…, equal for equal values) and 1.0 for the ill. A result is
    the cut (who has a rank above it, and who has not) and the log p that the ill are above, and
    below, corrected.
    """
    found: list[tuple[int, float, float]] = []
    open_places: list[int] = []
    chosen: list[tuple[int, int, int]] = []
    rows: list[tuple[int, int, int, int]] = []
    for rank, is_ill in columns:
        highest = int(rank.max())
        ill_at = np.bincount(rank, weights=is_ill, minlength=highest + 1)
        all_at = np.bincount(rank, minlength=highest + 1)
        nodes, ill = len(rank), round(float(ill_at.sum()))
        above = nodes - np.cumsum(all_at)[:-1]
        ill_above = np.rint(ill - np.cumsum(ill_at)[:-1]).astype(np.int64)
        if nodes <= EXACT_NODES:
            found.append(_exact_cut(all_at, above, ill_above, nodes, ill))
            continue
        z = (ill_above - ill * (above / nodes)) / np.sqrt(above * (nodes - above))
        up, down = int(np.argmax(z)), int(np.argmin(z))
        open_places.append(len(found))
        chosen.append((up, down, highest))
        found.append((up, 0.0, 0.0))
        rows += [(int(ill_above[cut]), int(above[cut]), ill, nodes) for cut in (up, down)]
    upper, lower = fisher(*np.array(rows, np.int64).reshape(-1, 4).T)
    for order, place in enumerate(open_places):
        up, down, tried = chosen[order]
        log_up = min(0.0, float(upper[2 * order]) + math.log(tried))
        log_down = min(0.0, float(lower[2 * order + 1]) + math.log(tried))
        found[place] = (up if log_up <= log_down else down, log_up, log_down)
    return found


def _exact_cut(
    all_at: I64, above: I64, ill_above: I64, nodes: int, ill: int
) -> tuple[int, float, float]:
    gap = ill_above / ill - (above - ill_above) / (nodes - ill)
    up, down = int(np.argmax(gap)), int(np.argmin(gap))
    log_up = _log_chance_of_gap(np.cumsum(all_at[::-1]), nodes, ill, float(gap[up]))
    log_down = _log_chance_of_gap(np.cumsum(all_at), nodes, ill, float(-gap[down]))
    return (up if gap[up] >= -gap[down] else down), log_up, log_down


def _log_chance_of_gap(ends: I64, nodes: int, ill: int, gap: float) -> float:
    """Smirnov's one-sided test, exact with ties: how likely is a gap so large, were the ill drawn
    at random? Walks from one end through the nodes, whose groups of equals end at `ends`, with the
    odds of how many of them were ill."""
    if gap <= 0:
        return 0.0
    well = nodes - ill
    checks = set(ends.tolist()[:-1])
    counts = np.arange(ill + 1)
    odds = np.zeros(ill + 1)
    odds[0] = 1.0
    reached = 0.0
    for seen in range(1, nodes):
        left = nodes - seen + 1
        next_ill = (ill - counts) / left  # more than 1 only where the odds are 0
        moved = odds * next_ill
        odds = odds * (1.0 - next_ill)
        odds[1:] += moved[:-1]
        if seen in checks:
            gaps = counts / ill - (seen - counts) / well
            hit = gaps >= gap - 1e-9
            reached += float(odds[hit].sum())
            odds[hit] = 0.0
    return min(0.0, math.log(reached)) if reached > 0 else -math.inf


def benjamini_hochberg(log_p: F64, tests: int | None = None, ranks: I64 | None = None) -> F64:
    """q-values; `tests` where more were made than are listed here. `ranks`: in the order of p, how
    many different ones there are up to each; by default each counts."""
    count = len(log_p) if tests is None else tests
    if len(log_p) == 0:
        return np.zeros(0)
    order = np.argsort(log_p, kind="stable")
    places = np.arange(1, len(log_p) + 1) if ranks is None else ranks
    scaled = log_p[order] + math.log(count) - np.log(places)
    smallest = np.minimum.accumulate(scaled[::-1])[::-1]
    found = np.empty(len(log_p))
    found[order] = np.exp(np.minimum(0.0, smallest))
    return found


def stratified(drawn: I64, marked: I64, ill: I64, nodes: I64) -> float | None:
    """P(Σ X ≥ Σ drawn) over strata: does it matter where the other is the same? One-sided.

    None where no stratum has both, so that nothing can be said. Exact while that is cheap, else
    Mantel and Haenszel's normal approximation.
    """
    informative = (marked > 0) & (marked < nodes) & (ill > 0) & (ill < nodes)
    if not informative.any():
        return None
    a, k, n, big = drawn[informative], marked[informative], ill[informative], nodes[informative]
    if int(np.minimum(k, n).max()) <= _MAX_SUPPORT:
        low, chances = 0, np.ones(1)
        for row in range(len(a)):
            least = max(0, int(n[row] + k[row] - big[row]))
            support = np.arange(least, int(min(k[row], n[row])) + 1)
            same = np.ones(len(support), np.int64)
            pmf = np.exp(log_pmf(support, same * k[row], same * n[row], same * big[row]))
            chances, low = np.convolve(chances, pmf), low + least
        return min(1.0, float(chances[int(a.sum()) - low :].sum()))
    mean = n * (k / big)
    variance = mean * ((big - k) / big) * ((big - n) / np.maximum(1, big - 1))
    z = (float(a.sum()) - float(mean.sum()) - 0.5) / math.sqrt(float(variance.sum()))
    return 0.5 * math.erfc(z / math.sqrt(2))


def log_odds(drawn: int, marked: int, ill: int, nodes: int) -> tuple[float, float]:
    """ln of the odds ratio with half a node added everywhere, and its standard error."""
    cells = (drawn, ill - drawn, marked - drawn, nodes - ill - marked + drawn)
    a, b, c, d = (cell + 0.5 for cell in cells)
    return math.log(a * d / (b * c)), math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)


def _log_complement(log_p: F64) -> F64:
    """log(1 − p)."""
    with np.errstate(divide="ignore"):
        return np.where(
            log_p > -0.693, np.log(-np.expm1(np.minimum(log_p, -0.0))), np.log1p(-np.exp(log_p))
        )
