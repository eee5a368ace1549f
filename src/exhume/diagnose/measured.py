"""Of which harm anything was measured. Of the rest samples and times of cores say nothing, neither
for nor against: a log tells of a day, and a capture of two minutes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from exhume.diagnose import four_tests
from exhume.model.arrays import I64
from exhume.model.case import Outcome, Symptom
from exhume.model.observation import CoreLoad, Observation
from exhume.model.window import Window

_HALF = 0.5
_SEAM_NS = 2_000_000_000
_LEAST_ELSE_NS = 10_000_000_000


def is_covered(harm: Window, stretches: Sequence[Window]) -> bool:
    """Half of it at least; also where it is not known when anything was measured."""
    if not stretches:
        return True
    parts = (one.clip(harm) for one in stretches)
    return sum(part.seconds for part in parts if part is not None) >= _HALF * harm.seconds


def metered(load: CoreLoad | None) -> tuple[Window, ...]:
    """Stretches of which it is known what the cores did."""
    if load is None or not len(load.start_ns):
        return ()
    cuts = np.flatnonzero(load.start_ns[1:] > load.end_ns[:-1] + _SEAM_NS) + 1
    first, last = [0, *cuts.tolist()], [*(cuts - 1).tolist(), len(load.start_ns) - 1]
    return tuple(
        Window(int(load.start_ns[a]), int(load.end_ns[b])) for a, b in zip(first, last, strict=True)
    )


def best_first(seen: Observation, group: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """What samples tell of, then what the times of cores do, then what was only told."""
    known = [stretches for stretches in (seen.timed, metered(seen.load)) if stretches]
    return tuple(
        sorted(group, key=lambda one: [not is_covered(one.window, each) for each in known])
    )


def is_measured(seen: Observation, group: Iterable[Symptom]) -> bool:
    """Anything of it; also where nothing was measured of any harm."""
    known = [stretches for stretches in (seen.timed, metered(seen.load)) if stretches]
    return not known or any(is_covered(one.window, each) for one in group for each in known)


def counterfactual(
    causes: Sequence[Window],
    effects: Sequence[Window],
    within: Window,
    stretches: Sequence[Window],
) -> tuple[Outcome, float, float, int]:
    """Of a cause that shows in these stretches only: of harm outside them it is not known whether
    it was there, and shifts go over their time alone. Also: among how many that was asked."""
    known = [one for one in effects if is_covered(one, stretches)]
    if stretches:
        own, met = ([_squeezed(one, stretches) for one in every] for every in (causes, known))
        whole = _squeezed(within, stretches)
        found = four_tests.counterfactual(
            [one for one in own if one.seconds], [one for one in met if one.seconds], whole
        )
    else:
        found = four_tests.counterfactual(causes, known, within)
    return (*found, len(known))


def share_elsewhere(
    causes: Iterable[Window], harms: Iterable[Window], stretches: Sequence[Window]
) -> float:
    """Of the time that something was measured and nobody harmed, how much the cause fills; NaN
    where that is too little to tell. What is there all the time does not say why it was just then.
    """
    free = _without(joined(stretches), joined(four_tests.widened(one) for one in harms))
    if not len(free):
        return float("nan")
    cuts = (free - free[0, 0]).ravel()
    gone = np.repeat(np.cumsum(free[:, 1] - free[:, 0]), 2)
    gone[::2] -= free[:, 1] - free[:, 0]
    if gone[-1] < _LEAST_ELSE_NS:
        return float("nan")
    own = np.array([(one.start_ns, one.end_ns) for one in joined(causes)], np.int64).reshape(-1, 2)
    begin, end = np.interp(own - free[0, 0], cuts, gone).T
    return float((end - begin).sum()) / float(gone[-1])


def joined(windows: Iterable[Window]) -> list[Window]:
    """In order, those that meet as one."""
    found: list[Window] = []
    for window in sorted(windows):
        if found and window.start_ns <= found[-1].end_ns:
            found[-1] = Window(found[-1].start_ns, max(found[-1].end_ns, window.end_ns))
        else:
            found.append(window)
    return found


def _without(stretches: Sequence[Window], cuts: Sequence[Window]) -> I64:
    """What is left of them: starts and ends. Both are in order, and none of either meet."""
    left: list[tuple[int, int]] = []
    at = 0
    for one in stretches:
        start = one.start_ns
        while at < len(cuts) and cuts[at].end_ns <= start:
            at += 1
        here = at
        while here < len(cuts) and cuts[here].start_ns < one.end_ns:
            if start < cuts[here].start_ns:
                left.append((start, cuts[here].start_ns))
            start = max(start, cuts[here].end_ns)
            here += 1
        if start < one.end_ns:
            left.append((start, one.end_ns))
    return np.array(left, np.int64).reshape(-1, 2)


def _squeezed(one: Window, stretches: Sequence[Window]) -> Window:
    """On an axis from which the time between the stretches is cut out."""
    start, end = (
        sum(max(0, min(part.end_ns, at) - part.start_ns) for part in stretches)
        for at in (one.start_ns, one.end_ns)
    )
    return Window(start, end)
