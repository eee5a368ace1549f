"""What the number of zombies that come with each start says for a suspect, and against it."""

from __future__ import annotations

import numpy as np

from exhume.diagnose.gains import Gains
from exhume.diagnose.in_step import LEAST_AGREEMENT
from exhume.model.arrays import F64, I64
from exhume.model.case import Outcome

LEAST_PER_START, MOST_PER_START = 0.2, 10.0
"""A start makes one memory cgroup, or a few: a pod with its containers, a unit with its scopes."""
_EVEN = 0.1
"""Such a part of a pace is its own wobble."""
_LEAST_STEADY, _STEADY = 3, 0.5
_MOSTLY = 0.5
_TOO_FEW = "{:.2f} zombies a start: it starts far more often"


def by_ratio(
    gains: Gains,
    started: I64,
    per_start: float,
    follow: bool | None,
    *,
    makes: bool,
    is_program: bool,
) -> tuple[Outcome, str]:
    """As many as one start may leave; and what speaks against it. It may as well make dozens at
    once, if each start brought about as many: two intervals can't prove that, nor can two things
    of a steady pace each, unless it was seen to make cgroups (`makes`). `follow`: do they come with
    its starts? None: that can't be told. `is_program`: known by its name alone."""
    if per_start < LEAST_PER_START:
        return "failed", _TOO_FEW.format(per_start)
    if per_start <= MOST_PER_START:
        return "passed", ""
    noted = started > 0
    low, middle, high = np.percentile(gains.gained[noted] / started[noted], (25, 50, 75))
    if middle > 0 and high - low <= _STEADY * middle and follow is not False:
        if noted.sum() >= _LEAST_STEADY and (follow or makes):
            return "passed", ""
        if not is_program or makes:
            return "untested", ""
    return "failed", f"{per_start:.0f} zombies a start: they come from elsewhere"


def follows(
    pace: F64, agreement: float, counterfactual: Outcome, *, is_program: bool
) -> bool | None:
    """Where it starts at an even pace, interval by interval, the order of those is chance. And
    whatever loops on a node is slowed down together when that is held up: by that alone no program
    is told from any other, such as the `sleep 1` of who collects the evidence."""
    if counterfactual == "passed":
        return True
    if not np.isfinite(agreement) or float(pace.std()) <= _EVEN * float(pace.mean()):
        return None
    if agreement >= LEAST_AGREEMENT:
        return None if is_program else True
    return False


def by_bound(at_most: float, explained: float) -> tuple[Outcome, str]:
    """The same where looks miss starts: there were more, and each left fewer. So too many speak
    against nobody, and for it only if most zombies came about when looks saw it started."""
    if at_most < LEAST_PER_START:
        return "failed", _TOO_FEW.format(at_most)
    fits = at_most <= MOST_PER_START and explained > _MOSTLY
    return "passed" if fits else "untested", ""
