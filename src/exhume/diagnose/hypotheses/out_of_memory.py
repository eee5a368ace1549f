"""The kernel killed somebody for want of memory: of the node, or of a cgroup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive.rates import rates
from exhume.detect import shown
from exhume.diagnose.cause import party
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.model.answers import EventAnswer
from exhume.model.case import Actions, Outcome, Party, Tests
from exhume.model.finding import Figure
from exhume.model.series import MISSING
from exhume.model.window import Window

_BESIDE_NS = 3_000_000_000
_JUST_BEFORE_NS = 60_000_000_000
_GOOD_PART, _GOOD_PART_OF_LIMIT = 0.3, 0.5
"""Of a node much else is full of memory; of a cgroup with a limit it is who has most of it."""
_MORE_THAN_HALF, _MOST_OF_KILLED = 50.0, 0.5
_FULL = 0.9
_LITTLE = 0.2
"""Of what is there at other times: with less the node ran out of memory."""


def suspects(scene: Scene) -> Iterator[Suspicion]:
    """The kernel says who it killed, and in which cgroup memory ran out."""
    kills = [e for e in scene.seen.events if e.fields.get("signature") == "oom.kill"]
    if scene.symptom.kind != "out-of-memory" or not kills:
        return
    kill = min(kills, key=lambda event: abs(event.wall_ns - scene.symptom.wall_ns))
    detail = _nearest(scene, kill, "oom.detail")
    comm = str(kill.fields.get("comm", kill.subject))
    memcg = str(detail.fields.get("oom_cgroup", "")) if detail else ""
    by_limit = _is_by_limit(scene, kill, memcg)
    culprit = party(scene.seen, comm, pid=kill.pid)
    if memcg and not culprit.cgroup:
        culprit = Party(comm=comm, pid=kill.pid, cgroup=memcg)
    held = kill.fields.get("anonymous_bytes")
    size = f"{int(held) / 2**20:,.0f} MiB" if isinstance(held, int | float) else ""
    left = None if by_limit else _left_over(scene, kill.wall_ns)
    where = "the node ran out of memory"
    if by_limit:
        where = f"cgroup {memcg} reached its limit" if memcg else "its cgroup reached its limit"
    elif by_limit is None and left is None:
        where = "the node or its cgroup ran out of memory, which of them is not said"
    proofs = [
        Proof(
            "kernel log",
            kill.text,
            {"anonymous_bytes": held if isinstance(held, int | float) else 0},
            Window(kill.wall_ns, kill.wall_ns + 1),
            f"exhume events --signature oom.kill {shown.span_from(kill.wall_ns, 5)}",
        )
    ]
    counter = scene.seen.node_series("vmstat.oom_kill")
    counted: Outcome = "untested"
    if counter is not None:
        rose = rates(counter)
        # Copies may be ten seconds apart: the interval that the kill lies in tells.
        near = (rose.per_second.end_ns >= kill.wall_ns - _BESIDE_NS) & (
            rose.per_second.start_ns <= kill.wall_ns + _BESIDE_NS
        )
        risen = float(np.nansum(rose.rise[near]))
        if risen > 0:
            counted = "passed"
            proofs.append(
                Proof(
                    "counters",
                    f"the kernel's count of kills rose by {risen:.0f}",
                    {"kills": round(risen)},
                    Window(kill.wall_ns - _BESIDE_NS, kill.wall_ns + _BESIDE_NS),
                    shown.series("vmstat.oom_kill", Window(kill.wall_ns, kill.wall_ns + 1)),
                )
            )
    if left is not None:
        counted = "passed"
        proofs.append(left)
    full = _full_cgroup(scene, kill, memcg) if by_limit else None
    if full is not None:
        proofs.append(full)
    holding = f" with {comm} holding {size} of it" if size else ""
    claim = f"{where}{holding}, and the kernel killed {'it' if size else comm}"
    is_of_node = by_limit is False or left is not None
    share = _share_of_memory(scene, held) if is_of_node else _share_of_limit(full, held)
    is_other = share is not None and share < (_GOOD_PART if is_of_node else _GOOD_PART_OF_LIMIT)
    tests = Tests("passed", "passed", "passed" if held and not is_other else "untested", counted)
    whole = "memory" if is_of_node else "limit"
    most = _who_has_most(kill)
    open_ = f", {100 * (share or 0):.0f} % of the {whole}: who has the rest is open"
    if most is not None:
        yield _for_another(scene, culprit, most, claim, where, tests, proofs)
        return
    yield Suspicion(
        kind="out-of-memory",
        culprit=culprit,
        summary=f"{comm} was killed: {where}"
        + (f", and it held {size}{open_ if is_other else ''}" if size else ""),
        steps=(Step(claim, "root_cause", tests, tuple(proofs)),),
        depth=2,
        victim=scene.symptom.victim,
        details={
            "by_limit": "yes" if by_limit else "no" if is_of_node else "unknown",
            "oom_cgroup": memcg or ("/" if is_of_node else ""),
        },
        actions=Actions(
            now=(f"start {culprit.name} with less to do, or with a higher limit",),
            for_good=(
                f"find out why {comm} needs {size or 'so much'}; set its limit to what it needs",
            ),
            undo=("set the limit back",),
            verify=("exhume events --signature oom.kill --last 1h: none",),
        ),
        at_most="low" if is_other else "high",
    )


class _Most(Struct, frozen=True):
    """By the kernel's own list: who had more than half, where the one that it killed had little."""

    comm: str
    pid: int
    percent: float
    own_percent: float


