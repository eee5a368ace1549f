"""Somebody is always on a core: what says that whoever was on the victim's is merely there."""

from __future__ import annotations

from exhume.diagnose.four_tests import same_length, widened
from exhume.diagnose.holding import Holder
from exhume.diagnose.measured import share_elsewhere
from exhume.diagnose.scene import Scene
from exhume.diagnose.symptoms import says_how_long
from exhume.model.case import Tests

_HALF = 0.5
_MOST_TURNS, _LEAST_SAMPLES = 0.07, 100
"""Nobody keeps others from a core but inside the kernel, where it does not let go, or by real-time
priority, and that leaves them a twentieth of each second. Where they had more they took turns, and
so would the victim have done."""


def doubt(scene: Scene, holder: Holder, known: Tests, *, is_fair: bool) -> str:
    """Why it explains little that it was there; empty where nothing says so. `is_fair`: it was in
    user mode, and no real-time priority of it is known."""
    turns = _turns_of_others(holder)
    if turns > _MOST_TURNS:
        return f"others had their turns there, {100 * turns:.0f} % of that time"
    share = _else_too(scene, holder, known)
    if share:
        return f"so it is for {100 * share:.0f} % of the time that nobody is harmed"
    return unknown_place(scene) if is_fair and _is_chance(scene, holder, known) else ""


def unknown_place(scene: Scene) -> str:
    return f"whether {scene.symptom.victim.name} waited for that core is not known"


def _is_chance(scene: Scene, holder: Holder, known: Tests) -> bool:
    """Fair neighbours take turns with it, and whoever may run elsewhere does. So where nobody knows
    that the victim had to run there, one that just happens to be busy then is no suspect: it must
    have been so each time and not else, or for as long as the victim was late."""
    if scene.place == "passed" or known.counterfactual == "passed":
        return False
    told = [stall.window for stall in holder.stalls if says_how_long(stall.symptom)]
    held = [
        sum(one.seconds for one in holder.causes if one.overlaps(widened(harm))) for harm in told
    ]
    return same_length(held, [harm.seconds for harm in told]) != "passed"


def _turns_of_others(holder: Holder) -> float:
    """While it had the core. 0 where there are too few samples to tell."""
    own = [stall.holder for stall in holder.stalls if stall.holder is not None]
    others = sum(one.others_between for one in own)
    known = others + sum(one.samples for one in own)
    return others / known if known >= _LEAST_SAMPLES else 0.0


def _else_too(scene: Scene, holder: Holder, known: Tests) -> float:
    """How much of the time that nobody is harmed it has that core too, where that is most of it
    and nothing ties it to the harm; else 0. Then it does not say why it was just then."""
    if "passed" in (known.dose, known.counterfactual):
        return 0.0
    harms = [one.window for one in (*scene.like, *scene.others)]
    share = share_elsewhere(holder.causes, harms, scene.seen.timed)
    return share if share >= _HALF else 0.0
