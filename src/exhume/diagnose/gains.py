"""What the count of zombies gained, from one valid count to the next."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.diagnose.zombie_counts import counts_of
from exhume.model.arrays import F64, I64
from exhume.model.observation import Observation

NEARLY_ALL = 0.9
LEAST_GAIN = 20
"""Fewer come and go by the counting alone: the living are counted a moment apart from all."""
_SOME = 0.1


class Gains(Struct, frozen=True):
    """From one valid count of zombies to the next."""

    start_ns: I64
    end_ns: I64
    gained: F64
    level: F64
    """At the end."""
    is_upper: bool
    """Living cgroups are counted with them."""
    risen: F64
    """What came, without what only seemed to: it makes up for a small fall before."""

    @property
    def wobble(self) -> float:
        """By how much the count is off now and then, as small falls show."""
        falls = -self.gained[(self.gained < 0) & (self.gained > -LEAST_GAIN)]
        return float(np.median(falls)) if len(falls) > _SOME * len(self.gained) else 0.0


def gains_of(seen: Observation) -> Gains | None:
    counts = counts_of(seen, least=2)
    if len(counts.values) < 2:
        return None
    wall = counts.wall_ns
    gained = np.diff(counts.values)
    return Gains(
        wall[:-1], wall[1:], gained, counts.values[1:], counts.is_upper, risen_of(gained)
    )  # fmt: skip


def risen_of(gained: F64) -> F64:
    risen, owed = np.zeros(len(gained)), 0.0
    for at, one in enumerate(gained.tolist()):
        if one > 0:
            risen[at] = max(0.0, one - owed)
        if one > -LEAST_GAIN:  # when many were freed, those that come after are others
            owed = max(0.0, owed - one)
    return risen


def heard(seen: Observation, gains: Gains) -> Gains:
    """Those in which starts of processes were recorded, if there are any: where a capture has ended
    nobody was quiet."""
    length = np.maximum(1, gains.end_ns - gains.start_ns)
    share = np.zeros(len(length))
    for one in seen.sampled:
        both = np.minimum(gains.end_ns, one.end_ns) - np.maximum(gains.start_ns, one.start_ns)
        share += np.maximum(both, 0) / length
    here = share >= NEARLY_ALL
    if not here.any():
        return gains
    return Gains(
        gains.start_ns[here], gains.end_ns[here], gains.gained[here], gains.level[here],
        gains.is_upper, gains.risen[here],
    )  # fmt: skip


def covered(gains: Gains, begin: I64, end: I64) -> F64:
    """How much of each interval lies in these stretches, which may overlap."""
    if not len(begin):
        return np.zeros(len(gains.start_ns))
    # Stretches that meet are one; what they cover of an interval is read off the running sum.
    apart = np.append(True, begin[1:] > end[:-1])
    edges = np.stack((begin[apart], end[np.append(apart[1:], True)]), axis=1).ravel()
    lengths = np.diff(edges, prepend=edges[0])
    lengths[::2] = 0  # from the end of one to the beginning of the next
    so_far = np.cumsum(lengths)
    known = np.interp(gains.end_ns, edges, so_far) - np.interp(gains.start_ns, edges, so_far)
    found: F64 = known / np.maximum(1, gains.end_ns - gains.start_ns)
    return found
