"""Starts that left nothing: the count of zombies stood still meanwhile."""

from __future__ import annotations

import numpy as np

from exhume.derive.looks import ASKED_EVERY_NS, Looks
from exhume.derive.runs import where_true
from exhume.derive.starts import MOST_LIFETIME_SECONDS
from exhume.diagnose.gains import LEAST_GAIN, Gains
from exhume.model.arrays import I64
from exhume.model.lifecycles import Lifecycle

_LEAST_MISSED = 6
"""Zombies of one stretch: with fewer it may be chance that none came."""
_STANDS, _WOBBLES, _MANY = 0.05, 0.35, 0.25
_MOST_NUMBERED = 60_000
"""The kernel has 65,535 numbers for memory cgroups, dead ones included."""


def in_vain(
    one: Lifecycle,
    gains: Gains,
    wall: I64,
    count: I64,
    started: I64,
    per_start: float,
    looks: Looks,
) -> str:
    """What says that many of its starts left nothing: the count stood still meanwhile.

    The last ones of such a stretch may not have left theirs yet, and the first ones that a look
    told of may have come before it. Where few came, nothing would show; and where the kernel has no
    number left for another cgroup, nobody leaves any more.
    """
    expected = per_start * started
    least = np.maximum(_STANDS * expected, np.minimum(gains.wobble, _WOBBLES * expected))
    stands = (gains.risen <= least) & (gains.gained > -LEAST_GAIN)
    stands &= gains.level < _MOST_NUMBERED
    told_late_ns = 0 if looks.tells_each or not len(looks.wall_ns) else looks.every_ns
    lag_ns = max(ASKED_EVERY_NS, told_late_ns) + round(1e9 * lifetime_seconds(one))
    total = np.concatenate(([0], np.cumsum(count)))
    vain = 0
    for first, last in where_true(stands):
        begin_ns = int(gains.start_ns[first]) + told_late_ns
        end_ns = int(gains.end_ns[last - 1]) - lag_ns
        begin, end = np.searchsorted(wall, (begin_ns, end_ns), "right")
        starts = max(0, int(total[end] - total[begin]))
        if starts * per_start >= _LEAST_MISSED:
            vain += starts
    if vain < _MANY * started.sum() or vain * per_start < LEAST_GAIN:
        return ""
    return f"{vain:,} of its starts left nothing: the count of zombies stood still meanwhile"


def stands_still(gains: Gains) -> bool:
    """Where many were let go, as many may have come."""
    return bool(gains.gained.sum() > -LEAST_GAIN and gains.level.max() < _MOST_NUMBERED)


def lifetime_seconds(one: Lifecycle) -> float:
    return min(one.median_lifetime_seconds or 0.0, MOST_LIFETIME_SECONDS)
