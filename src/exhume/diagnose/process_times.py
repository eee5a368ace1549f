"""Where nobody was sampled: what counters of processes tell of who had a core, and who waits where.

Such counters are read every few seconds and of the main thread's last core only: they name whom to
look at, and find nobody.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.derive.rates import Intervals, rates
from exhume.diagnose.symptoms import name_and_pid
from exhume.model.case import Party
from exhume.model.observation import Observation
from exhume.model.series import MISSING
from exhume.model.window import Window

_JIFFIES = 100.0
"""In a second: what the kernel shows to user space is in hundredths, whatever its own clock."""
_HALF = 0.5
_LEAST_READINGS = 8


class TimedHolder(Struct, frozen=True):
    party: Party
    share: float
    """Of the core, over the window."""


def who_had(seen: Observation, core: int, window: Window) -> TimedHolder | None:
    """Who had at least half of a core, by its own times."""
    took: dict[str, float] = {}
    for field in ("process.user", "process.system"):
        for one in seen.series.get(field, ()):
            if _cores(seen, one.instance, window) == {core}:
                part = _within(rates(one).per_second, window) / _JIFFIES
                took[one.instance] = took.get(one.instance, 0.0) + part
    if not took:
        return None
    instance, seconds = max(took.items(), key=lambda item: (item[1], item[0]))
    share = seconds / max(window.seconds, 1e-9)
    comm, pid = name_and_pid(instance)
    return TimedHolder(Party(comm=comm, pid=pid, core=core), share) if share >= _HALF else None


def cores_of(seen: Observation, comm: str) -> tuple[int, ...]:
    """Where processes of that name were each time that somebody looked, often enough to tell."""
    found = [
        one.values[one.values != MISSING]
        for one in seen.series.get("process.core", ())
        if name_and_pid(one.instance)[0] == comm
    ]
    values = np.concatenate(found) if found else np.empty(0, np.int64)
    if len(values) < _LEAST_READINGS:
        return ()
    return tuple(sorted({int(core) for core in values}))


def _cores(seen: Observation, instance: str, window: Window) -> set[int]:
    """By the readings in the window, and the first after it, which tells of its end."""
    one = seen.instance("process.core", instance)
    if one is None:
        return set()
    known = one.values != MISSING
    wall, values = one.wall_ns[known], one.values[known]
    last = int(np.searchsorted(wall, window.end_ns, "right")) + 1
    return {int(core) for core in values[np.searchsorted(wall, window.start_ns) : last]}


def _within(intervals: Intervals, window: Window) -> float:
    """What it gained there, if it came evenly."""
    both = np.minimum(intervals.end_ns, window.end_ns) - np.maximum(
        intervals.start_ns, window.start_ns
    )
    part = np.maximum(both, 0) / 1e9 * intervals.values
    return float(np.nansum(part))
