"""Who keeps dying: units, containers and programs that start again and again.

A crash loop is a unit or container that started 5 times within 10 minutes, or lives less than a
minute in the median over 5 starts, or that systemd waits to start again. What ends well each time
is no crash loop: it is scheduled, or one of many short jobs. Containers are told by name over all
their ids, so that one that is removed and run anew shows, although its restart count stays 0.

How a bare process ended is not recorded. It is a loop (never a crash loop) when the same parent
process starts the same program at a steady pace, one after the other, for a minute or longer, and
does little else. Builds and scripts that start many short programs are not loops.

What each start leaves behind: zombie memory cgroups (by the name of its cgroup; with ≤ others may
have left some of them), the kernel's memory that they hold, and core time.

Examples:
  exhume units                        the last hour
  exhume units --last 12h --all       the healthy ones too
  exhume units --kind container       only containers
  exhume units --json | jq '.lifecycles[] | select(.mark == "crash loop") | .name'
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from exhume.cli import common
from exhume.cli.progress import step
from exhume.derive import leaks, units
from exhume.derive import zombies as memcgs
from exhume.derive.rates import LOOK_BACK_NS, gained
from exhume.model.answers import SeriesAnswer
from exhume.model.lifecycles import Boot, Lifecycle, UnitsAnswer
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = UnitsAnswer
KINDS = ("unit", "container", "process")
_TOLD = ("births", "removals", "releases")
_EVENTS = ("unit-start", "unit-failed", "container-start", "container-exit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="1h", default_for="10m")
    parser.add_argument(
        "--kind", action="append", default=[], choices=KINDS, help="only these; more than once"
    )
    parser.add_argument("--all", action="store_true", help="the healthy ones too")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint(args)
    window = common.window_of(args, view)
    with step("reading the recording"):
        recording = common.open_recording(args)
        common.need_recorded(recording.spans(), window, view)
        answer = ask(recording, window, tuple(args.kind) or KINDS)
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.units import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen), everything=args.all))
    return 0


def ask(recording: Recording, window: Window, kinds: tuple[str, ...] = KINDS) -> UnitsAnswer:
    from exhume.store import queries
    from exhume.store.queries.lives import boots, process_events, process_times, recorded_seconds

    def every(field: str) -> list[SeriesAnswer]:
        return queries.series(recording, field, window)

    def told(field: str) -> list[SeriesAnswer]:
        """With what was told before: by name they are told when they change."""
        earlier = Window(window.start_ns - LOOK_BACK_NS, window.end_ns)
        return queries.series(recording, field, earlier)

    def restarts(field: str) -> dict[str, int]:
        found = every(field)
        return {one.instance: gained(one, windows, _ends(found)) for one in found}

    ran = boots(recording, window)
    windows = [one.window for one in ran]
    seconds = recorded_seconds(recording, window)
    events = queries.events(recording, window, _EVENTS)
    lives = process_events(recording, window)
    found: list[Lifecycle] = units.of_units(events, restarts("unit.restarts"), lives, seconds)
    found += units.of_containers(events, restarts("container.restarts"), seconds)
    found += units.of_processes(lives, seconds)
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
    found = leaks.with_leaks(found, names, times, _gained_zombies(zombies, boot), per_zombie)
    ids = leaks.container_ids(events)
    found = units.told_once(leaks.with_core_time(found, times, ids), times, ids)
    return UnitsAnswer(
        window=window,
        recorded_seconds=seconds,
        lifecycles=units.worst_first(one for one in found if one.kind in kinds),
        notes=_notes(recording, window, ran),
    )


def _ends(series: list[SeriesAnswer]) -> int:
    """systemd is asked for a few units at a time: one that comes late is not new."""
    return max((int(one.wall_ns[-1]) for one in series if len(one.wall_ns)), default=0)


def _gained_zombies(zombies: SeriesAnswer | None, boot: Window | None) -> int | None:
    wall, counts = memcgs.known(zombies)
    if boot is not None:
        counts = counts[(wall >= boot.start_ns) & (wall < boot.end_ns)]
    return int(counts[-1] - counts[0]) if len(counts) > 1 else None


def _notes(recording: Recording, window: Window, ran: tuple[Boot, ...]) -> tuple[str, ...]:
    fields = {field for view in recording.views(window) for field in view.fields()}
    notes = []
    if "unit.active" not in fields:
        notes.append("no systemd units were recorded: systemd does not run here, or hides")
    if "container.total" not in fields:
        notes.append("no containers were recorded: neither Docker nor CRI listens here")
    if len(ran) > 1:
        notes.append(f"{len(ran)} boots in this window: what started at boot counts as starts")
    return (*notes, *recording.problems(window))
