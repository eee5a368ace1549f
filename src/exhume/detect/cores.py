"""Cores that were full, that the hypervisor took away, and bursts that come in a rhythm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from exhume.derive.runs import where_true
from exhume.detect import shown
from exhume.model.answers import MAP_MODES
from exhume.model.finding import Finding
from exhume.model.observation import CoreLoad, Observation
from exhume.model.window import Window

FULL_PERCENT = 95.0
LEAST_SECONDS = 2.5
STEAL_PERCENT = 20.0
_LONG_SECONDS = 120.0
"""A core that is full for longer is at work, not in a burst."""
_LEAST_TURNS = 5
_STEADY = 0.2
_MANY = 200


def saturated(seen: Observation) -> Iterator[Finding]:
    """Full for seconds, while the mean of the node looked fine."""
    if seen.load is None:
        return
    busy = seen.load.busy()
    for core, window, rows in bursts(seen.load):
        part = seen.load.permille[:, rows][:, :, seen.load.cores.index(core)]
        mode = MAP_MODES[int(part.mean(axis=1)[:5].argmax())]
        if mode == "user":
            continue  # what cores are for
        mean = float(np.nanmean(busy[rows]))
        yield Finding(
            "saturated-core",
            f"CPU {core} was full for {window.seconds:.0f} s, mostly {mode}, while the mean of "
            f"{len(seen.load.cores)} cores was {mean:.0f} %",
            window,
            core=core,
            figures={
                "seconds": round(window.seconds, 1),
                "mode": mode,
                "node_mean_percent": round(mean, 1),
            },
            check=f"exhume cores {shown.span(window)}",
        )


def bursts(load: CoreLoad) -> list[tuple[int, Window, slice]]:
    """Each core's stretches of full seconds: the longest first."""
    busy = load.busy()
    found: list[tuple[int, Window, slice]] = []
    for index, core in enumerate(load.cores):
        with np.errstate(invalid="ignore"):
            full = busy[:, index] >= FULL_PERCENT
        for begin, end in where_true(full):
            window = Window(int(load.start_ns[begin]), int(load.end_ns[end - 1]))
            if window.seconds >= LEAST_SECONDS:
                found.append((core, window, slice(begin, end)))
    return sorted(found, key=lambda one: (-one[1].seconds, one[0]))[:_MANY]


def steal(seen: Observation) -> Iterator[Finding]:
    """The hypervisor gave the core to somebody else: nothing on this node explains that."""
    if seen.load is None:
        return
    stolen = seen.load.mode("steal")
    for index, core in enumerate(seen.load.cores):
        with np.errstate(invalid="ignore"):
            much = stolen[:, index] >= STEAL_PERCENT
        for begin, end in where_true(much):
            window = Window(int(seen.load.start_ns[begin]), int(seen.load.end_ns[end - 1]))
            percent = float(np.nanmean(stolen[begin:end, index]))
            if window.seconds >= 1:
                yield Finding(
                    "cpu-steal",
                    f"the hypervisor took {percent:.0f} % of CPU {core} for {window.seconds:.0f} s",
                    window,
                    core=core,
                    figures={"steal_percent": round(percent, 1)},
                    check=f"exhume cores {shown.span(window)}",
                )


def periodic(seen: Observation) -> Iterator[Finding]:
    """Bursts of one core that come at a steady pace: somebody's loop, and its phase."""
    if seen.load is None:
        return
    by_core: dict[int, list[Window]] = {}
    for core, window, _ in bursts(seen.load):
        if window.seconds <= _LONG_SECONDS:
            by_core.setdefault(core, []).append(window)
    for core, windows in by_core.items():
        period = period_of(windows)
        if period is not None:
            whole = Window(min(w.start_ns for w in windows), max(w.end_ns for w in windows))
            phase = min(w.start_ns for w in windows) / 1e9 % period
            yield Finding(
                "periodic-bursts",
                f"CPU {core} was full {len(windows)} times, every {period:.1f} s",
                whole,
                core=core,
                figures={
                    "period_seconds": round(period, 2),
                    "phase_seconds": round(phase, 2),
                    "times": len(windows),
                },
                check=f"exhume cores {shown.span(whole)}",
            )


def period_of(windows: Sequence[Window]) -> float | None:
    """From start to start, where the middle half of the gaps lies close together."""
    starts = np.sort(np.array([window.start_ns for window in windows], np.int64))
    if len(starts) < _LEAST_TURNS:
        return None
    low, middle, high = np.percentile(np.diff(starts) / 1e9, (25, 50, 75))
    return float(middle) if middle > 0 and high - low <= _STEADY * middle else None
