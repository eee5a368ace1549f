"""The victim's core was full just then by its own times, and nobody was sampled there.

It is the mechanism alone: that the core was taken is known, who took it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from exhume.derive.rates import Intervals
from exhume.detect import shown
from exhume.detect.cores import bursts
from exhume.diagnose.cause import mean_of, weigh
from exhume.diagnose.four_tests import widened
from exhume.diagnose.measured import is_covered, metered
from exhume.diagnose.process_times import TimedHolder, who_had
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.diagnose.waiting import not_waiting
from exhume.model.answers import MAP_MODES
from exhume.model.arrays import F64, Bool
from exhume.model.case import Party
from exhume.model.observation import CoreLoad
from exhume.model.window import Window

_HALF = 0.5
_PARTLY_PERCENT = 20.0
_TAKEN = ("system", "irq", "softirq")
"""Time in user mode is what cores are for; stolen time has a hypothesis of its own."""


def suspects(scene: Scene) -> Iterator[Suspicion]:
    load = scene.seen.load
    if load is None or scene.core is None or scene.core not in load.cores or _is_sampled(scene):
        return
    index = load.cores.index(scene.core)
    own = CoreLoad((scene.core,), load.start_ns, load.end_ns, load.permille[:, :, [index]])
    full = [window for _, window, rows in bursts(own) if _mode(own, rows) in _TAKEN]
    known = [one.window for one in scene.like if is_covered(one.window, metered(load))]
    met = [one for one in known if _fill(full, one) >= _HALF]
    if not met:
        return
    yield _suspicion(scene, load, own, full, met, len(known))


def _suspicion(
    scene: Scene,
    load: CoreLoad,
    own: CoreLoad,
    full: Sequence[Window],
    met: Sequence[Window],
    known: int,
) -> Suspicion:
    core, victim = scene.core, scene.symptom.victim
    burst = max((w for w in full if _fill([w], met[0]) > 0), key=lambda w: w.seconds)
    taken = _taken(own)
    there = (own.end_ns > burst.start_ns) & (own.start_ns < burst.end_ns)
    percent, mode = float(np.nanmean(taken[there])), _mode(own, there)
    mean = float(np.nanmean(load.within(burst).busy()))
    was_full = f"CPU {core} was full for {burst.seconds:.0f} s"
    claim = (
        f"{was_full}, {percent:.0f} % of it in the kernel (mostly {mode}), and the mean of all "
        f"cores was {mean:.0f} %; so it was {len(met)} of {known} times that harm was "
        "done"
    )
    figures: dict[str, str | int | float] = {
        "seconds": round(burst.seconds, 1),
        "mode": mode,
        "kernel_percent": round(percent, 1),
        "node_mean_percent": round(mean, 1),
        "stalls_met": len(met),
        "stalls": known,
    }
    check = f"exhume cores {shown.whole_span(burst, 5)}"
    amount = mean_of(Intervals(own.start_ns, own.end_ns, taken))
    causes = [_from_its_start(own, one) for one in full]
    tests = weigh(scene, causes, scene.place, amount, metered(load))
    proofs = [Proof("core times", claim, figures, burst, check)]
    had, asked = "who had it was not recorded", f"who had CPU {core}"
    holder = who_had(scene.seen, own.cores[0], burst)
    if holder is not None:
        proofs.append(_by_times(holder, burst))
        was = "may have been" if holder.is_bound else "was"
        had = f"{holder.party.name} {was} on it, and for whom it worked is open"
        asked = f"what {holder.party.name} did on CPU {core}"
    return Suspicion(
        kind="kernel-hog" if mode == "system" else "unknown",
        culprit=Party(core=core),
        summary=f"{was_full} in the kernel, and {victim.name} waited for it; {had}",
        steps=(Step(claim, "mechanism", tests, tuple(proofs)),),
        depth=1,
        payer=None if holder is None else holder.party,
        victim=victim,
        details={"mode": mode, "seconds": round(burst.seconds, 1)},
        contradiction=not_waiting(scene),
        at_most="low",
        missing=(
            f"{asked}: run exhume record on this node, or import perf captures (perf record -F 97 "
            "-g -a) of such a time with the other files",
        ),
    )


def _by_times(holder: TimedHolder, burst: Window) -> Proof:
    name, core = holder.party.name, holder.party.core
    used = "may have used" if holder.is_bound else "used"
    alone = ", and nobody else half of it" if holder.is_bound else ""
    claim = f"{name} {used} {100 * holder.share:.0f} % of CPU {core} meanwhile, by its own times"
    claim += alone
    figures: dict[str, str | int | float] = {"share_of_core_percent": round(100 * holder.share, 1)}
    check = shown.series("process.system", burst, f"{holder.party.pid} {holder.party.comm}")
    return Proof("process times", claim, figures, burst, check)


def _from_its_start(own: CoreLoad, full: Window) -> Window:
    """It began within the interval before the first that it filled, if that was taken in part."""
    before = int(np.searchsorted(own.start_ns, full.start_ns)) - 1
    is_next = before >= 0 and int(own.end_ns[before]) == full.start_ns
    if not is_next or not _taken(own)[before] >= _PARTLY_PERCENT:
        return full
    return Window(int(own.start_ns[before]), full.end_ns)


def _taken(own: CoreLoad) -> F64:
    """Percent of it, by interval."""
    found: F64 = np.array([own.mode(name)[:, 0] for name in _TAKEN], np.float64).sum(axis=0)
    return found


def _is_sampled(scene: Scene) -> bool:
    looked_at = (stall.close_up for stall in scene.stalls if stall.close_up is not None)
    return any(one.during.samples or one.during.occupants for one in looked_at)


def _mode(own: CoreLoad, rows: slice | Bool) -> str:
    return MAP_MODES[int(own.permille[:5, rows, 0].mean(axis=1).argmax())]


def _fill(full: Sequence[Window], harm: Window) -> float:
    """How much of the harm they cover. What ended just before a line was written counts, too."""
    parts = (window.clip(widened(harm)) for window in full)
    return sum(part.seconds for part in parts if part is not None) / max(harm.seconds, 1e-9)
