"""The four tests of a link between a cause and its effect. Each says passed, failed or untested.

A test that can't be made is untested, never passed: three symptoms are too few for a statistic, and
one level of the cause has no dose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exhume.model.arrays import F64, I64
from exhume.model.case import Outcome
from exhume.model.window import Window

LEAST_EFFECTS = 3
SHIFTS = 199
MOST_EFFECTS = 500
"""Of more, evenly chosen ones say the same."""
_SLACK_NS = 1_000_000_000
_PASSES = 0.05
_RHO_PASSES, _RHO_FAILS = 0.6, 0.1
_Z_95 = 1.645
_LEAST_TO_FAIL = 5
_LEAST_SPREAD = 1.3
"""Largest to smallest dose: with less there is nothing to compare."""
_LEVELS_TO_FAIL, _LEVEL = 4, 1.1
"""Effects that differ by less are of one level: what gives up after a second is a second late each
time, however long it would have had to wait."""


def order(causes: Sequence[Window], effects: Sequence[Window]) -> Outcome:
    """Of the effects that overlap a cause: did that begin first? Clocks may differ by a second."""
    first = [
        min(cause.start_ns for cause in causes if cause.overlaps(widened(effect)))
        <= effect.start_ns + _SLACK_NS
        for effect in effects
        if any(cause.overlaps(widened(effect)) for cause in causes)
    ]
    if not first:
        return "untested"
    return "passed" if sum(first) >= 0.8 * len(first) else "failed"


def widened(window: Window, by_ns: int = _SLACK_NS) -> Window:
    return Window(window.start_ns - by_ns, window.end_ns + by_ns)


def dose(cause: Sequence[float], effect: Sequence[float]) -> Outcome:
    """More of the one, more of the other: by rank, over at least three pairs."""
    x, y = np.array(cause, np.float64), np.array(effect, np.float64)
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < LEAST_EFFECTS or not _spreads(x):
        return "untested"
    rho = rank_correlation(x, y)
    if rho >= _RHO_PASSES:
        return "passed"
    surely = (
        len(x) >= _LEAST_TO_FAIL
        and _levels(y) >= _LEVELS_TO_FAIL
        and _at_most(rho, len(x)) < _RHO_PASSES
    )
    return "failed" if rho < _RHO_FAILS and surely else "untested"


def _at_most(rho: float, count: int) -> float:
    """How large the true one may be, at 95 % (Fisher's z): few pairs contradict little."""
    return float(np.tanh(np.arctanh(max(rho, -0.999)) + _Z_95 / np.sqrt(count - 3)))


def same_length(cause: Sequence[float], effect: Sequence[float]) -> Outcome:
    """The effect lasts as long as the cause: what holds a core for 7 s makes others 7 s late."""
    pairs = [(a, b) for a, b in zip(cause, effect, strict=True) if a > 0 and b > 0]
    if not pairs:
        return "untested"
    ratios = sorted(b / a for a, b in pairs)
    middle = ratios[len(ratios) // 2]
    return "passed" if 0.5 <= middle <= 2.0 else "untested"


def _spreads(values: F64) -> bool:
    low, high = float(values.min()), float(values.max())
    return high > 0 and (low <= 0 or high / low >= _LEAST_SPREAD)


def _levels(values: F64) -> int:
    """Each that is so much more than the one below begins another."""
    found, last = 0, 0.0
    for value in np.sort(values).tolist():
        if not found or value > last * _LEVEL:
            found, last = found + 1, value
    return found


def rank_correlation(x: F64, y: F64) -> float:
    """Spearman's, ties shared."""
    a, b = _ranks(x), _ranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale else 0.0


def _ranks(values: F64) -> F64:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = last - (counts - 1) / 2
    found: F64 = middle[place].astype(np.float64)
    return found


def counterfactual(
    causes: Sequence[Window], effects: Sequence[Window], within: Window
) -> tuple[Outcome, float, float]:
    """Quiet while the cause is quiet. Also: the share of effects that meet a cause, and how often
    that share is reached when the causes are shifted in a circle (chance)."""
    if not effects:
        return "untested", np.nan, np.nan
    ends = _ends(effects[:: 1 + len(effects) // MOST_EFFECTS])
    share = _met(_ends(causes), ends)
    if len(effects) < LEAST_EFFECTS:
        return "untested", share, np.nan
    if share < 0.5:
        return "failed", share, 1.0
    length = within.end_ns - within.start_ns
    reached = 0
    for number in range(1, SHIFTS + 1):
        by = length * number // (SHIFTS + 1)
        reached += _met(_ends(_shifted(causes, by, within)), ends) >= share
    chance = (reached + 1) / (SHIFTS + 1)
    return ("passed" if chance <= _PASSES else "untested"), share, chance


def _ends(windows: Sequence[Window]) -> I64:
    """Their starts and their ends, one row each."""
    return np.array([(one.start_ns, one.end_ns) for one in windows], np.int64).reshape(-1, 2).T


def _met(causes: I64, effects: I64) -> float:
    """The share of effects that causes fill by half; a cause that is shorter must lie in it."""
    if not causes.size:
        return 0.0
    (starts, ends), (begin, end) = causes[:, None, :], effects[:, :, None]
    both = np.minimum(ends, end) - np.maximum(starts, begin)
    length = end - begin
    alone = both >= 0.5 * np.maximum(1, np.minimum(ends - starts, length))
    filled = np.maximum(both, 0).sum(axis=1) >= 0.5 * np.maximum(1, length[:, 0])
    return float((alone.any(axis=1) | filled).mean())


def _shifted(causes: Sequence[Window], by_ns: int, within: Window) -> list[Window]:
    """In a circle: what leaves at the end comes in again at the beginning."""
    moved = []
    for cause in causes:
        inside = cause.clip(within)
        if inside is None:
            continue
        length = max(1, within.end_ns - within.start_ns)
        start = within.start_ns + (inside.start_ns - within.start_ns + by_ns) % length
        end = start + (inside.end_ns - inside.start_ns)
        moved.append(Window(start, min(end, within.end_ns)))
        if end > within.end_ns:
            moved.append(Window(within.start_ns, end - length))
    return moved
