"""The pictures that go with a case: the cores around the symptom, its stacks, the zombies."""

from __future__ import annotations

import numpy as np

from exhume.model.answers import CoreMap, Filter, FlameTree
from exhume.model.case import Case, Symptom
from exhume.model.report import Report, ZombieCurve
from exhume.model.window import Window
from exhume.store.queries.core_map import core_map
from exhume.store.queries.flame import flame
from exhume.store.queries.zombies import zombies
from exhume.store.recording import Recording

SECOND_NS = 1_000_000_000
MOST_COLUMNS = 180
LEAST_AROUND_NS = 30 * SECOND_NS
MIN_SHARE = 0.001
"""Of a flame graph: thinner branches are not seen on a page."""
_LEAST_POINTS = 2


def report_of(recording: Recording, case: Case) -> Report:
    tree = None if case.symptom is None else _flame(recording, case.symptom)
    core = None if case.symptom is None or tree is None else case.symptom.victim.core
    return Report(
        case,
        _cores(recording, case),
        tree,
        core,
        hot_functions(case, tree),
        _zombies(recording, case),
    )


def hot_functions(case: Case, tree: FlameTree | None) -> tuple[str, ...]:
    """Names among the figures of the evidence that are frames of this flame graph."""
    if tree is None:
        return ()
    there = {frame.name for frame in tree.frames}
    named = (value for one in case.evidence for value in one.figures.values())
    return tuple(dict.fromkeys(name for name in named if isinstance(name, str) and name in there))


def around(symptom: Symptom, within: Window) -> Window:
    """With as much before and after it as shows that it was an exception; whole seconds."""
    length = symptom.window.end_ns - symptom.window.start_ns
    margin = max(LEAST_AROUND_NS, 2 * length)
    wide = Window(symptom.window.start_ns - margin, symptom.window.end_ns + margin)
    wide = wide.clip(within) or symptom.window
    start = wide.start_ns // SECOND_NS * SECOND_NS
    return Window(start, max(start + SECOND_NS, -(-wide.end_ns // SECOND_NS) * SECOND_NS))


def _cores(recording: Recording, case: Case) -> CoreMap | None:
    window = case.window if case.symptom is None else around(case.symptom, case.window)
    columns = max(1, min(MOST_COLUMNS, round(window.seconds)))
    found = core_map(recording, window, columns)
    return found if np.isfinite(found.worst_percent_of_core).any() else None


def _flame(recording: Recording, symptom: Symptom) -> FlameTree | None:
    core = symptom.victim.core
    wanted = Filter(cores=() if core is None else (core,))
    tree = flame(recording, symptom.window, wanted, MIN_SHARE)
    return tree if tree.samples else None


def _zombies(recording: Recording, case: Case) -> ZombieCurve | None:
    kinds = {one.kind for one in case.suspects}
    kinds |= {one.kind for one in (*case.risks, *case.meanwhile)}
    if "zombie-cgroups" not in kinds:
        return None
    found = zombies(recording, case.window)
    if len(found.counts) < _LEAST_POINTS:
        return None
    return ZombieCurve(found.wall_ns, found.counts)
