"""More is ready to run than there are cores: nobody keeps one to himself, and all have to wait.

A busy node harms nobody. Here somebody was late just while every core was full, or his own, and a
queue stood before it. Where that is so all day, it does not say why he was late then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from exhume.derive.rates import levels
from exhume.derive.runs import where_true
from exhume.detect import shown
from exhume.diagnose.cause import Amount, mean_of, party, weigh
from exhume.diagnose.holding import check_top
from exhume.diagnose.kernel_paths import match
from exhume.diagnose.measured import is_covered, metered, share_elsewhere
from exhume.diagnose.scene import Crowding, Proof, Scene, Step, Suspicion
from exhume.diagnose.waiting import not_waiting
from exhume.model.arrays import F64
from exhume.model.case import Actions, Confidence, Party
from exhume.model.observation import CoreLoad
from exhume.model.window import Window

_KINDS = ("job-failure", "starved-thread", "network-reset", "question")
"""Harm that may be a wait for a core."""
_PAID_FOR = ("zombie-walk", "reclaim", "lock")
_FULL_PERCENT = 90.0
_NEARLY_FULL_PERCENT = 80.0
_HALF, _MOSTLY = 0.5, 0.6
_ENDED = re.compile(r"(?i)\bexit(?:ed|s)?\b.{0,16}\b(?:code|status)\b|\bexitcode\b")
"""Of what ended by itself nobody says that it was late."""
_LEAST_PROCESSES = 4
"""Of one core: with fewer each waits for some milliseconds at a time."""
_SEVERAL = 1.5
"""Cores: more than one thread can have."""
_LEAST_SAMPLES = 2
"""Of a process: with fewer it may have come and gone, one after the other."""


def suspects(scene: Scene) -> Iterator[Suspicion]:
    load = scene.seen.load
    if load is None or scene.symptom.kind not in _KINDS:
        return
    found = None
    # Whoever may run elsewhere need not wait for one core: it must be known to be the victim's.
    if scene.core is not None and scene.core in load.cores and scene.place == "passed":
        found = _of(scene, load, scene.core)
    found = found or _of(scene, load, None)
    if found is not None:
        yield found


def is_full(load: CoreLoad, window: Window) -> bool:
    """The whole node, in that time."""
    return _is_full(load, None, window)


def _is_full(load: CoreLoad, core: int | None, window: Window) -> bool:
    """Of that time alone: a night of 96 cores has millions of cells."""
    near = load.within(window)
    return _fill(_stretches(near, _taken(near, core)), window) >= _HALF


def _of(scene: Scene, load: CoreLoad, core: int | None) -> Suspicion | None:
    """`core`: None of the whole node."""
    stretches = metered(load)
    known = [one.window for one in scene.like if is_covered(one.window, stretches)]
    met = [one for one in known if _is_full(load, core, one)]
    if not met or len(met) < _MOSTLY * len(known):
        return None
    taken = _taken(load, core)
    full = _stretches(load, taken)
    cores = len(load.cores) if core is None else 1
    ready = _ready(scene) if core is None else None
    counted = [value for one in met if ready and np.isfinite(value := ready(one))]
    waiting = float(np.median(counted)) if counted else np.nan
    is_queued = bool(waiting >= max(2 * cores, cores + _LEAST_PROCESSES))
    crowd = _crowd(scene, core, cores)
    # Programs of one name that follow each other are no crowd: then no queue stands there.
    if not is_queued and (crowd is None or np.isfinite(waiting)):
        return None
    where = f"all {cores} cores" if core is None else f"CPU {core}"
    proofs = [_times(where, met, known, load, taken)]
    if is_queued:
        proofs.append(_queue(waiting, cores, met[0]))
    if crowd is not None:
        proofs.append(_samples(crowd, where, core, met[0]))
    tests = weigh(scene, full, scene.place if core is not None else "passed", ready, stretches)
    # They are many: the number of one would be of no use.
    culprit = replace(party(scene.seen, crowd.comm), pid=None) if crowd is not None else Party()
    in_kernel = _is_in_kernel(load, full)
    victim = scene.symptom.victim
    claim = _said(crowd, where, waiting)
    open_ = "" if tests.counterfactual == "passed" else _not_tied(scene, load, taken)
    may_wait = _may_wait(scene, in_kernel=in_kernel)
    waits = "has to wait" if may_wait and not open_ else "may have to wait"
    details: dict[str, str | int | float] = {
        "mode": "system" if in_kernel else "user",
        "cores": cores,
    }
    if crowd is not None:
        details["processes"] = crowd.processes
    return Suspicion(
        kind="kernel-hog" if in_kernel else "userspace-hog",
        culprit=culprit,
        summary=f"{claim}, and {victim.name} {waits} its turn"
        + ("" if crowd is not None else "; nobody stands out")
        + open_,
        steps=(Step(claim, "mechanism" if crowd is None else "root_cause", tests, tuple(proofs)),),
        depth=0 if crowd is None else 1,
        victim=victim,
        details=details,
        actions=_actions(crowd, core),
        contradiction=not_waiting(scene),
        at_most="low"
        if crowd is None or open_ or not may_wait or _works_for_others(scene, crowd)
        else _at_most(crowd),
    )  # fmt: skip


def _not_tied(scene: Scene, load: CoreLoad, taken: F64) -> str:
    """Whoever was ready and not run needs no such proof."""
    if scene.symptom.kind == "starved-thread":
        return ""
    full = _stretches(load, taken, _NEARLY_FULL_PERCENT)
    harms = [one.window for one in (*scene.like, *scene.others)]
    share = share_elsewhere(full, harms, metered(load))
    if share < _HALF:
        return ""
    if np.isnan(share):
        return "; whether it is so at other times, too, is not known"
    return f"; but so it is for {100 * share:.0f} % of the time that nobody is harmed"


def _may_wait(scene: Scene, *, in_kernel: bool) -> bool:
    """The network is served by interrupts, which whoever is in user mode does not keep waiting."""
    if scene.symptom.kind == "network-reset" and not in_kernel:
        return False
    return not all(_ENDED.search(one.text) for one in scene.like)


def _at_most(crowd: Crowding) -> Confidence:
    """Whoever takes as much of it at other times does not explain why it was just then."""
    has_risen = crowd.usual is not None and crowd.usual <= _HALF * crowd.share
    return "high" if has_risen else "medium"


def _works_for_others(scene: Scene, crowd: Crowding) -> bool:
    """What takes so long is somebody else's doing: then the crowd is the mechanism alone."""
    looked_at = (stall.close_up.during for stall in scene.stalls if stall.close_up is not None)
    own = (one for during in looked_at for one in during.occupants if one.comm == crowd.comm)
    return any(
        (found := match(one.frames, path)) is not None and found.share >= _HALF
        for one in own
        for path in _PAID_FOR
    )


