"""Programs that start again and again: a service that can't serve, or a storm that takes cores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from shlex import quote

import numpy as np

from exhume.derive.rates import Intervals
from exhume.derive.starts import said
from exhume.detect import shown
from exhume.detect.loops import fork_storms
from exhume.diagnose.cause import mean_of, party, weigh
from exhume.diagnose.holding import holders
from exhume.diagnose.kernel_paths import match
from exhume.diagnose.leakers import starts_of
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.diagnose.symptom_checks import check_of
from exhume.model.arrays import I64
from exhume.model.case import Actions, Outcome, Party
from exhume.model.lifecycles import Lifecycle
from exhume.model.window import Window

_LEAST_SHARE = 0.3
_SECOND_NS = 1_000_000_000
_ID = re.compile(r"[0-9a-f]{12,63}")


def crash_loop(scene: Scene) -> Iterator[Suspicion]:
    """Somebody that others depend on dies again and again, while they fail."""
    for one in scene.seen.lifecycles:
        if one.mark not in ("crash loop", "loop"):
            continue
        wall, count = starts_of(scene.seen, one)
        if not len(wall):
            continue
        while_harmed = [
            like
            for like in scene.like
            if (
                (wall >= like.window.start_ns - 30 * _SECOND_NS) & (wall < like.window.end_ns)
            ).any()
        ]
        # Somebody who was late is not late because others die, unless they take its core.
        concerned = (
            not scene.symptom.is_late or _is_named(scene, one.name) or _holds_core(scene, one)
        )
        if not while_harmed or not concerned:
            continue
        yield _loop(scene, one, wall, count)


def _loop(scene: Scene, one: Lifecycle, wall: I64, count: I64) -> Suspicion:
    named = _is_named(scene, one.name)
    busy = _holds_core(scene, one)
    place: Outcome = "passed" if named or busy else "untested"
    active = Window(int(wall[0]), int(wall[-1]) + _SECOND_NS)
    edges = np.arange(
        scene.seen.window.start_ns, scene.seen.window.end_ns + 10 * _SECOND_NS, 10 * _SECOND_NS
    )
    pace = np.histogram(wall, edges, weights=count)[0] / 10.0
    amount = mean_of(Intervals(edges[:-1], edges[1:], pace))
    claim = f"{one.kind} {one.name} was started {said(one)}"
    # Where harm comes just when it is down, that says more than that it came with the loop; but one
    # that is up again may still be busy starting.
    tests = weigh(scene, _down(scene, one), place, amount)
    if tests.counterfactual != "passed":
        tests = weigh(scene, [active], place, amount)
    span = shown.whole_span(active)
    proofs = [
        Proof(
            "starts",
            claim,
            {"starts": one.starts, "starts_per_hour": round(one.starts_per_hour, 1)},
            active,
            f"exhume units {span}",
        )
    ]
    if named:
        proofs.append(
            Proof(
                scene.symptom.source,
                f"the symptom names it: {scene.symptom.text}",
                {},
                scene.symptom.window,
                check_of(scene.symptom, scene.seen),
            )
        )
    culprit = {
        "unit": Party(unit=one.name),
        "container": Party(container=one.name),
        "process": party(scene.seen, one.name),
    }[one.kind]
    return Suspicion(
        kind="crash-loop",
        culprit=culprit,
        summary=f"{culprit.name} dies again and again; {scene.symptom.victim.name} fails with it",
        steps=(Step(claim, "root_cause", tests, tuple(proofs)),),
        depth=2,
        victim=scene.symptom.victim,
        details={"starts": one.starts, "parent": one.detail},
        actions=Actions(
            now=(f"see why it dies: journalctl -u {quote(one.name)}, or its own log",),
            for_good=(f"repair {one.name}, or remove it from the image",),
            undo=(f"start {one.name} again",),
            verify=("exhume units --last 1h: it is no loop any more",),
        ),
    )


def _down(scene: Scene, one: Lifecycle) -> list[Window]:
    """From each end to the next start: when nobody was there to answer."""
    lives = scene.seen.lives
    if one.kind != "process" or one.name not in lives.names:
        return []
    own = np.flatnonzero(lives.name == lives.names.index(one.name))
    times, starts = lives.wall_ns[own].tolist(), lives.is_exec[own].tolist()
    return [
        Window(before, after)
        for (before, was_start), (after, is_start) in pairwise(zip(times, starts, strict=True))
        if not was_start and is_start and after > before
    ]


def _is_named(scene: Scene, name: str) -> bool:
    stem = name.removesuffix(".service")
    if len(stem) <= 2:
        return False
    # A word by itself: no `ecs` is in `usecs`, `ecs-agent`, `ecs@2` or `ecs.example.com`.
    # A container's id is cut short in some places.
    rest = "[0-9a-f]*" if _ID.fullmatch(stem) else ""
    word = re.compile(rf"(?<![\w.@-]){re.escape(stem)}{rest}(?:\.service)?(?![\w@-]|\.\w)")
    return any(word.search(one.text) for one in scene.like[:20])


def _holds_core(scene: Scene, one: Lifecycle) -> bool:
    names = {one.name[:15], one.detail[:15]}
    return any(holder.occupant.comm in names for holder in holders(scene))


def fork_storm(scene: Scene) -> Iterator[Suspicion]:
    """So many births that the cores have no time for anything else."""
    for storm in fork_storms(scene.seen):
        if not storm.subject or not any(storm.window.overlaps(one.window) for one in scene.like):
            continue
        births = sum(
            stall.close_up.during.occupants[0].share_of_window
            for stall in scene.stalls
            if stall.close_up is not None
            and stall.close_up.during.occupants
            and (m := match(stall.close_up.during.occupants[0].frames, "birth")) is not None
            and m.share >= _LEAST_SHARE
        )
        culprit = party(scene.seen, storm.subject)
        proof = Proof("counters", storm.claim, storm.figures, storm.window, storm.check)
        place: Outcome = "passed" if births else "untested"
        tests = weigh(scene, [storm.window], place)
        yield Suspicion(
            kind="fork-storm",
            culprit=culprit,
            summary=f"{storm.subject} starts so many processes that {scene.symptom.victim.name} "
            "can't run",
            steps=(Step(storm.claim, "root_cause", tests, (proof,)),),
            depth=2,
            payer=culprit,
            victim=scene.symptom.victim,
            details=dict(storm.figures),
            actions=Actions(
                now=(f"stop {culprit.name}",),
                for_good=(f"let {culprit.name} wait between tries, or reuse its processes",),
                undo=(f"start {culprit.name} again",),
                verify=("exhume series system.forks --last 10m",),
            ),
        )
