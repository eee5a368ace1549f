"""Did the victim wait for a core at all? Whoever waits for a disk, a lock or a peer looks the same
in a log, and somebody is always on its core meanwhile.
"""

from __future__ import annotations

import numpy as np

from exhume.derive.rates import rates
from exhume.diagnose.four_tests import widened
from exhume.diagnose.measured import is_covered
from exhume.diagnose.scene import Scene
from exhume.diagnose.second_opinion import left_no_pressure
from exhume.diagnose.symptoms import name_and_pid
from exhume.model.observation import CoreLoad
from exhume.model.window import Window

_LEAST_WAITED = 0.1
_IDLE_PERCENT = 5.0
_SLACK_NS = 1_000_000_000
"""At both ends: clocks may differ by a second, and harm begins within one that was partly free."""
_LONGEST_NS = 5_000_000_000
_LEAST_SECONDS = 3.0
_HALF = 0.5


def not_waiting(scene: Scene) -> str:
    """What says that the victim was not kept from a core; empty where nothing does."""
    victim = scene.symptom.victim
    if not scene.symptom.is_late:
        return f"{victim.name} was refused at once: nobody kept it waiting"
    waited = harmed = 0.0
    for one in scene.seen.series.get("process.wait_ns", ()):
        if name_and_pid(one.instance)[0] != victim.comm:
            continue
        found = rates(one)
        for like in scene.like:
            around = widened(like.window)
            here = (found.per_second.end_ns > around.start_ns) & (
                found.per_second.start_ns < around.end_ns
            )
            if here.any() and np.isfinite(found.rise[here]).all():
                waited += float(found.rise[here].sum()) / 1e9
                harmed += like.window.seconds
    if harmed and waited < _LEAST_WAITED * harmed:
        return f"{victim.name} waited only {waited:.2f} s for a core in {harmed:.0f} s of harm"
    return _left_no_trace(scene)


def _left_no_trace(scene: Scene) -> str:
    """Who waits for a core leaves pressure, whoever has the core."""
    if scene.symptom.kind != "job-failure":
        return ""
    long = [one.window for one in scene.like if one.window.seconds >= _LEAST_SECONDS]
    free = [window for window in long if left_no_pressure(scene.seen, window)]
    if not free or len(free) < _HALF * len(long):
        return ""
    return (
        f"{scene.symptom.victim.name} did not wait for a core: hardly anybody did, by the "
        "pressure on the cores"
    )


def had_room(scene: Scene) -> str:
    """A core is never idle while somebody is ready to run on it. Of a job's failure: what else is
    harm was seen to wait for the core, or told by the kernel."""
    load = scene.seen.load
    if load is None or scene.core not in load.cores or scene.symptom.kind != "job-failure":
        return ""
    column, seconds, known, idle = load.cores.index(scene.core), 0.0, 0, []
    for one in scene.like:
        part = _inside(load, one.window)
        free = 100.0 - part.busy()[:, column]
        if not len(free) or not np.isfinite(free).all():
            continue
        known += 1
        if (free >= _IDLE_PERCENT).all():
            idle.append(float(free.mean()))
            seconds += float((part.end_ns - part.start_ns).sum()) / 1e9
    if seconds < _LEAST_SECONDS or len(idle) < _HALF * known:
        return ""
    percent = float(np.median(idle))
    return (
        f"CPU {scene.core} was idle for {percent:.0f} % of that time, all along: whoever is ready "
        f"runs then, so {scene.symptom.victim.name} waited for something else"
    )


def to_be_asked(scene: Scene) -> tuple[str, ...]:
    """Where nobody is to blame for it by who had the cores: what tells more, next time."""
    one = scene.symptom
    is_sampled = bool(scene.seen.timed) and is_covered(one.window, scene.seen.timed)
    if one.kind != "job-failure" or not one.is_late or not is_sampled:
        return ()
    return (
        f"if {one.victim.name} waited for something else than a core (a disk, a lock, a peer), "
        "samples don't show it: while it is late `cat /proc/PID/stack` of its threads does, or "
        "`echo w > /proc/sysrq-trigger`, which writes the stacks of all that are blocked to the "
        "kernel log",
    )


def _inside(load: CoreLoad, harm: Window) -> CoreLoad:
    """Its readings that lie in the harm from end to end, and are short enough to tell of it."""
    inside = (load.start_ns >= harm.start_ns + _SLACK_NS) & (load.end_ns <= harm.end_ns - _SLACK_NS)
    inside &= load.end_ns - load.start_ns <= _LONGEST_NS
    return CoreLoad(
        load.cores, load.start_ns[inside], load.end_ns[inside], load.permille[:, inside]
    )