def _taken(load: CoreLoad, core: int | None) -> F64:
    """Percent by interval, without what the hypervisor took."""
    if core is not None:
        index = load.cores.index(core)
        load = CoreLoad((core,), load.start_ns, load.end_ns, load.permille[:, :, [index]])
    with np.errstate(invalid="ignore"):
        found: F64 = (load.busy() - load.mode("steal")).mean(axis=1, dtype=np.float64)
    return found


def _stretches(load: CoreLoad, taken: F64, least: float = _FULL_PERCENT) -> list[Window]:
    with np.errstate(invalid="ignore"):
        full = taken >= least
    return [Window(int(load.start_ns[a]), int(load.end_ns[b - 1])) for a, b in where_true(full)]


def _fill(full: Sequence[Window], harm: Window) -> float:
    parts = (one.clip(harm) for one in full)
    return sum(part.seconds for part in parts if part is not None) / max(harm.seconds, 1e-9)


def _ready(scene: Scene) -> Amount | None:
    series = scene.seen.node_series("system.running")
    return None if series is None else mean_of(levels(series))


def _crowd(scene: Scene, core: int | None, cores: int) -> Crowding | None:
    """Of one name, and at least half of it: many processes, or threads on several cores."""
    found = scene.crowds if core is None else _on_core(scene)
    most = max(found, key=lambda one: (one.share, one.comm), default=None)
    if most is None or most.share < _HALF or most.comm == scene.symptom.victim.comm:
        return None
    is_many = most.processes >= _LEAST_PROCESSES * cores
    return most if is_many or (core is None and most.share * cores >= _SEVERAL) else None


