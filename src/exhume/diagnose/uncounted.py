"""Who may leave zombies behind where nobody counted them, as of a perf capture alone.

Somebody who starts again and again, by or as one who makes cgroups, while walks over them take the
longer the more starts there were. That is no count: it makes a suspect, never a culprit found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.diagnose import four_tests
from exhume.diagnose.leakers import LEAST_STARTS, lifecycle_party, makes_cgroups, starts_of
from exhume.model.case import Outcome, Party, Tests
from exhume.model.lifecycles import Lifecycle
from exhume.model.observation import Observation
from exhume.model.window import Window


class Loop(Struct, frozen=True):
    lifecycle: Lifecycle
    culprit: Party
    tests: Tests
    starts: int
    seconds_per_start: float
    """By how much a walk grew with each; NaN where it did not."""


def uncounted_loops(seen: Observation, walks: Sequence[tuple[Window, float]]) -> tuple[Loop, ...]:
    """`walks`: when, and how long on the core. Those that fit best first."""
    found = []
    for one in seen.lifecycles:
        if one.starts >= LEAST_STARTS and one.mark != "healthy" and makes_cgroups(seen, one):
            loop = _loop(seen, one, walks)
            is_idle_guess = one.is_of_cron and loop.tests.dose != "passed"
            if "failed" not in loop.tests.outcomes() and not is_idle_guess:
                found.append(loop)
    found.sort(key=lambda loop: (-loop.tests.outcomes().count("passed"), -loop.starts))
    return tuple(found)


def _loop(seen: Observation, one: Lifecycle, walks: Sequence[tuple[Window, float]]) -> Loop:
    wall, count = starts_of(seen, one)
    begins = np.array([window.start_ns for window, _ in walks], np.int64)
    lengths = np.array([seconds for _, seconds in walks])
    total = np.concatenate(([0], np.cumsum(count)))
    before = total[np.searchsorted(wall, begins, "right")].astype(np.float64)
    dose = four_tests.dose(before.tolist(), lengths.tolist())
    order: Outcome = "untested"
    if len(wall) and len(begins):
        order = "passed" if wall[0] <= np.median(begins) else "failed"
    slope = float("nan")
    if dose == "passed":
        slope = float(np.polyfit(before, lengths, 1)[0])
    return Loop(one, lifecycle_party(one), Tests(order, "passed", dose), int(total[-1]), slope)
