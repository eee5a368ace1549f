"""Page faults, reclaim, and want of memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

import numpy as np

from exhume.derive.rates import rates
from exhume.detect import shown
from exhume.detect.storms import Storm, storms
from exhume.diagnose.cause import cgroups_of, mean_of, party, weigh
from exhume.diagnose.holding import Holder, check_top, held_core, holders
from exhume.diagnose.kernel_paths import match
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.diagnose.symptoms import name_and_pid
from exhume.model.case import Actions, Outcome, Party, Tests
from exhume.model.window import Window

_LEAST_SHARE = 0.3
_FAULTS_FLOOR = 50_000
_ENOUGH_ZOMBIES = 1_000
_PRESSED_US = 100_000
_LEAST_FREEING = 0.2
_MOSTLY = 0.5


def page_faults(scene: Scene) -> Iterator[Suspicion]:
    """A storm of page faults while the victim waited, and who made most of them."""
    series = scene.seen.node_series("vmstat.pgfault")
    found = [
        one
        for one in storms(series, _FAULTS_FLOOR, times=3.0)
        if any(one.window.overlaps(like.window) for like in scene.like)
    ]
    if series is None or not found:
        return
    comm, share = _faulter(scene, found[0].window)
    if not comm:
        return
    culprit = party(scene.seen, comm)
    place = _shares_place(scene, comm)
    tests = weigh(scene, [one.window for one in found], place, mean_of(rates(series).per_second))
    step = Step(
        f"{found[0].mean:,.0f} page faults a second, {100 * share:.0f} % of them by {comm}",
        "root_cause",
        tests,
        (
            _storm_proof(found[0]),
            _faulter_proof(comm, share, found[0].window),
            *_fault_frames(scene),
        ),
    )
    yield Suspicion(
        kind="page-fault-storm",
        culprit=culprit,
        summary=(
            f"{comm} makes {100 * share:.0f} % of {found[0].mean:,.0f} page faults a second, and "
            f"{scene.symptom.victim.name} waits meanwhile"
        ),
        steps=(step,),
        depth=2,
        payer=culprit,
        victim=scene.symptom.victim,
        details={"faults_per_second": round(found[0].mean), "share": round(share, 3)},
        actions=Actions(
            now=(f"stop or limit {culprit.name}",),
            for_good=(
                f"let {comm} keep its memory (no madvise/munmap in a loop), use huge pages, or "
                "give it cores of its own",
            ),
            undo=(f"start {culprit.name} again",),
            verify=("exhume series vmstat.pgfault --last 10m", "exhume why --since-fix TIME"),
        ),
    )


def _faulter(scene: Scene, window: Window) -> tuple[str, float]:
    """Whose processes, by name, made most of the faults, and which share."""
    gained: dict[str, float] = {}
    for kind in ("process.faults", "process.major_faults"):
        for one in scene.seen.series.get(kind, ()):
            found = rates(one)
            here = (found.per_second.end_ns > window.start_ns) & (
                found.per_second.start_ns < window.end_ns
            )
            comm, _ = name_and_pid(one.instance)
            gained[comm] = gained.get(comm, 0.0) + float(np.nansum(found.rise[here]))
    if not gained or not sum(gained.values()):
        return "", 0.0
    most = max(sorted(gained), key=lambda name: gained[name])
    return most, gained[most] / sum(gained.values())


def _shares_place(scene: Scene, comm: str) -> Outcome:
    """It was on the victim's core, or in its cgroup."""
    for stall in scene.stalls:
        if stall.close_up is not None:
            there = [o for o in stall.close_up.during.occupants if o.comm == comm]
            if there and there[0].share_of_window >= 0.2:
                return "passed"
    victim = scene.symptom.victim.comm or ""
    shared = set(cgroups_of(scene.seen, victim)) & set(cgroups_of(scene.seen, comm))
    return "passed" if shared - {"/"} else "untested"


def _storm_proof(storm: Storm) -> Proof:
    usual = f", usually {storm.usual:,.0f}" if storm.usual else ""
    return Proof(
        "counters",
        f"{storm.mean:,.0f} page faults a second for {storm.window.seconds:.0f} s{usual}",
        {"faults_per_second": round(storm.mean, 1), "peak": round(storm.peak, 1)},
        storm.window,
        shown.series("vmstat.pgfault", storm.window),
    )


def _faulter_proof(who: str, share: float, window: Window) -> Proof:
    return Proof(
        "processes",
        f"{who} made {100 * share:.0f} % of the faults of the busiest processes",
        {"share": round(share, 3)},
        window,
        shown.series("process.faults", window),
    )


