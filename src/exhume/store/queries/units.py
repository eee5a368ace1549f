"""Who keeps dying: units, containers and programs, and what each start leaves behind."""

from __future__ import annotations

from collections.abc import Sequence

from exhume.derive import leaks, starts, units
from exhume.derive import zombies as memcgs
from exhume.derive.looks import Looks, looks_at
from exhume.derive.rates import LOOK_BACK_NS, gained
from exhume.model.answers import EventAnswer, SeriesAnswer
from exhume.model.arrays import I64
from exhume.model.lifecycles import Boot, Lifecycle, ProcessEvents, UnitsAnswer
from exhume.model.window import Window
from exhume.store.ended import is_imported
from exhume.store.queries.events import events
from exhume.store.queries.lives import boots, process_events, process_times
from exhume.store.queries.recorded_seconds import recorded_seconds
from exhume.store.queries.seconds_sampled import seconds_sampled
from exhume.store.queries.series import series
from exhume.store.recording import Recording

KINDS = ("unit", "container", "process")
_NOT_RECORDED = (
    "no systemd units were recorded: systemd does not run here, or hides",
    "no containers were recorded: neither Docker nor CRI listens here",
)
_NOT_IN_FILES = (
    "no systemd units are in the files: import `systemctl list-units --all` or the journal too",
    "no containers are in the files: import `docker ps -a` or `crictl ps -a` too",
)
_NAMED = 5
_TOLD = ("births", "removals", "releases")
_EVENTS = (
    "unit-start", "unit-failed", "unit-waiting", "container-start", "container-exit",
    "container-seen", "container-removed", "job-log",
)  # fmt: skip


def lifecycles(
    recording: Recording,
    window: Window,
    kinds: tuple[str, ...] = KINDS,
    lives: ProcessEvents | None = None,
) -> UnitsAnswer:
    """`lives`: the execs and exits of the window, where somebody has read them already."""

    def every(field: str) -> list[SeriesAnswer]:
        return series(recording, field, window)

    def looks_of(kind: str, name: str, own: Sequence[EventAnswer]) -> Looks:
        return looks_at(kind, name, own, lambda field, instance: looked.get((field, instance)))

    def told(field: str) -> list[SeriesAnswer]:
        """With what was told before: by name they are told when they change."""
        earlier = Window(window.start_ns - LOOK_BACK_NS, window.end_ns)
        return series(recording, field, earlier)

    def restarts(field: str) -> dict[str, int]:
        found = counters[field]
        return {one.instance: gained(one, windows, _ends(found)) for one in found}

    ran = boots(recording, window)
    windows = [one.window for one in ran]
    seconds = recorded_seconds(recording, window)
    told_events = events(recording, window, _EVENTS)
    subjects = {event.subject for event in told_events if event.kind.startswith("unit-")}
    counters = {field: every(field) for field in ("unit.restarts", "container.restarts")}
    active = series(recording, "unit.active", window, subjects) if subjects else []
    looked = {
        (one.field, one.instance): one
        for one in (*counters["unit.restarts"], *active, *every("container.total"))
    }
    if lives is None:
        lives = process_events(recording, window)
    found: list[Lifecycle] = units.of_units(
        told_events, restarts("unit.restarts"), lives, seconds, window, looks_of
    )
    has_units = bool(found)  # also without systemd: its lines in an imported log tell of them
    restarted = restarts("container.restarts")
    of_containers = units.of_containers(told_events, restarted, seconds, window, looks_of)
    found += of_containers
    # Only while samples are taken does anything tell of programs that start.
    found += units.of_processes(lives, seconds_sampled(recording, window) or seconds, window)
    times = process_times(recording, window)
    zombies = next(iter(every("memcg.zombies")), None)
    births, removals, releases = (told(f"memcg.{what}") for what in _TOLD)
    names = memcgs.names(births, removals, releases, windows, window.start_ns)
    boot = windows[-1] if windows else None
    memory = [
        next(iter(every(field)), None)
        for field in ("memory.percpu_bytes", "memory.slab_unreclaimable_bytes")
    ]
    per_zombie = memcgs.bytes_per_zombie(zombies, memory, boot)
    wall, counts = _counted(zombies, boot)

    def most_left(one: Lifecycle) -> float | None:
        own = starts.starts_of(one, told_events, lives)
        looks = looks_of(one.kind, one.name, starts.events_of(one, told_events))
        return starts.most_left(one, own, wall, counts, looks.every_ns)

    found = leaks.with_leaks(found, names, times, most_left, per_zombie)
    ids = leaks.container_ids(told_events)
    found = units.told_once(leaks.with_core_time(found, times, ids), times, ids)
    wanted = [one for one in found if one.kind in kinds]
    return UnitsAnswer(
        window=window,
        recorded_seconds=seconds,
        lifecycles=units.worst_first(wanted),
        notes=_notes(
            recording, window, ran, has_units=has_units, has_containers=bool(of_containers)
        )
        + _waiting(told_events, found),
        is_told=bool(wanted) or _is_told(recording, window, kinds, lives),
    )


def _waiting(told: Sequence[EventAnswer], found: Sequence[Lifecycle]) -> tuple[str, ...]:
    """Of those that a look or two show down, which does not tell whether they loop."""
    looping = {one.name for one in found if one.mark == "crash loop"}
    started = {event.subject for event in told if event.kind == "unit-start"}
    waited = {event.subject for event in told if event.kind == "unit-waiting"}
    names = sorted(waited - started - looping)
    if not names:
        return ()
    return (
        f"{', '.join(names[:_NAMED])} waited for the next start when somebody looked: "
        "`systemctl show` (NRestarts), or more looks, tell whether that goes on and on",
    )


def _ends(series: list[SeriesAnswer]) -> int:
    """systemd is asked for a few units at a time: one that comes late is not new."""
    return max((int(one.wall_ns[-1]) for one in series if len(one.wall_ns)), default=0)


def _counted(zombies: SeriesAnswer | None, boot: Window | None) -> tuple[I64, I64]:
    wall, counts = memcgs.known(zombies)
    here = slice(None) if boot is None else (wall >= boot.start_ns) & (wall < boot.end_ns)
    return wall[here], counts[here]


def _is_told(
    recording: Recording, window: Window, kinds: tuple[str, ...], lives: ProcessEvents
) -> bool:
    """Would any start of one of these have been seen?"""
    if not is_imported(recording):
        return True
    fields = {field for view in recording.views(window) for field in view.fields()}
    told = {
        "unit": "unit.active" in fields,
        "container": "container.total" in fields,
        "process": len(lives.wall_ns) > 0,
    }
    return any(told[kind] for kind in kinds)


def _notes(
    recording: Recording,
    window: Window,
    ran: tuple[Boot, ...],
    *,
    has_units: bool,
    has_containers: bool,
) -> tuple[str, ...]:
    fields = {field for view in recording.views(window) for field in view.fields()}
    no_units, no_containers = _NOT_IN_FILES if is_imported(recording) else _NOT_RECORDED
    notes = []
    if "unit.active" not in fields and not has_units:
        notes.append(no_units)
    if "container.total" not in fields and not has_containers:
        notes.append(no_containers)
    if len(ran) > 1:
        notes.append(f"{len(ran)} boots in this window: what started at boot counts as starts")
    return (*notes, *recording.problems(window))
