"""Somebody keeps a core to itself: by real-time priority, in user mode, or inside the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from statistics import mean, median, pstdev

import numpy as np

from exhume.detect import shown
from exhume.diagnose.holding import Holder, held_core, holders
from exhume.diagnose.kernel_paths import matches
from exhume.diagnose.merely_there import doubt, unknown_place
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion, party_of
from exhume.diagnose.waiting import had_room, not_waiting
from exhume.model.case import Actions, Confidence, Party, Tests
from exhume.model.occupancy import Occupant
from exhume.model.series import MISSING
from exhume.model.window import Window

_LEAST_TURNS = 4
_STEADY, _HALF = 0.25, 0.5
_LEAST_UNBROKEN_SECONDS = 0.4
_QUEUED_BY = (
    "who queues that work: perf record -a -g -e workqueue:workqueue_queue_work tells, at such a "
    "time",
)
_PAID_FOR = ("zombie-walk", "reclaim", "compaction", "lock", "page-fault")


def suspects(scene: Scene) -> Iterator[Suspicion]:
    for holder in holders(scene):
        occupant = holder.occupant
        if occupant.comm == scene.symptom.victim.comm:
            continue
        if not occupant.is_kernel_thread:
            yield _suspicion(scene, holder)
        elif occupant.pid > 0:
            yield _kernel_thread(scene, holder)


def _suspicion(scene: Scene, holder: Holder) -> Suspicion:
    occupant = holder.occupant
    priority = rt_priority(scene, occupant)
    throttled = [e for e in scene.seen.events if e.fields.get("signature") == "rt_throttle"]
    in_user = occupant.user_share >= 0.5
    if priority or (throttled and priority is None and in_user):
        kind, word = "realtime-hog", "with real-time priority"
    elif in_user:
        kind, word = "userspace-hog", "in user mode"
    else:
        kind, word = "kernel-hog", "inside the kernel"
    step = held_core(scene, holder, "computing" if in_user else _doing(occupant))
    culprit = party_of(occupant, scene.core)
    steps: tuple[Step, ...] = (step,)
    details: dict[str, str | int | float] = {"mode": "user" if in_user else "system"}
    if priority:
        details["rt_priority"] = priority
        steps = (step, _outranks(holder, priority, step.tests))
    period = period_seconds(holder.causes)
    if period is not None:
        details["period_seconds"] = round(period, 2)
    every = f", every {period:.1f} s" if period is not None else ""
    victim = scene.symptom.victim
    # Of a lockup the core is all that is known of the victim.
    harm = f"{victim.name} can't run" if victim != Party(core=scene.core) else "nobody else runs"
    said = f"keeps CPU {scene.core} to itself {word}{every}, and {harm} there meanwhile"
    at_most = _at_most(occupant, kind)
    merely = doubt(scene, holder, step.tests, is_fair=kind == "userspace-hog")
    if merely and not priority:
        at_most = "low"
        said = f"is on CPU {scene.core} {word}{every}, but {merely}"
    elif scene.place == step.tests.dose == "untested":
        said = f"keeps CPU {scene.core} to itself {word}{every}, but {unknown_place(scene)}"
    waits = _waits(occupant, kind)
    return Suspicion(
        kind=kind,
        culprit=culprit,
        summary=f"{occupant.name} {said}{_unsaid(occupant, kind)}",
        steps=steps if at_most == "low" else (*steps[:-1], _as_root(steps[-1])),
        depth=2 if kind == "realtime-hog" else 1,
        payer=culprit,
        victim=victim,
        details=details,
        actions=Actions() if waits else _actions(culprit, kind, scene.core),
        contradiction=not_waiting(scene)
        or had_room(scene)
        or ("" if priority else _shares(holder)),
        at_most=at_most,
    )


def _kernel_thread(scene: Scene, holder: Holder) -> Suspicion:
    """The mechanism alone: it works for others, and nothing in its stacks says for whom."""
    occupant, victim = holder.occupant, scene.symptom.victim
    function = _deepest(holder)
    where = f" ({function})" if function else ""
    is_queued = "process_one_work" in occupant.frames
    open_ = "who queued that work is open" if is_queued else "on whose behalf is open"
    return Suspicion(
        kind="kernel-hog",
        culprit=Party(core=scene.core),
        summary=(
            f"{occupant.name} held CPU {scene.core} in the kernel{where} {len(holder.stalls)} of "
            f"{holder.of_stalls} times that {victim.name} waited; {open_}"
        ),
        steps=(held_core(scene, holder, f"in {function}" if function else _doing(occupant)),),
        depth=0,
        payer=party_of(occupant, scene.core),
        victim=victim,
        details={"mode": "system", **({"function": function} if function else {})},
        contradiction=not_waiting(scene) or _shares(holder),
        at_most="low",
        missing=_QUEUED_BY if is_queued else (),
    )


def _deepest(holder: Holder) -> str:
    """Where its time went in the longest hold; empty where that is not known."""
    longest = max(holder.holds, key=lambda hold: hold.core_seconds, default=None)
    return longest.deepest if longest is not None else ""


def _shares(holder: Holder) -> str:
    """What says that others had their turns on that core; empty where nothing does."""
    runs = [stall.holder.longest_run.seconds for stall in holder.stalls if stall.holder is not None]
    if max(runs, default=0.0) >= _LEAST_UNBROKEN_SECONDS:
        return ""
    return f"it never had the core for more than {max(runs, default=0.0):.2f} s without a break"


def _doing(occupant: Occupant) -> str:
    """In the kernel."""
    if occupant.is_unnamed:
        return "in functions without names"
    is_silent = not occupant.comm or (occupant.is_told and not occupant.frames)
    otherwise = "doing what is not said" if is_silent else "computing"
    return next((one.path.meaning for one in matches(occupant.frames)), otherwise)


def _unsaid(occupant: Occupant, kind: str) -> str:
    if not occupant.comm:
        return "; who it is is not said"
    if kind == "kernel-hog" and occupant.is_unnamed:
        return "; whether others make it do that is open: kernel functions have no names"
    if waits := _waits(occupant, kind):
        return f"; but it was {waits} itself, and who keeps it waiting is open"
    return ""


def _waits(occupant: Occupant, kind: str) -> str:
    """What it spun for in vain, which others have; empty where it was at work itself.

    Of samples it may be threads of its own that have the lock; of one trace nobody knows.
    """
    first = next(iter(matches(occupant.frames)), None)
    if kind != "kernel-hog" or first is None:
        return ""
    is_waiting = first.path.id == "other-cores" or (first.path.id == "lock" and occupant.is_told)
    return first.path.meaning if is_waiting else ""


def _at_most(occupant: Occupant, kind: str) -> Confidence:
    """Whoever is made to do that work by others is not at fault, and without the names of kernel
    functions nobody can tell who is."""
    if not occupant.comm or (kind == "kernel-hog" and occupant.is_unnamed):
        return "low"
    if _waits(occupant, kind):
        return "low"
    return "medium" if kind == "kernel-hog" and _is_made_to(occupant) else "high"


def _is_made_to(occupant: Occupant) -> bool:
    return any(one.path.id in _PAID_FOR for one in matches(occupant.frames))


def _as_root(step: Step) -> Step:
    return Step(step.claim, "root_cause", step.tests, step.proofs)


def _outranks(holder: Holder, priority: int, known: Tests) -> Step:
    """A real-time thread is not preempted by fair ones: that is why they wait."""
    name, window = holder.occupant.comm, holder.stalls[0].window
    claim = f"{name} runs with real-time priority {priority}: no ordinary thread can preempt it"
    proof = Proof(
        "scheduling class",
        claim,
        {"rt_priority": priority},
        window,
        shown.series("process.rt_priority", window),
    )
    tests = Tests("passed", known.place, known.dose, known.counterfactual)
    return Step(claim, "root_cause", tests, (proof,))


def rt_priority(scene: Scene, occupant: Occupant) -> int | None:
    """None where it was not recorded."""
    for one in scene.seen.series.get("process.rt_priority", ()):
        if one.instance == f"{occupant.pid} {occupant.comm}":
            values = one.values[one.values != MISSING]
            return int(values.max()) if len(values) else None
    return None


def period_seconds(causes: Sequence[Window]) -> float | None:
    """From start to start, where that is steady."""
    starts = sorted(cause.start_ns for cause in causes)
    if len(starts) < _LEAST_TURNS:
        return None
    gaps = np.diff(starts) / 1e9
    typical = float(np.median(gaps))
    if typical <= 0:
        return None
    if median(cause.seconds for cause in causes) > _HALF * typical:
        return None  # there all the time but for a pause now and then: that is no rhythm
    near = [gap for gap in gaps.tolist() if gap < 3 * typical]
    return mean(near) if pstdev(near) <= _STEADY * mean(near) else None


def _actions(culprit: Party, kind: str, core: int | None) -> Actions:
    who = f"{culprit.comm} (pid {culprit.pid})" if culprit.pid else culprit.name
    by_name = f"$(pgrep -o -x {quote(culprit.comm)})" if culprit.comm else "PID"
    pid = culprit.pid or by_name
    if kind == "realtime-hog":
        now = (
            f"chrt -o -p 0 {pid}: give {who} an ordinary priority, from another core than {core}",
        )
        good = (f"start {culprit.name} without real-time priority, or on an isolated core",)
        undo = (f"chrt -f -p PRIORITY {pid}",)
    else:
        now = (f"taskset -pc OTHER_CORES {pid}: move {who} off CPU {core}, or stop it",)
        good = (f"keep {culprit.name} off the cores that serve the network, or limit it",)
        undo = (f"taskset -pc {core} {pid}",)
    verify = ("exhume why --since-fix TIME", f"exhume top --core {core} --last 1m")
    return Actions(now, good, undo, verify)