def _fault_frames(scene: Scene) -> tuple[Proof, ...]:
    for holder in holders(scene):
        found = match(holder.occupant.frames, "page-fault")
        if found is not None and found.share >= _LEAST_SHARE:
            window = holder.stalls[0].window
            return (
                Proof(
                    "samples",
                    f"{100 * found.share:.0f} % of {holder.occupant.name}'s samples on CPU "
                    f"{scene.core} serve page faults ({found.function})",
                    {"function": found.function, "share": round(found.share, 3)},
                    window,
                    check_top(scene.core, window),
                ),
            )
    return ()


def reclaim(scene: Scene) -> Iterator[Suspicion]:
    """Somebody has to free memory before it gets any: below the limit of a cgroup, or all do."""
    zombies = scene.seen.zombies
    level = zombies.zombies if zombies is not None and zombies.zombies is not None else 0
    for holder in holders(scene):
        found = match(holder.occupant.frames, "reclaim")
        if found is None or found.share < _LEAST_SHARE:
            continue
        limited = match(holder.occupant.frames, "memcg-limit")
        culprit = _limited_party(scene, holder, limited=limited is not None)
        is_victim = holder.occupant.comm == scene.symptom.victim.comm
        series = scene.seen.node_series("vmstat.pgscan_direct")
        amount = mean_of(rates(series).per_second) if series is not None else None
        tests = weigh(scene, holder.causes, "passed", amount, scene.seen.timed)
        where = f"below the limit of {culprit.cgroup}" if limited and culprit.cgroup else "first"
        claim = f"{holder.occupant.name} had to free memory {where} ({found.function})"
        proofs = [
            Proof(
                "samples",
                f"{100 * found.share:.0f} % of {holder.occupant.name}'s samples free memory",
                {"function": found.function, "share": round(found.share, 3)},
                holder.stalls[0].window,
                check_top(scene.core, holder.stalls[0].window),
            )
        ]
        if amount is not None and np.isfinite(scanned := amount(scene.symptom.window)):
            proofs.append(_scan_proof(scene, scanned))
        near = () if is_victim else (held_core(scene, holder, "freeing memory"),)
        yield Suspicion(
            kind="memory-reclaim",
            culprit=culprit,
            summary=f"{holder.occupant.name} spends its time freeing memory {where}",
            steps=(*near, Step(claim, "root_cause", tests, tuple(proofs))),
            depth=2,
            payer=party(scene.seen, holder.occupant.comm, scene.core),
            victim=scene.symptom.victim,
            details={"function": found.function, "by_limit": "yes" if limited else "no"},
            actions=_reclaim_actions(culprit, limited=limited is not None),
            contradiction=_asked_for(holder.occupant.frames, found.share)
            or (
                f"it frees memory slowly because it walks {level:,} zombies"
                if level >= _ENOUGH_ZOMBIES and match(holder.occupant.frames, "zombie-walk")
                else ""
            ),
        )


def _asked_for(frames: Mapping[str, float], freeing: float) -> str:
    """What says that most of it was freed because a file was written to; empty where nothing does.
    Whoever does that has memory, and no limit stands in its way."""
    asked = match(frames, "asked-reclaim")
    if asked is None or asked.share < _MOSTLY * freeing:
        return ""
    return f"it frees memory because it was told to ({asked.function}): it wants none itself"


def cgroup_limit(scene: Scene) -> Iterator[Suspicion]:
    """The victim has to free memory for its own cgroup, which somebody else in it fills.

    Reclaim below a cgroup's limit is in no counter of the node but the pressure: the kernel counts
    only reclaim of the whole node in vmstat.
    """
    victim = scene.symptom.victim.comm or ""
    own = [path for path in cgroups_of(scene.seen, victim) if path.strip("/")]
    series = scene.seen.node_series("pressure.memory.some_us")
    frees = _share_of(scene.seen.frame_ms.get(victim, {}), "memcg-limit")
    if frees is None or _asked_for(_shares(scene.seen.frame_ms[victim]), frees[1]):
        return
    if not own or series is None:
        yield _own_limit(scene, victim, own, frees)
        return
    pressed = [
        one
        for one in storms(series, _PRESSED_US, times=3.0)
        if any(one.window.overlaps(like.window) for like in scene.like)
    ]
    if not pressed:
        return
    filler = _filler(scene, own, victim)
    culprit = party(scene.seen, filler) if filler else Party(cgroup=own[0])
    tests = weigh(
        scene, [one.window for one in pressed], "passed", mean_of(rates(series).per_second)
    )
    function, share = frees
    claim = (
        f"{victim} had to free memory below the limit of {own[0]} ({function} in "
        f"{100 * share:.0f} % of its core time)"
    )
    span = shown.whole_span(pressed[0].window)
    proofs = (
        Proof(
            "samples",
            claim,
            {"function": function, "share": round(share, 3)},
            pressed[0].window,
            f"exhume top {span} --cgroup {quote(own[0])}",
        ),
        Proof(
            "pressure",
            f"some thread waited for memory {pressed[0].mean / 1e4:.0f} % of "
            f"{pressed[0].window.seconds:.0f} s",
            {"percent": round(pressed[0].mean / 1e4, 1)},
            pressed[0].window,
            shown.series("pressure.memory.some_us", pressed[0].window),
        ),
    )
    by = f", which {filler} fills" if filler else ""
    yield Suspicion(
        kind="memory-reclaim",
        culprit=culprit,
        summary=f"{victim} spends its time freeing memory below the limit of {own[0]}{by}",
        steps=(Step(claim + by, "root_cause", tests, proofs),),
        depth=2,
        payer=party(scene.seen, victim),
        victim=scene.symptom.victim,
        details={"cgroup": own[0], "by_limit": "yes"},
        actions=_reclaim_actions(
            culprit if culprit.cgroup else Party(comm=culprit.comm, cgroup=own[0]), limited=True
        ),
    )


