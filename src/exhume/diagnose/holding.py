"""The mechanism next to most symptoms: somebody had the core that the victim waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from exhume.diagnose import four_tests
from exhume.diagnose.scene import Proof, Scene, Stall, Step
from exhume.model.case import Tests
from exhume.model.occupancy import Occupant
from exhume.model.window import Window

LEAST_HOLD_NS = 400_000_000


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that had the victim's core while the victim waited."""

    occupant: Occupant
    """Of the longest stall it was on."""
    stalls: tuple[Stall, ...]
    """Those in which it had at least half of the core."""
    of_stalls: int
    """How many were looked at."""
    causes: tuple[Window, ...]
    """Whenever it held that core, symptom or not."""

    @property
    def share(self) -> float:
        found = [self._share(stall) for stall in self.stalls]
        return median(found)

    def _share(self, stall: Stall) -> float:
        holder = stall.holder
        return 0.0 if holder is None else holder.share_of_window


def holders(scene: Scene) -> tuple[Holder, ...]:
    """Who held it in how many of the stalls; the one in most of them first."""
    looked_at = [stall for stall in scene.stalls if stall.close_up is not None]
    by_name: dict[str, list[Stall]] = {}
    for stall in looked_at:
        if stall.holder is not None:
            by_name.setdefault(stall.holder.comm, []).append(stall)
    found = []
    for name, stalls in by_name.items():
        longest = max(stalls, key=lambda stall: stall.window.seconds)
        if longest.holder is not None:
            causes = causes_of(scene, name)
            found.append(Holder(longest.holder, tuple(stalls), len(looked_at), causes))
    return tuple(sorted(found, key=lambda one: (-len(one.stalls), one.occupant.comm)))


def causes_of(scene: Scene, comm: str) -> tuple[Window, ...]:
    """The stretches that it held the core for, by samples; by seconds where it was in user mode."""
    exact = [
        hold.window for hold in scene.seen.holds if hold.core == scene.core and hold.comm == comm
    ]
    coarse = [
        window
        for window in scene.presence.get(comm, ())
        if not any(window.overlaps(one) for one in exact)
    ]
    return tuple(sorted([*exact, *coarse]))


def held_core(scene: Scene, holder: Holder, doing: str) -> Step:
    """The link from the symptom to whoever held the core."""
    occupant = holder.occupant
    effects = [stall.window for stall in scene.stalls]
    lengths = [_overlap(holder.causes, stall.window) for stall in holder.stalls]
    late = [stall.window.seconds for stall in holder.stalls]
    dose = four_tests.dose(lengths, late)
    if dose == "untested":
        dose = four_tests.same_length(lengths, late)
    causes = [w for w in holder.causes if w.end_ns - w.start_ns >= LEAST_HOLD_NS]
    every = [one.window for one in scene.like] or effects
    counterfactual, met, chance = four_tests.counterfactual(causes, every, scene.seen.window)
    mode = "user mode" if occupant.user_share >= 0.5 else "the kernel"
    claim = (
        f"{occupant.comm} had CPU {scene.core} in {mode} for {100 * holder.share:.0f} % of the "
        f"time the victim waited ({len(holder.stalls)} of {holder.of_stalls} times looked at), "
        f"{doing}"
    )
    longest = max(holder.stalls, key=lambda stall: stall.window.seconds)
    figures: dict[str, str | int | float] = {
        "core": scene.core if scene.core is not None else -1,
        "share_of_core_percent": round(100 * holder.share, 1),
        "stalls_held": len(holder.stalls),
        "stalls": holder.of_stalls,
        "longest_stall_seconds": round(longest.window.seconds, 3),
    }
    proofs = [
        Proof("samples", claim, figures, longest.window, check_top(scene.core, longest.window))
    ]
    if np.isfinite(chance):
        proofs.append(
            Proof(
                "counters",
                f"{100 * met:.0f} % of {len(every)} symptoms fall into its {len(causes)} holds; "
                f"by chance so many would in {100 * chance:.1f} % of shifts",
                {"met_percent": round(100 * met, 1), "chance": round(float(chance), 4)},
                scene.seen.window,
                f"exhume cores --from {_t(scene.seen.window.start_ns)} "
                f"--to {_t(scene.seen.window.end_ns)}",
            )
        )
    if mode_proof := _load_proof(scene, longest.window):
        proofs.append(mode_proof)
    tests = Tests(
        order=four_tests.order(holder.causes, [stall.window for stall in holder.stalls]),
        place=scene.place,
        dose=dose,
        counterfactual=counterfactual,
    )
    return Step(claim, "mechanism", tests, tuple(proofs))


def _load_proof(scene: Scene, window: Window) -> Proof | None:
    """The core's own times say it too, and what the node's mean said."""
    if scene.seen.load is None or scene.core not in scene.seen.load.cores:
        return None
    part = scene.seen.load.within(window)
    if not len(part.start_ns):
        return None
    index = part.cores.index(scene.core)
    busy, system = part.busy(), part.mode("system")
    if not np.isfinite(busy[:, index]).any():
        return None
    core_busy, core_system = np.nanmax(busy[:, index]), np.nanmax(system[:, index])
    mean = float(np.nanmean(busy))
    return Proof(
        "core times",
        f"CPU {scene.core} was {core_busy:.0f} % busy ({core_system:.0f} % system) in its worst "
        f"second of that stall, while the mean of all {len(part.cores)} cores was {mean:.0f} %",
        {
            "core_busy_percent": round(float(core_busy), 1),
            "core_system_percent": round(float(core_system), 1),
            "node_mean_percent": round(mean, 1),
        },
        window,
        f"exhume cores --from {_t(window.start_ns)} --to {_t(window.end_ns)}",
    )


def _overlap(causes: Sequence[Window], effect: Window) -> float:
    """Seconds of the cause that the effect met, all of it: it may go on after."""
    wide = four_tests.widened(effect)
    return sum(cause.seconds for cause in causes if cause.overlaps(wide))


def check_top(core: int | None, window: Window) -> str:
    where = "" if core is None else f" --core {core}"
    return f"exhume top --at {_t(window.start_ns)} --for {max(1.0, window.seconds):.1f}s{where}"


def _t(wall_ns: int) -> str:
    return f"{wall_ns / 1e9:.3f}"
