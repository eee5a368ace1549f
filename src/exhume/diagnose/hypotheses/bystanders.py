"""Whoever used most core time of all, and was not on the core that the victim waited for.

A glance at averages blames it; it is listed so that nobody has to wonder.
"""

from __future__ import annotations

from collections.abc import Iterator

from exhume.diagnose.cause import busiest, party
from exhume.diagnose.holding import check_top
from exhume.diagnose.measured import is_covered
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.model.case import Tests

_LEAST_SHARE = 0.05
_MOST_ON_CORE = 0.2


def suspects(scene: Scene) -> Iterator[Suspicion]:
    # Where nothing was sampled it is not known who was there.
    looked_at = [
        stall
        for stall in scene.stalls
        if stall.close_up is not None and is_covered(stall.window, scene.seen.timed)
    ]
    if scene.core is None or not looked_at:
        return
    for one in busiest(scene.seen):
        share = one.core_ns / 1e9 / max(1.0, scene.seen.sampled_seconds)
        if share < _LEAST_SHARE or one.pid <= 0 or one.comm == scene.symptom.victim.comm:
            continue
        on_core = [
            sum(o.share_of_window for o in stall.close_up.during.occupants if o.comm == one.comm)
            for stall in looked_at
            if stall.close_up is not None
        ]
        there = sum(on_core) / len(on_core)
        if there > _MOST_ON_CORE:
            continue
        claim = (
            f"{one.comm} used {100 * share:.0f} % of a core over the window, but had "
            f"{100 * there:.1f} % of CPU {scene.core} while the victim waited"
        )
        longest = max(looked_at, key=lambda stall: stall.window.seconds)
        proof = Proof(
            "samples",
            claim,
            {"percent_of_a_core": round(100 * share, 1), "percent_there": round(100 * there, 2)},
            longest.window,
            check_top(scene.core, longest.window),
        )
        yield Suspicion(
            kind="userspace-hog",
            culprit=party(scene.seen, one.comm),
            summary=f"{one.comm} is busy",
            steps=(Step(claim, "mechanism", Tests(place="failed"), (proof,)),),
            depth=0,
            contradiction=f"not in the same place: {claim}",
        )