def _own_limit(
    scene: Scene, victim: str, own: Sequence[str], frees: tuple[str, float]
) -> Suspicion:
    """The mechanism alone: when it was pressed for memory, or who else is in its cgroup, nobody
    recorded."""
    function, share = frees
    limit = f"the limit of {own[0] if own else 'its cgroup'}"
    claim = (
        f"{victim} had to free memory below {limit} ({function} in {100 * share:.0f} % of its core "
        "time)"
    )
    proof = Proof(
        "samples",
        claim,
        {"function": function, "share": round(share, 3)},
        scene.symptom.window,
        f"exhume top {shown.whole_span(scene.seen.window)} --comm {quote(victim)}",
    )
    return Suspicion(
        kind="memory-reclaim",
        culprit=Party(cgroup=own[0]) if own else Party(),
        summary=f"{victim} spends its time freeing memory below {limit}; who fills that is open",
        steps=(Step(claim, "mechanism", Tests(place="passed"), (proof,)),),
        depth=1,
        payer=party(scene.seen, victim),
        victim=scene.symptom.victim,
        details={"by_limit": "yes"},
        at_most="low",
        missing=(
            f"who fills the cgroup of {victim}: run exhume record on this node; or import copies "
            "of /proc/pressure/memory with captures of perf record --all-cgroups",
        ),
    )


def _share_of(frames: Mapping[str, int], path_id: str) -> tuple[str, float] | None:
    """The function of that path with most time, and its share of all the process's core time."""
    found = match(_shares(frames), path_id)
    return None if found is None or found.share < _LEAST_FREEING else (found.function, found.share)


def _shares(frames: Mapping[str, int]) -> dict[str, float]:
    whole = max(frames.values(), default=0)
    return {name: ms / whole for name, ms in frames.items()} if whole else {}


def _filler(scene: Scene, cgroups: Sequence[str], victim: str) -> str:
    """Who in those cgroups spends most time charging memory."""
    inside = {p.comm for p in scene.seen.processes if p.cgroup in cgroups and p.comm != victim}
    charged = {
        comm: share[1] * max(frames.values())
        for comm in inside
        if (frames := scene.seen.frame_ms.get(comm))
        and (share := _share_of(frames, "memcg-limit")) is not None
    }
    return max(sorted(charged), key=lambda comm: charged[comm], default="")


def _limited_party(scene: Scene, holder: Holder, *, limited: bool) -> Party:
    occupant = holder.occupant
    own = party(scene.seen, occupant.comm, pid=occupant.pid)
    if not limited or not occupant.cgroup:
        return own
    # Of all in that cgroup who fills it: most faults and core time beside the victim.
    inside = [
        one
        for one in scene.seen.processes
        if one.cgroup == occupant.cgroup and one.comm != scene.symptom.victim.comm
    ]
    most = max(inside, key=lambda one: one.core_ns, default=None)
    return own if most is None else party(scene.seen, most.comm, pid=most.pid)


def _scan_proof(scene: Scene, scanned: float) -> Proof:
    window = scene.symptom.window
    return Proof(
        "counters",
        f"{scanned:,.0f} pages a second were looked at by those who wait for memory",
        {"pages_per_second": round(scanned, 1)},
        window,
        shown.series("vmstat.pgscan_direct", window),
    )


def _reclaim_actions(culprit: Party, *, limited: bool) -> Actions:
    if limited:
        now = (f"raise the memory limit of {culprit.cgroup}, or stop {culprit.name}",)
    else:
        now = (f"free memory: stop {culprit.name}, or drop what nobody needs",)
    return Actions(
        now=now,
        for_good=(f"give {culprit.name} the memory that it needs, or let it need less",),
        undo=("set the limit back",),
        verify=("exhume series vmstat.pgscan_direct --last 10m", "exhume why --since-fix TIME"),
    )
