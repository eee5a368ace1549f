"""Memory cgroups dead and not gone: how many, whose, and when walks become long."""

from __future__ import annotations

from exhume.derive import zombies as derive
from exhume.derive.rates import LOOK_BACK_NS
from exhume.model.answers import SeriesAnswer
from exhume.model.lifecycles import Boot
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.status import SourceState
from exhume.model.window import Window
from exhume.store.ended import is_imported
from exhume.store.queries.lives import boots
from exhume.store.queries.not_in_files import has_any
from exhume.store.queries.recorded_seconds import recorded_seconds
from exhume.store.queries.series import series
from exhume.store.recording import Recording

_NAMES_KEPT = 50
_NOT_IN_WINDOW = "was counted at other times than these: ask about a longer window"
_COUNT = "`find /sys/fs/cgroup/memory -type d | wc -l`"


def zombies(
    recording: Recording, window: Window, states: tuple[SourceState, ...] = ()
) -> ZombiesAnswer:
    """`states`: what the recorder said of its sources, for the reasons why something is missing."""

    def every(field: str) -> list[SeriesAnswer]:
        return series(recording, field, window)

    def told(field: str) -> list[SeriesAnswer]:
        """With what was told before: by name they are told when they change."""
        earlier = Window(window.start_ns - LOOK_BACK_NS, window.end_ns)
        return series(recording, field, earlier)

    def node(field: str) -> SeriesAnswer | None:
        return next(iter(every(field)), None)

    ran = boots(recording, window)
    boot = ran[-1].window if ran else None
    dead, tracked = node("memcg.zombies"), node("memcg.tracked")
    wall, counts = derive.known(dead)
    percpu, slab = node("memory.percpu_bytes"), node("memory.slab_unreclaimable_bytes")
    births = told("memcg.births")
    windows = [one.window for one in ran]
    names = derive.names(
        births, told("memcg.removals"), told("memcg.releases"), windows, window.start_ns
    )
    lately = derive.since_drop(dead, boot)
    growth = derive.growth(dead, lately)
    now, kept, live = derive.at_once(dead, tracked, node("memcg.live"))
    kernel = next((one.kernel for one in reversed(ran) if one.kernel), "")
    return ZombiesAnswer(
        window=window,
        recorded_seconds=recorded_seconds(recording, window),
        tracked=kept,
        live=live,
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
        percpu_growth=derive.growth(percpu, lately),
        slab_growth=derive.growth(slab, lately),
        bytes_per_zombie=derive.bytes_per_zombie(dead, (percpu, slab), boot),
        outlook=derive.outlook(kernel, now, growth.per_hour if growth else None),
        missing=(
            missing_files(recording, tracked, dead)
            if is_imported(recording)
            else missing(tracked, dead, births, states)
        ),
        notes=_notes(recording, window, ran),
    )


def missing_files(
    recording: Recording, tracked: SeriesAnswer | None, zombies: SeriesAnswer | None
) -> tuple[str, ...]:
    """What is not known of an imported recording: which other files would have told."""
    if zombies is not None:
        return ()
    if has_any(recording, "memcg.zombies"):
        return (f"how many of them are zombies {_NOT_IN_WINDOW}",)
    if tracked is None and has_any(recording, "memcg.tracked"):
        return (f"how many memory cgroups there were {_NOT_IN_WINDOW}",)
    if tracked is not None:
        return (
            "how many of them are zombies: no count of live ones was among the files; import "
            f"{_COUNT} with them",
        )
    return (
        "memory cgroups were not counted: no count was among the files; import copies of "
        f"/sys/fs/cgroup/cgroup.stat (v2), or of /proc/cgroups and {_COUNT} (v1), with them",
    )


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
