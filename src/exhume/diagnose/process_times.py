"""Where nobody was sampled: what counters of processes tell of who had a core, and who waits where.

Such counters are read every few seconds and of the main thread's last core only: they name whom to
look at, and find nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

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
_HALF, _NEARLY = 0.5, 0.9
LEAST_READINGS = 8
"""Of where a process was: one or two name a core of anybody, also of those who may run anywhere."""


class TimedHolder(Struct, frozen=True):
    party: Party
    share: float
    """Of the core, over the window."""
    is_bound: bool = False
    """At most so much, and nobody else can have had half of it."""


def who_had(seen: Observation, core: int, window: Window) -> TimedHolder | None:
    """Who had at least half of a core, by its own times; or who alone can have had nearly all of
    it, where they are read so seldom that a burst is a part of what was read."""
    took: dict[str, float] = {}
    at_most: dict[str, float] = {}
    for field in ("process.user", "process.system"):
        for one in seen.series.get(field, ()):
            if _cores(seen, one.instance, window) == {core}:
                evenly, most = _within(rates(one).per_second, window)
                took[one.instance] = took.get(one.instance, 0.0) + evenly / _JIFFIES
                at_most[one.instance] = at_most.get(one.instance, 0.0) + most / _JIFFIES
    length = max(window.seconds, 1e-9)
    instance, seconds = _most_of(took)
    if seconds >= _HALF * length:
        return TimedHolder(_party(instance, core), seconds / length)
    instance, seconds = _most_of(at_most)
    _, next_seconds = _most_of({name: most for name, most in at_most.items() if name != instance})
    if seconds >= _NEARLY * length and next_seconds < _HALF * length:
        return TimedHolder(_party(instance, core), min(1.0, seconds / length), is_bound=True)
    return None


def _most_of(seconds: Mapping[str, float]) -> tuple[str, float]:
    return max(seconds.items(), key=lambda item: (item[1], item[0]), default=("", 0.0))


def _party(instance: str, core: int) -> Party:
    comm, pid = name_and_pid(instance)
    return Party(comm=comm, pid=pid, core=core)


def cores_of(seen: Observation, comm: str) -> tuple[int, ...]:
    """Where processes of that name were each time that somebody looked, often enough to tell."""
    found = [
        one.values[one.values != MISSING]
        for one in seen.series.get("process.core", ())
        if name_and_pid(one.instance)[0] == comm
    ]
    values = np.concatenate(found) if found else np.empty(0, np.int64)
    if len(values) < LEAST_READINGS:
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


def _within(intervals: Intervals, window: Window) -> tuple[float, float]:
    """What it gained there, if it came evenly; and what at most, in so much of each interval."""
    both = np.minimum(intervals.end_ns, window.end_ns) - np.maximum(
        intervals.start_ns, window.start_ns
    )
    inside = np.maximum(both, 0) / 1e9
    gained = (intervals.end_ns - intervals.start_ns) / 1e9 * intervals.values
    most = np.minimum(gained, _JIFFIES * inside)
    return float(np.nansum(inside * intervals.values)), float(np.nansum(most))