def _on_core(scene: Scene) -> list[Crowding]:
    looked_at = [stall.close_up.during for stall in scene.stalls if stall.close_up is not None]
    shares: dict[str, float] = {}
    pids: dict[str, int] = {}
    for during in looked_at:
        own: dict[str, set[int]] = {}
        for one in during.occupants:
            if not one.is_kernel_thread:
                shares[one.comm] = shares.get(one.comm, 0.0) + one.share_of_window / len(looked_at)
                if one.samples >= _LEAST_SAMPLES:
                    own.setdefault(one.comm, set()).add(one.pid)
        for comm, numbers in own.items():
            pids[comm] = max(pids.get(comm, 0), len(numbers))
    return [Crowding(comm, share, None, pids.get(comm, 0)) for comm, share in shares.items()]


def _is_in_kernel(load: CoreLoad, full: Sequence[Window]) -> bool:
    part = load.within(max(full, key=lambda one: one.seconds))
    return float(np.nanmean(part.mode("system"))) > float(np.nanmean(part.mode("user")))


def _said(crowd: Crowding | None, where: str, waiting: float) -> str:
    if crowd is not None:
        who, verb = _counted(crowd), "takes" if crowd.processes == 1 else "take"
        return f"{who} {verb} {100 * crowd.share:.0f} % of {where}"
    return f"{where} are full with {waiting:.0f} threads running or ready to run"


def _counted(crowd: Crowding) -> str:
    many = crowd.processes != 1
    return f"{crowd.processes} processes of {crowd.comm}" if many else crowd.comm


def _times(
    where: str, met: Sequence[Window], known: Sequence[Window], load: CoreLoad, taken: F64
) -> Proof:
    longest = max(met, key=lambda one: one.seconds)
    here = (load.end_ns > longest.start_ns) & (load.start_ns < longest.end_ns)
    percent = float(np.nanmean(taken[here]))
    is_one = where.startswith("CPU")
    return Proof(
        "core times",
        f"{where} {'was' if is_one else 'were'} {percent:.0f} % busy meanwhile, and full "
        f"{len(met)} of {len(known)} times that harm was done",
        {"busy_percent": round(percent, 1), "stalls_met": len(met), "stalls": len(known)},
        longest,
        f"exhume cores {shown.whole_span(longest, 5)}",
    )


def _queue(waiting: float, cores: int, window: Window) -> Proof:
    return Proof(
        "run queue",
        f"{waiting:.0f} threads were running or ready to run, on {cores} cores",
        {"threads": round(waiting, 1), "cores": cores},
        window,
        shown.series("system.running", window),
    )


def _samples(crowd: Crowding, where: str, core: int | None, window: Window) -> Proof:
    usual = "" if crowd.usual is None else f", {100 * crowd.usual:.0f} % before or after"
    return Proof(
        "samples",
        f"{_counted(crowd)} had {100 * crowd.share:.0f} % of {where} meanwhile{usual}",
        {"processes": crowd.processes, "share_percent": round(100 * crowd.share, 1)},
        window,
        check_top(core, window),
    )


def _actions(crowd: Crowding | None, core: int | None) -> Actions:
    verify = ("exhume why --since-fix TIME", "exhume cores --last 10m")
    if crowd is None:
        now = ("exhume top --last 10m: who runs; move work away from this node",)
        return Actions(now, ("give the node less to do, or more cores",), (), verify)
    other = "other cores (taskset)" if core is not None else "fewer at a time, or renice them"
    return Actions(
        now=(f"let {crowd.comm} run on {other}" if core is not None else
             f"start {crowd.comm} with {other}",),
        for_good=(f"limit {crowd.comm}: a CPU quota or weight of its cgroup, fewer workers",),
        undo=("take the limit away",),
        verify=verify,
    )  # fmt: skip
