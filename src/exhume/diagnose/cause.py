"""A cause as stretches of time with an amount, weighed against the stalls it may have made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from exhume.derive.rates import Intervals
from exhume.diagnose import four_tests, measured
from exhume.diagnose.measured import is_covered
from exhume.diagnose.scene import Scene
from exhume.model.case import Outcome, Party, Tests
from exhume.model.ids import told_id
from exhume.model.lifecycles import ProcessTime
from exhume.model.observation import Observation
from exhume.model.window import Window

Amount = Callable[[Window], float]


def weigh(
    scene: Scene,
    causes: Sequence[Window],
    place: Outcome,
    amount: Amount | None = None,
    shows: Sequence[Window] = (),
) -> Tests:
    """`amount`: how much of the cause there was in a stretch; NaN where not known. `shows`: when
    it could be seen at all; empty where that is always."""
    effects = [one.window for one in scene.like if is_covered(one.window, shows)]
    dose: Outcome = "untested"
    if amount is not None:
        dose = graded(scene, amount, effects)
    counterfactual = measured.counterfactual(causes, effects, scene.seen.window, shows)[0]
    return Tests(four_tests.order(causes, effects), place, dose, counterfactual)


def graded(scene: Scene, amount: Amount, effects: Sequence[Window]) -> Outcome:
    """With harm: more of it. And with it against without: more while harm is done than else."""
    during = [amount(four_tests.widened(effect)) for effect in effects]
    known = [value for value in during if np.isfinite(value)]
    if not known:
        return "untested"
    found = four_tests.dose(during, [effect.seconds for effect in effects])
    if found == "passed":
        return found
    quiet = amount_elsewhere(scene.seen.window, [one.window for one in scene.like], amount)
    if not quiet:
        return "untested"
    usual, then = float(np.median(quiet)), float(np.median(known))
    if then >= 3 * usual and then > 0:
        return "passed"
    return "failed" if then < usual and len(known) >= 3 else "untested"


def amount_elsewhere(
    window: Window, effects: Sequence[Window], amount: Amount, parts: int = 40
) -> list[float]:
    """In stretches of the window that no effect touches."""
    step = max(1_000_000_000, (window.end_ns - window.start_ns) // parts)
    found = []
    for start in range(window.start_ns, window.end_ns - step + 1, step):
        part = Window(start, start + step)
        if not any(part.overlaps(four_tests.widened(effect, 2 * step)) for effect in effects):
            value = amount(part)
            if np.isfinite(value):
                found.append(value)
    return found


def mean_of(intervals: Intervals) -> Amount:
    """The mean of a rate or level over a stretch."""

    def amount(window: Window) -> float:
        here = (intervals.end_ns > window.start_ns) & (intervals.start_ns < window.end_ns)
        values = intervals.values[here]
        known = np.isfinite(values)
        return float(values[known].mean()) if known.any() else float("nan")

    return amount


def party(seen: Observation, comm: str, core: int | None = None, pid: int | None = None) -> Party:
    """A process by its name, with what its samples tell of its cgroup."""
    own = [one for one in seen.processes if one.comm == comm and pid in (None, one.pid)]
    most = max(own, key=lambda one: one.core_ns, default=None)
    told = None if pid is None else told_id(pid)
    if most is None:
        return Party(comm=comm, pid=told, core=core)
    return Party(
        comm=comm,
        pid=most.pid if most.pid > 0 else told,
        unit=most.unit or None,
        container=most.container_id[:12] or None,
        cgroup=most.cgroup or None,
        core=core,
    )


def cgroups_of(seen: Observation, comm: str) -> tuple[str, ...]:
    return tuple(sorted({p.cgroup for p in seen.processes if p.comm == comm and p.cgroup}))


def below(path: str, root: str) -> bool:
    return (path.rstrip("/") + "/").startswith(root.rstrip("/") + "/")


def busiest(seen: Observation, many: int = 5) -> tuple[ProcessTime, ...]:
    """Of the whole window, by core time: who a glance at the averages would blame."""
    return tuple(sorted(seen.processes, key=lambda one: (-one.core_ns, one.pid))[:many])