def _who_has_most(kill: EventAnswer) -> _Most | None:
    """Whom the kernel spares it does by `oom_score_adj`: of those left the largest is killed."""
    comm, pid = kill.fields.get("largest_comm"), kill.fields.get("largest_pid")
    most, own = kill.fields.get("largest_percent"), kill.fields.get("own_percent")
    if not isinstance(comm, str) or not isinstance(pid, int) or pid == kill.pid:
        return None
    if not isinstance(most, int | float) or not isinstance(own, int | float):
        return None
    is_clear = most > _MORE_THAN_HALF and own <= _MOST_OF_KILLED * most
    return _Most(comm, pid, most, own) if is_clear else None


def _for_another(
    scene: Scene,
    killed: Party,
    most: _Most,
    claim: str,
    where: str,
    tests: Tests,
    proofs: Sequence[Proof],
) -> Suspicion:
    """Who was killed had to go for what another one has."""
    listed = (
        f"{most.comm} had {most.percent:.0f} % of what the tasks in the kernel's list had, "
        f"{killed.name} {most.own_percent:.0f} %"
    )
    window = proofs[0].window
    check = f"exhume events --signature oom.kill {shown.span_from(window.start_ns, 5)}"
    figures: dict[str, Figure] = {"percent": most.percent, "own_percent": most.own_percent}
    culprit = party(scene.seen, most.comm, pid=most.pid)
    if not culprit.cgroup:
        culprit = replace(culprit, cgroup=killed.cgroup)
    tests = Tests(tests.order, tests.place, "passed", tests.counterfactual)
    return Suspicion(
        kind="out-of-memory",
        culprit=culprit,
        summary=f"{killed.name} was killed: {where}, and {most.comm} had most of it "
        f"({most.percent:.0f} % of what all tasks there had, {killed.name} "
        f"{most.own_percent:.0f} %)",
        steps=(
            Step(claim, "mechanism", tests, tuple(proofs)),
            Step(listed, "root_cause", tests, (Proof("tasks", listed, figures, window, check),)),
        ),
        depth=2,
        victim=scene.symptom.victim,
        details={"percent": most.percent},
        actions=Actions(
            now=(f"stop {most.comm} (pid {most.pid}), or give both more memory",),
            for_good=(
                f"find out whether {most.comm} needs so much, and give it a limit of its own",
                f"`cat /proc/{most.pid}/oom_score_adj`: it may be spared at the cost of others",
            ),
            undo=("set the limit back",),
            verify=("exhume events --signature oom.kill --last 1h: none",),
        ),
        at_most="medium",  # who has most need not be who took more and more
    )


