"""Do zombies come in step with a program that cron starts?

Whatever runs by the clock fits any steady growth by its figures alone: a job of every minute has as
many starts as any hour has minutes. So of such a one more is asked than a likely number a start.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from exhume.model.arrays import F64, I64
from exhume.model.case import Outcome

LEAST_AGREEMENT = 0.5
_LEAST_BLOCKS, _MOST_BLOCKS, _STARTS_A_BLOCK = 3, 8, 15
_MOST_EACH = 3
_NEAR = 0.15
_MINUTE_NS = 60 * 1_000_000_000
_NEARLY_ALL = 0.9

Step = Literal["in step", "as many", ""]


def in_step(started: I64, gained: F64, agreement: float, counterfactual: Outcome) -> Step:
    """`in step`: they come when it starts, and not when it does not. `as many`: the same whole
    number with each start throughout, which another job of that pace would show as well."""
    if counterfactual == "passed" or agreement >= LEAST_AGREEMENT:
        return "in step"
    blocks = min(_MOST_BLOCKS, int(started.sum()) // _STARTS_A_BLOCK)
    if blocks < _LEAST_BLOCKS:
        return ""
    ratios = np.array(
        [
            float(gained[part].sum()) / max(1, int(started[part].sum()))
            for part in np.array_split(np.arange(len(started)), blocks)
        ]
    )
    each = round(float(np.median(ratios)))
    is_steady = bool((np.abs(ratios - each) <= _NEAR * each).all())
    return "as many" if 1 <= each <= _MOST_EACH and is_steady else ""


def start_together(one: I64, other: I64) -> bool:
    """In the same minutes, nearly always: then which of the two it is can't be told."""
    ours, theirs = np.unique(one // _MINUTE_NS), np.unique(other // _MINUTE_NS)
    both = len(np.intersect1d(ours, theirs))
    return both >= _NEARLY_ALL * max(1, len(ours), len(theirs))
