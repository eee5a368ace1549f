"""Readings of a field as a report: counters as their rate, the most active instances first."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from exhume.derive.printable import printable
from exhume.derive.rates import levels, rates
from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.answers import SeriesAnswer
from exhume.model.evidence import InstanceSeries, SeriesReport
from exhume.model.fields import Field
from exhume.model.window import Window

_CLOSE_NAMES = 5


def series_report(
    wanted: Field,
    window: Window,
    every: Sequence[SeriesAnswer],
    instances: Sequence[str] = (),
    *,
    limit: int | None = 20,
    raw: bool = False,
    notes: tuple[str, ...] = (),
) -> SeriesReport:
    """Of all instances, or of those whose name is given, or matches with * and ?."""
    chosen = [one for one in every if _is_wanted(one.instance, instances)]
    if every and not chosen:
        raise _no_such(wanted, instances, [one.instance for one in every])
    is_rate = wanted.kind == "counter" and not raw
    made = [_instance(one, is_rate=is_rate) for one in chosen]
    made.sort(key=lambda pair: (-pair[1], pair[0].instance))
    shown = made if limit is None else made[:limit]
    return SeriesReport(
        window=window,
        field=wanted,
        is_rate=is_rate,
        unit=f"{wanted.unit} per second" if is_rate else wanted.unit,
        series=tuple(one for one, _ in shown),
        left_out=len(made) - len(shown),
        notes=notes,
    )


def not_recorded(wanted: Field) -> str:
    return f"{wanted.id} was not recorded in this window"


def _instance(series: SeriesAnswer, *, is_rate: bool) -> tuple[InstanceSeries, float]:
    """With how active it was: what a counter gained, how high a gauge stood and moved."""
    if is_rate:
        found = rates(series)
        intervals, resets, wall = found.per_second, found.resets, found.per_second.end_ns
        activity = -1.0 if found.total is None else float(found.total)
    else:
        intervals, resets = levels(series), 0
        wall = intervals.start_ns
        least, most = intervals.least(), intervals.most()
        activity = most - least + max(abs(most), abs(least)) if len(wall) else -1.0
    made = InstanceSeries(
        instance=series.instance,
        readings=int(np.isfinite(intervals.values).sum()),
        resets=resets,
        least=intervals.least(),
        mean=intervals.mean(),
        most=intervals.most(),
        last=intervals.last(),
        wall_ns=wall,
        values=intervals.values,
    )
    return made, activity


def _is_wanted(instance: str, wanted: Sequence[str]) -> bool:
    if not wanted or instance in wanted:
        return True
    return any(fnmatchcase(instance, pattern) for pattern in wanted if set("*?") & set(pattern))


def _no_such(wanted: Field, instances: Sequence[str], known: list[str]) -> ExhumeError:
    what = f"{wanted.id} was not read of {' or '.join(map(repr, instances))}"
    if not any(known):
        todo = "it is one figure for the whole node: leave the name out"
        return ExhumeError(what, todo=todo, exit_code=EXIT_USAGE)
    some = [printable(name) for name in known[:_CLOSE_NAMES]]
    near = difflib.get_close_matches(instances[0], known, 3, 0.5)
    near += [name for name in known if instances[0] in name and name not in near]
    shown = ", ".join(f"'{printable(name)}'" for name in near[:_CLOSE_NAMES]) or ", ".join(some)
    todo = f"it was read of {len(known)}, such as {shown}"
    return ExhumeError(what, todo=todo, exit_code=EXIT_USAGE)
