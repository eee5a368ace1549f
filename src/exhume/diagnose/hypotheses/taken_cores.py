"""The victim could not run although its core was free: a CPU limit, or the hypervisor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from shlex import quote

import numpy as np
from msgspec.structs import replace

from exhume.derive.rates import Intervals, rates
from exhume.detect import shown
from exhume.detect.cgroups import throttled
from exhume.diagnose.cause import below, cgroups_of, mean_of, party, weigh
from exhume.diagnose.four_tests import widened
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.model.case import Actions, Outcome, Party

_LEAST_STEAL = 20.0


def throttling(scene: Scene) -> Iterator[Suspicion]:
    """The victim's own cgroup used up its CPU limit just then."""
    victim = scene.symptom.victim
    own = {*cgroups_of(scene.seen, victim.comm or ""), *([victim.cgroup] if victim.cgroup else [])}
    stopped: dict[str, list[Proof]] = {}
    for one in throttled(scene.seen):
        if any(one.window.overlaps(widened(like.window)) for like in scene.like):
            proof = Proof("counters", one.claim, one.figures, one.window, one.check)
            stopped.setdefault(one.subject, []).append(proof)
    for cgroup, proofs in stopped.items():
        series = scene.seen.instance("cgroup.cpu_throttled_ns", cgroup)
        if series is None:
            continue
        place: Outcome = "untested"
        if own and cgroup.startswith("/"):  # of a copy made in a container the path is not known
            place = "passed" if any(below(path, cgroup) for path in own if path) else "failed"
        amount = mean_of(rates(series).per_second)
        tests = weigh(scene, [proof.window for proof in proofs], place, amount)
        eater, core_ns = _eater(scene, cgroup)
        if eater:
            proofs.append(
                Proof(
                    "samples",
                    f"{eater} used {core_ns / 1e9:.1f} s of the cores in it",
                    {"core_seconds": round(core_ns / 1e9, 2)},
                    proofs[0].window,
                    f"exhume top {shown.whole_span(proofs[0].window)} --cgroup {quote(cgroup)}",
                )
            )
        culprit = replace(party(scene.seen, eater) if eater else Party(), cgroup=cgroup)
        claim = f"the CPU limit of {cgroup} stopped {victim.name}"
        yield Suspicion(
            kind="cpu-throttling",
            culprit=culprit,
            summary=f"{claim}: it had used up its share of each period",
            steps=(Step(claim, "root_cause", tests, tuple(proofs)),),
            depth=2,
            payer=party(scene.seen, eater) if eater else None,
            victim=victim,
            actions=Actions(
                now=(f"raise the CPU limit of {cgroup} (cpu.cfs_quota_us, cpu.max, or the pod's)",),
                for_good=("set the limit to what its threads need at once, or use shares alone",),
                undo=("set the limit back",),
                verify=(f"exhume series cgroup.cpu_throttled_ns {quote(cgroup)} --last 10m",),
            ),
        )


def _eater(scene: Scene, cgroup: str) -> tuple[str, int]:
    """Whose processes, by name, used most of the limit; the victim only if nobody else is there."""
    used: Counter[str] = Counter()
    for one in scene.seen.processes:
        if below(one.cgroup, cgroup):
            used[one.comm] += one.core_ns
    others = Counter({k: v for k, v in used.items() if k != scene.symptom.victim.comm})
    return next(iter((others or used).most_common(1)), ("", 0))


def steal(scene: Scene) -> Iterator[Suspicion]:
    """The hypervisor gave the core to another guest: ruled out before anybody here is blamed."""
    load = scene.seen.load
    if load is None or scene.core not in (None, *load.cores):
        return
    stolen = load.mode("steal").astype(np.float64)
    # Where every core was taken away the victim's was, whichever that is: the least of them counts.
    where, column = "every core", stolen.min(axis=1)
    place: Outcome = "passed"
    if scene.core is not None:
        where, place = f"CPU {scene.core}", scene.place
        column = stolen[:, load.cores.index(scene.core)]
    amount = mean_of(Intervals(load.start_ns, load.end_ns, column))
    taken = [value for s in scene.stalls if np.isfinite(value := amount(s.window))]
    if not taken:
        return
    percent = float(np.mean(taken))
    ruled_out = percent < _LEAST_STEAL
    if ruled_out and scene.core is None:
        return
    window = scene.symptom.window
    least = "at least " if scene.core is None else ""
    claim = f"the hypervisor took {least}{percent:.0f} % of {where} while the victim waited"
    check = f"exhume cores {shown.whole_span(window, 5)}"
    proof = Proof("core times", claim, {"steal_percent": round(percent, 1)}, window, check)
    high = np.flatnonzero(column >= _LEAST_STEAL)
    causes = [s.window for s in scene.stalls if amount(s.window) >= _LEAST_STEAL]
    tests = weigh(scene, causes, "failed" if ruled_out else place, amount)
    yield Suspicion(
        kind="cpu-steal",
        culprit=Party(core=scene.core),
        summary=f"the hypervisor takes {where} away",
        steps=(Step(claim, "root_cause", tests, (proof,)),),
        depth=1,
        victim=scene.symptom.victim,
        details={"steal_percent": round(percent, 1), "seconds_with_steal": len(high)},
        actions=Actions(
            now=("move the work to another node, or stop and start the instance",),
            for_good=("an instance type with cores of its own, or dedicated hosts",),
            verify=("exhume cores --last 1h",),
        ),
        contradiction=f"only {percent:.1f} % was stolen then" if ruled_out else "",
    )
