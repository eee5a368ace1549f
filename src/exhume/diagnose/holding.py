"""The mechanism next to most symptoms: somebody had the core that the victim waited for."""

from __future__ import annotations

from statistics import median

import numpy as np
from msgspec import Struct

from exhume.diagnose import four_tests, measured
from exhume.diagnose.scene import Proof, Scene, Stall, Step
from exhume.diagnose.symptoms import says_how_long
from exhume.model.case import Outcome, Tests
from exhume.model.occupancy import Hold, Occupant
from exhume.model.window import Window

LEAST_HOLD_NS = 400_000_000
_MOSTLY = 0.6
_SECONDS_NS = 5_000_000_000


class Holder(Struct, frozen=True):
    """A process that had the victim's core while the victim waited."""

    occupant: Occupant
    """Of the longest stall it was on, if possible of one that says what it did there."""
    stalls: tuple[Stall, ...]
    """Those in which it had at least half of the core."""
    of_stalls: int
    """How many were looked at."""
    causes: tuple[Window, ...]
    """Whenever it held that core, symptom or not."""
    is_told: bool = False
    """By the kernel's lines alone, which tell of few holds and not when they began."""
    holds: tuple[Hold, ...] = ()
    """Those of `causes` that samples measured, with the time it was on the core."""

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
        told = max(stalls, key=lambda stall: (_is_named(stall), stall.window.seconds))
        if told.holder is not None:
            causes = causes_of(scene, name)
            own = [h for h in scene.seen.holds if h.comm == name and h.core == scene.core]
            is_told = bool(own) and all(h.is_told for h in own)
            by_samples = tuple(h for h in own if not h.is_told)
            found.append(
                Holder(told.holder, tuple(stalls), len(looked_at), causes, is_told, by_samples)
            )
    return tuple(sorted(found, key=lambda one: (-len(one.stalls), one.occupant.comm)))


def _is_named(stall: Stall) -> bool:
    return stall.holder is not None and not stall.holder.is_unnamed


def causes_of(scene: Scene, comm: str) -> tuple[Window, ...]:
    """The stretches that it held the core for.

    To the sample where it stayed in the kernel; by whole seconds where it was in user mode too.
    """
    exact = [
        hold.window for hold in scene.seen.holds if hold.core == scene.core and hold.comm == comm
    ]
    coarse = list(scene.presence.get(comm, ()))
    length = sum(window.seconds for window in exact)
    if length < _MOSTLY * sum(window.seconds for window in coarse):
        return tuple(measured.joined([*exact, *coarse]))
    alone = [w for w in coarse if not any(w.overlaps(one) for one in exact)]
    return tuple(sorted([*exact, *alone]))


def held_core(scene: Scene, holder: Holder, doing: str) -> Step:
    """The link from the symptom to whoever held the core."""
    occupant = holder.occupant
    effects = [stall.window for stall in scene.stalls]
    dose = _dose(scene, holder)
    causes = [w for w in holder.causes if w.end_ns - w.start_ns >= LEAST_HOLD_NS]
    every = [one.window for one in scene.like] or effects
    counterfactual, met, chance, many = measured.counterfactual(
        causes, every, scene.seen.window, scene.seen.timed
    )
    mode = "user mode" if occupant.user_share >= 0.5 else "the kernel"
    claim = (
        f"{occupant.name} had CPU {scene.core} in {mode} for {100 * holder.share:.0f} % of the "
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
        Proof(
            "kernel log" if holder.is_told else "samples",
            claim,
            figures,
            longest.window,
            check_events(four_tests.widened(longest.window))
            if holder.is_told
            else check_top(scene.core, longest.window),
        )
    ]
    if np.isfinite(chance) and not holder.is_told:
        proofs.append(
            Proof(
                "counters",
                f"{100 * met:.0f} % of {many} symptoms fall into its {len(causes)} holds; "
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
    if holder.is_told:
        tests = Tests(place=scene.place)
    return Step(claim, "mechanism", tests, tuple(proofs))


def _dose(scene: Scene, holder: Holder) -> Outcome:
    """The longer it held the core, the later the victim was."""
    found: Outcome = "untested"
    if any(h.comm == holder.occupant.comm and h.is_one_call for h in scene.seen.holds):
        found = four_tests.dose(*_by_hold(holder))
    if found != "untested":
        return found
    # Who is on it all day was there for as long as anybody may have waited.
    harms = [one.window for one in (*scene.like, *scene.others)]
    elsewhere = measured.share_elsewhere(holder.causes, harms, scene.seen.timed)
    if elsewhere >= _MOSTLY:
        return "untested"
    # Holds that go on from one stall to the next have no length of their own: its time counts.
    told = [stall for stall in holder.stalls if says_how_long(stall.symptom)]
    there = [0.0 if s.holder is None else s.holder.core_ns / 1e9 for s in told]
    return four_tests.same_length(there, [stall.window.seconds for stall in told])


def _load_proof(scene: Scene, window: Window) -> Proof | None:
    """The core's own times say it too, and what the node's mean said."""
    if scene.seen.load is None or scene.core not in scene.seen.load.cores:
        return None
    part = scene.seen.load.within(window)
    lengths = part.end_ns - part.start_ns
    if not len(lengths) or lengths.min() > max(_SECONDS_NS, window.end_ns - window.start_ns):
        return None  # of seconds a mean over minutes, as sar's, says nothing
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


def _by_hold(holder: Holder) -> tuple[list[float], list[float]]:
    """Seconds that it held the core, all of them, and how long somebody was late meanwhile.

    Several waits may fall into one hold: real-time threads leave a twentieth of each second to
    others, and whoever runs then is late anew.
    """
    late: dict[tuple[Window, ...], list[Window]] = {}
    for stall in holder.stalls:
        wide = four_tests.widened(stall.window)
        met = tuple(cause for cause in holder.causes if cause.overlaps(wide))
        late.setdefault(met, []).append(stall.window)
    held = [sum(one.seconds for one in met) for met in late]
    return held, [sum(one.seconds for one in measured.joined(each)) for each in late.values()]


def check_top(core: int | None, window: Window) -> str:
    where = "" if core is None else f" --core {core}"
    return f"exhume top --at {_t(window.start_ns)} --for {max(1.0, window.seconds):.1f}s{where}"


def check_events(window: Window) -> str:
    return f"exhume events --at {_t(window.start_ns)} --for {max(1.0, window.seconds):.1f}s"


def _t(wall_ns: int) -> str:
    return f"{wall_ns / 1e9:.3f}"
