"""Whether a thread waited for a core as long as its counter says: what else the kernel tells. Pure.

On Linux 6.18 that counter (/proc/PID/schedstat) was seen to grow by a second in which the thread
slept, and woke on time. By its source the scheduler does so since 6.12, where a thread that falls
asleep stays in its core's queue for a while and may be moved to another's: counting begins then,
and ends when it runs again. That was read, not traced. Pressure did not grow in that second, and by
the same source leaves such threads out.
"""

from __future__ import annotations

import numpy as np

from exhume.derive.rates import rates
from exhume.model.observation import Observation
from exhume.model.window import Window

_EDGE_NS = 20_000_000
"""Around the ends of a wait: a state was read before or after the counter."""
_LEAST_SHARE = 0.1
"""Of the pressure that a wait should leave. In the two recordings it was set by, real ones left
more than four tenths of that, sleeps less than a twentieth."""


def is_denied(seen: Observation, instance: str, wait: Window) -> bool:
    """`instance` of fields of `process`. Where nobody else tells, nobody denies it."""
    return _was_asleep(seen, instance, wait) or left_no_pressure(seen, wait)


def _was_asleep(seen: Observation, instance: str, wait: Window) -> bool:
    states = seen.instance("process.runnable", instance)
    if states is None:
        return False
    inside = states.wall_ns > wait.start_ns + _EDGE_NS
    inside &= states.wall_ns < wait.end_ns - _EDGE_NS
    return bool((states.values[inside] == 0).any())


def left_no_pressure(seen: Observation, wait: Window) -> bool:
    """Pressure is the mean of all cores, weighted by how long each had something to do; the one
    that was waited for had all the time."""
    pressure = seen.node_series("pressure.cpu.some_us")
    cores = _cores_at_work(seen, wait)
    if pressure is None or cores is None:
        return False
    told = rates(pressure)
    start, end = told.per_second.start_ns, told.per_second.end_ns
    here = (end > wait.start_ns) & (start < wait.end_ns)
    if not here.any() or start[here][0] > wait.start_ns or end[here][-1] < wait.end_ns - _EDGE_NS:
        return False
    rose_us = float(told.rise[here].sum())  # NaN where it is not known: nothing is less than that
    return rose_us < _LEAST_SHARE * wait.seconds * 1e6 / cores


def _cores_at_work(seen: Observation, wait: Window) -> float | None:
    """How many there were at most, on average."""
    if seen.load is None:
        return None
    load = seen.load.within(wait)
    had_work = load.busy() + load.mode("iowait")
    if not had_work.size:
        return None
    return max(1.0, float(np.nan_to_num(had_work, nan=100.0).mean(axis=0).sum()) / 100)
