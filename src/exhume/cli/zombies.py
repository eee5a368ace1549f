"""Memory cgroups dead and not gone: how many, whose, and when it will hurt.

A memory cgroup whose directory was removed lives on as a zombie while anything it was charged for
does: a page of a file, of tmpfs, of a process that moved on. Whoever walks the cgroups walks the
zombies too, so each of them makes some system call a little slower, until one takes seconds.

Tracked is what the kernel keeps, live has a directory, the rest are zombies. Growth is the median
slope between all pairs of valid counts since the last boot. Parents are told by v2's own counts or
v1's memory that no living child explains; names come from the cgroup tracepoints. Directories that
are live but empty are leaked too, but they are another disease and counted apart.

Examples:
  exhume zombies                   the last 6 hours
  exhume zombies --last 7d         a slow leak
  exhume zombies --json | jq .growth.per_hour
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from exhume.cli import common
from exhume.cli.light import open_light
from exhume.cli.progress import step
from exhume.derive import zombies as derive
from exhume.derive.rates import LOOK_BACK_NS
from exhume.model.answers import SeriesAnswer
from exhume.model.lifecycles import Boot
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.status import SourceState
from exhume.model.window import Window

if TYPE_CHECKING:
    from exhume.store.recording import Recording

ANSWER = ZombiesAnswer
_NAMES_KEPT = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    common.add_window(parser, default="6h", default_for="1h")
    common.add_output(parser)


def run(args: argparse.Namespace) -> int:
    view = common.viewpoint(args)
    window = common.window_of(args, view)
    with step("reading the recording"):
        recording = open_light(args)
        common.need_recorded(recording.spans(), window, view)
        answer = ask(recording, window, sources(args))
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.zombies import render

        screen = common.console()
        common.show(screen, render(answer, view, common.look_of(screen)))
    return 0


def ask(
    recording: Recording, window: Window, states: tuple[SourceState, ...] = ()
) -> ZombiesAnswer:
    """`states`: what the recorder said of its sources, for the reasons why something is missing."""
    from exhume.store import queries
    from exhume.store.queries.lives import boots, recorded_seconds

    def every(field: str) -> list[SeriesAnswer]:
        return queries.series(recording, field, window)

    def told(field: str) -> list[SeriesAnswer]:
        """With what was told before: by name they are told when they change."""
        earlier = Window(window.start_ns - LOOK_BACK_NS, window.end_ns)
        return queries.series(recording, field, earlier)

    def node(field: str) -> SeriesAnswer | None:
        return next(iter(every(field)), None)

    ran = boots(recording, window)
    boot = ran[-1].window if ran else None
    zombies, tracked = node("memcg.zombies"), node("memcg.tracked")
    wall, counts = derive.known(zombies)
    percpu, slab = node("memory.percpu_bytes"), node("memory.slab_unreclaimable_bytes")
    births = told("memcg.births")
    windows = [one.window for one in ran]
    names = derive.names(
        births, told("memcg.removals"), told("memcg.releases"), windows, window.start_ns
    )
    growth = derive.growth(zombies, boot)
    now = derive.last(zombies)
    kernel = next((one.kernel for one in reversed(ran) if one.kernel), "")
    return ZombiesAnswer(
        window=window,
        recorded_seconds=recorded_seconds(recording, window),
        tracked=derive.last(tracked),
        live=derive.last(node("memcg.live")),
        zombies=now,
        read_wall_ns=int(wall[-1]) if len(wall) else None,
        empty=derive.last(node("memcg.empty")),
        wall_ns=wall,
        counts=counts,
        growth=growth,
        boots=len(ran),
        parents=derive.parents(
            every("memcg.held"),
            every("memcg.pinned_shmem_bytes"),
            every("memcg.pinned_file_bytes"),
            every("memcg.pinned_anonymous_bytes"),
        ),
        names=names[:_NAMES_KEPT],
        percpu_bytes=derive.last(percpu),
        slab_bytes=derive.last(slab),
        percpu_growth=derive.growth(percpu, boot),
        slab_growth=derive.growth(slab, boot),
        bytes_per_zombie=derive.bytes_per_zombie(zombies, (percpu, slab), boot),
        outlook=derive.outlook(kernel, now, growth.per_hour if growth else None),
        missing=missing(tracked, zombies, births, states),
        notes=_notes(recording, window, ran),
    )


def sources(args: argparse.Namespace) -> tuple[SourceState, ...]:
    """What the recorder of this directory last said; nothing where it is only a copy."""
    from exhume.cli.status import read
    from exhume.errors import ExhumeError

    try:
        return read(common.data_dir(args)).sources
    except (ExhumeError, OSError):
        return ()


def missing(
    tracked: SeriesAnswer | None,
    zombies: SeriesAnswer | None,
    births: list[SeriesAnswer],
    states: tuple[SourceState, ...],
) -> tuple[str, ...]:
    said = {state.name: state for state in states if state.state != "ok"}
    found: list[str] = []
    memcg = said.get("memcg")
    if tracked is None and zombies is None:
        why = "there is no memory controller, or this recorder was not allowed to see it"
        if memcg is not None and memcg.state == "absent":
            why = "this machine has no memory controller"
        elif memcg is not None:
            why = memcg.detail
        found.append(f"memory cgroups were not counted: {why}")
    elif zombies is None:
        why = "on cgroup v1 live ones are counted once a minute, while none comes or goes"
        if memcg is not None and memcg.detail:
            why = memcg.detail
        found.append(f"no valid count of zombies in this window: {why}")
    holders = said.get("memcg-holders")
    if holders is not None and holders.detail:
        found.append(f"who holds them: {holders.detail}")
    named = said.get("cgroup-births")
    if named is not None and named.detail:
        found.append(f"births and releases by name: {named.detail}")
    elif not births and tracked is not None:
        found.append(
            "births and releases by name: no cgroup was made or removed in this window, or neither "
            "tracepoints (tracefs) nor inotify could be used"
        )
    return tuple(found)


def _notes(recording: Recording, window: Window, ran: tuple[Boot, ...]) -> tuple[str, ...]:
    notes = list(recording.problems(window))
    if len(ran) > 1:
        notes.append(f"{len(ran)} boots in this window; growth is that of the last")
    return tuple(notes)