def _is_by_limit(scene: Scene, kill: EventAnswer, memcg: str) -> bool | None:
    """Of a cgroup, or of the node; None where no line says it.

    Since 4.20 the line of the kill says so itself, before it one that names whom it chose: a
    parent, where a child of it was killed.
    """
    chosen = _nearest(scene, kill, "oom.chosen", whoever=True)
    scope = str(kill.fields.get("scope", "")) or str(chosen.fields["scope"] if chosen else "")
    if "cgroup" in scope or (memcg and memcg != "/"):
        return True
    return False if scope or memcg else None


def _full_cgroup(scene: Scene, kill: EventAnswer, memcg: str) -> Proof | None:
    """Its own counters, which the kernel prints before it kills: they are no part of its choice."""
    told = _nearest(scene, kill, "oom.usage")
    if told is None:
        return None
    used, limit = told.fields.get("usage_bytes"), told.fields.get("limit_bytes")
    if not isinstance(used, int) or not isinstance(limit, int) or not used >= _FULL * limit > 0:
        return None
    name = f"cgroup {memcg}" if memcg else "its cgroup"
    return Proof(
        "counters of the cgroup",
        f"{name} used {used / 2**20:,.0f} MiB of its limit of {limit / 2**20:,.0f} MiB",
        {"used_bytes": used, "limit_bytes": limit},
        Window(told.wall_ns, told.wall_ns + 1),
        f"exhume events --signature oom.usage {shown.span_from(told.wall_ns, 5)}",
    )


def _share_of_limit(full: Proof | None, held: object) -> float | None:
    """Of the memory that its cgroup may have; None where the limit is not known."""
    limit = full.figures["limit_bytes"] if full is not None else 0
    if not isinstance(held, int | float) or not isinstance(limit, int):
        return None
    return held / limit if limit else None


def _share_of_memory(scene: Scene, held: object) -> float | None:
    """Of the node's; None where that is not known. Whom the kernel kills need not be at fault."""
    series = scene.seen.node_series("memory.total_bytes")
    total = int(series.values.max()) if series is not None and len(series.values) else 0
    return held / total if isinstance(held, int | float) and total > 0 else None


def _left_over(scene: Scene, kill_ns: int) -> Proof | None:
    """How little memory there was before the kill, where there was more at other times."""
    series = scene.seen.node_series("memory.available_bytes")
    if series is None:
        return None
    known = series.values != MISSING
    wall, free = series.wall_ns[known], series.values[known]
    before = (wall >= kill_ns - _JUST_BEFORE_NS) & (wall <= kill_ns)
    if not before.any():
        return None
    least, usual = int(free[before].min()), float(np.median(free))
    if least > _LITTLE * usual:
        return None
    at_ns = int(wall[before][free[before].argmin()])
    window = Window(at_ns, kill_ns + 1)
    return Proof(
        "counters",
        f"{least / 2**20:,.0f} MiB of memory could be had just before, mostly "
        f"{usual / 2**20:,.0f} MiB",
        {"available_bytes": least, "usually_bytes": round(usual)},
        window,
        shown.series("memory.available_bytes", window),
    )


def _nearest(
    scene: Scene, event: EventAnswer, signature: str, *, whoever: bool = False
) -> EventAnswer | None:
    found = [
        one
        for one in scene.seen.events
        if one.fields.get("signature") == signature
        and abs(one.wall_ns - event.wall_ns) < 2_000_000_000
        and (whoever or one.pid in (None, event.pid))
    ]
    return min(found, key=lambda one: abs(one.wall_ns - event.wall_ns), default=None)
