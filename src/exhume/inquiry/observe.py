"""A recording → an `Observation`: first what finds symptoms anywhere, then all around one of them.

Twelve hours of 96 cores are not read in full: a symptom shows in events, in a few counters and in
the roll-ups, and what explains it lies around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import numpy as np
from msgspec.structs import replace

from exhume.diagnose.process_times import LEAST_READINGS
from exhume.diagnose.symptoms import doubtful
from exhume.diagnose.walking import measured
from exhume.model.answers import MAP_MODES, SeriesAnswer
from exhume.model.fields import FIELDS
from exhume.model.lifecycles import no_lives
from exhume.model.observation import CloseUp, CoreLoad, Observation
from exhume.model.window import Window
from exhume.store.queries.events import events
from exhume.store.queries.holds import kernel_holds
from exhume.store.queries.irqs import irqs
from exhume.store.queries.kernel_names import unnamed_kernel_ratio
from exhume.store.queries.lives import boots, process_events, process_times
from exhume.store.queries.occupancy import longest_runs, occupancy
from exhume.store.queries.recorded_seconds import recorded_seconds
from exhume.store.queries.seconds_sampled import sampled_windows, seconds_sampled
from exhume.store.queries.series import series
from exhume.store.queries.units import lifecycles
from exhume.store.queries.zombies import zombies
from exhume.store.recording import Recording
from exhume.store.rollups import MINUTE_NS
from exhume.store.view import units_of_time, wall_intervals

SYMPTOM_FIELDS = (
    "memcg.zombies", "memcg.tracked", "unit.restarts", "container.restarts", "container.total",
    "netthread.wait_ns", "netthread.slices", "netthread.runnable",
    "process.wait_ns", "process.slices", "process.runnable", "process.core",
    "pressure.cpu.some_us",
    "vmstat.oom_kill",
)  # fmt: skip
_LOOKS_AT_UNITS = ("unit.active",)
"""Of those that were started or failed: when somebody looked at them."""
_NOT_AROUND = ("irq.", "sampler.", "self.", "cpu.")
SHORT_NS = 2 * 3600 * 1_000_000_000
MOST_DOUBTFUL = 40
LEAST_UNBROKEN_SECONDS = 0.45
LEAST_SHARE_OF_CORE = 0.05
"""Of a process's time: where it was for less, it only passed by, before it was pinned."""
_SILENT_KINDS = ("exec", "exit", "container-seen")


def observe(recording: Recording, window: Window) -> Observation:
    """The whole window, as far as symptoms and slow trends need it."""
    ran, holds = boots(recording, window), kernel_holds(recording, window)
    told = tuple(events(recording, window, besides=_SILENT_KINDS))
    units = {event.subject for event in told if event.kind.startswith("unit-")}
    seen = Observation(
        window=window,
        node=next((one.node for one in reversed(ran) if one.node), ""),
        kernel=next((one.kernel for one in reversed(ran) if one.kernel), ""),
        boots=ran,
        recorded_seconds=recorded_seconds(recording, window),
        sampled_seconds=seconds_sampled(recording, window, of_time=True),
        load=core_load(recording, window),
        series=_series(recording, SYMPTOM_FIELDS, window)
        | _series(recording, _LOOKS_AT_UNITS if units else (), window, units),
        events=told,
        lives=no_lives(),
        lifecycles=(),
        zombies=measured(zombies(recording, window), holds),
        holds=holds,
        lines=(),
        crowds=(),
        unnamed_kernel_ratio=unnamed_kernel_ratio(recording, window),
        notes=tuple(recording.problems(window)),
        sampled=sampled_windows(recording, window),
        timed=sampled_windows(recording, window, of_time=True),
    )
    seen = replace(seen, unbroken=_unbroken(recording, seen))
    short = window.end_ns - window.start_ns <= SHORT_NS
    return with_processes(recording, seen, window) if short else seen


def with_processes(recording: Recording, seen: Observation, window: Window) -> Observation:
    """Who lived, started and ran: execs come by the hundred thousand in a night."""
    lives = process_events(recording, window)
    often, seldom = _process_cores(recording, window)
    return replace(
        seen,
        lives=lives,
        lifecycles=lifecycles(recording, window, lives=lives).lifecycles,
        processes=process_times(recording, window),
        process_cores=often,
        seldom_cores=seldom,
        frame_ms=_frame_ms(recording, window),
    )


def _unbroken(recording: Recording, seen: Observation) -> tuple[tuple[int, Window], ...]:
    """Where a wait may be no sharing: did one thread have the core all the while?"""
    return tuple(
        (core, run)
        for core, window, victim in doubtful(seen)[:MOST_DOUBTFUL]
        for comm, run in sorted(longest_runs(recording, core, window).items())
        if comm != victim and run.seconds >= LEAST_UNBROKEN_SECONDS
    )


def look_around(recording: Recording, seen: Observation, window: Window) -> Observation:
    """Every series of the stretch around the symptoms, and where interrupts went then."""
    fields = [
        field.id
        for field in FIELDS
        if field.id not in (*SYMPTOM_FIELDS, *_LOOKS_AT_UNITS)
        and not field.id.startswith(_NOT_AROUND)
    ]
    found = irqs(recording, window)
    if not seen.processes:
        seen = with_processes(recording, seen, window)
    return replace(
        seen,
        series={**seen.series, **_series(recording, [*fields, "irq.timer"], window)},
        lines=found.lines,
        crowds=found.crowded,
    )


def close_up(recording: Recording, core: int, window: Window) -> CloseUp:
    return CloseUp(occupancy(recording, core, window))


def core_load(recording: Recording, window: Window) -> CoreLoad | None:
    parts = []
    for view in recording.views(window):
        with recording.sparing(view):
            seconds = view.core_seconds()
            if seconds is not None and len(seconds.start_ns):
                start, end = wall_intervals(view.clock, seconds.start_ns, seconds.end_ns)
                here = np.flatnonzero((end > window.start_ns) & (start < window.end_ns))
                if len(here):
                    share = seconds.permille.transpose(0, 2, 1)[:, here]
                    parts.append((seconds.cores, start[here], end[here], share))
    if not parts:
        return None
    cores = tuple(sorted({core for own, _, _, _ in parts for core in own}))
    place = {core: index for index, core in enumerate(cores)}
    count = sum(len(start) for _, start, _, _ in parts)
    permille = np.full((len(MAP_MODES), count, len(cores)), -1, np.int16)
    at = 0
    for own, start, _, share in parts:
        permille[:, at : at + len(start), [place[core] for core in own]] = share
        at += len(start)
    starts = np.concatenate([start for _, start, _, _ in parts])
    ends = np.concatenate([end for _, _, end, _ in parts])
    return CoreLoad(cores, starts, ends, permille)


def _series(
    recording: Recording, fields: Iterable[str], window: Window, instances: Collection[str] = ()
) -> dict[str, tuple[SeriesAnswer, ...]]:
    recorded = {field for view in recording.views(window) for field in view.fields()}
    return {
        field: tuple(series(recording, field, window, instances))
        for field in fields
        if field in recorded
    }


_CoresByName = tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]


def _process_cores(recording: Recording, window: Window) -> _CoresByName:
    """By name, from the roll-up: the cores where most of its time was first; and apart from them
    those of whoever was met in a few seconds alone: where it may run shows only by and by."""
    took: dict[tuple[str, int], float] = {}
    met: Counter[str] = Counter()
    for view in recording.views(window):
        with recording.sparing(view):
            rows, index = view.process_seconds(), view.threads()
            key = (rows.process.astype(np.int64) << 16) | rows.core
            packed, place, seconds = np.unique(key, return_inverse=True, return_counts=True)
            weight = np.bincount(place, rows.weight_us, len(packed))
            for one, micro, times in zip(
                packed.tolist(), weight.tolist(), seconds.tolist(), strict=True
            ):
                name = index.threads.comm[int(index.processes.first_thread[one >> 16])]
                cell = name, one & 0xFFFF
                took[cell] = took.get(cell, 0.0) + micro
                met[name] += times
    total: dict[str, float] = {}
    for (name, _), micro in took.items():
        total[name] = total.get(name, 0.0) + micro
    often: dict[str, tuple[int, ...]] = {}
    seldom: dict[str, tuple[int, ...]] = {}
    for (name, core), micro in sorted(took.items(), key=lambda item: (-item[1], item[0])):
        if micro >= LEAST_SHARE_OF_CORE * total[name]:
            found = often if met[name] >= LEAST_READINGS else seldom
            found[name] = (*found.get(name, ()), core)
    return often, seldom


def _frame_ms(recording: Recording, window: Window) -> dict[str, dict[str, int]]:
    """By process name and function, from the roll-up of frames."""
    found: dict[str, dict[str, int]] = {}
    for view in recording.views(window):
        with recording.sparing(view):
            rows, frames = view.frame_minutes(), view.tree().tree.frames
            minutes = int(rows.minute.max()) + 1 if len(rows.minute) else 0
            keep = units_of_time(view, MINUTE_NS, minutes)[rows.minute]
            key = ((rows.process.astype(np.int64) << 32) | rows.frame)[keep]
            packed, place = np.unique(key, return_inverse=True)
            took = np.bincount(place, rows.inclusive_ms[keep], len(packed))
            for one, ms in zip(packed.tolist(), took.tolist(), strict=True):
                own = found.setdefault(frames[one >> 32].name, {})
                name = frames[one & 0xFFFFFFFF].name
                own[name] = own.get(name, 0) + round(ms)
    return found
