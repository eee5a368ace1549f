"""What each start of a lifecycle leaves behind: memory cgroups, their memory, core time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from exhume.model.answers import EventAnswer
from exhume.model.lifecycles import Lifecycle, ProcessTime
from exhume.model.memcgs import MemcgName

# Folded cgroup names that are some container's: `docker-*.scope`, `/kubepods/pod*/*`, `/ecs/*/*`.
_CONTAINER_WORDS = ("docker", "containerd", "crio", "libpod", "kubepods", "/ecs/", "lxc")


def with_leaks(
    lifecycles: Sequence[Lifecycle],
    names: Sequence[MemcgName],
    times: Sequence[ProcessTime],
    most_left: Callable[[Lifecycle], float | None],
    bytes_per_zombie: float | None,
) -> list[Lifecycle]:
    """`names`: births and releases by folded name, empty where they are not recorded.

    Without names all that is known is how many zombies the node gained: then a loop might have left
    all of them, and the figure is an upper bound (`most_left`: a start, where it can be at all).
    """
    seen_in: dict[str, set[str]] = {}
    for time in times:
        seen_in.setdefault(time.comm, set()).add(time.cgroup)
    owners = {name.name: [one for one in lifecycles if _owns(one, name, seen_in)] for name in names}
    found = []
    for one in lifecycles:
        own = [name for name in names if one in owners[name.name]]
        born, left, exact = 0.0, 0.0, True
        for name in own:
            sharing = sum(other.starts for other in owners[name.name]) or 1
            born += name.born * one.starts / sharing
            left += name.left * one.starts / sharing
            exact &= len(owners[name.name]) == 1
        per_start: float | None = left / one.starts if own and one.starts else None
        if per_start is None and not names and _is_loop(one):
            per_start, exact = most_left(one), False
        memory = None if not per_start or bytes_per_zombie is None else per_start * bytes_per_zombie
        found.append(
            replace(
                one,
                cgroups_born=round(born) if own else None,
                zombies_per_start=per_start,
                zombies_at_most=per_start is not None and not exact,
                memory_bytes_per_start=memory,
            )
        )
    return found


def with_core_time(
    lifecycles: Iterable[Lifecycle], times: Sequence[ProcessTime], ids: Mapping[str, frozenset[str]]
) -> list[Lifecycle]:
    """By the samples of its processes. `ids`: of each container label."""
    by_unit: dict[str, int] = {}
    by_container: dict[str, int] = {}
    by_name: dict[str, int] = {}
    for time in times:
        by_unit[time.unit] = by_unit.get(time.unit, 0) + time.core_ns
        by_container[time.container_id] = by_container.get(time.container_id, 0) + time.core_ns
        by_name[time.comm] = by_name.get(time.comm, 0) + time.core_ns
    same_name: dict[str, int] = {}
    for one in lifecycles:
        if one.kind == "process":
            same_name[one.name] = same_name.get(one.name, 0) + one.starts
    found = []
    for one in lifecycles:
        took: float | None
        if one.kind == "unit":
            took = by_unit.get(one.name)
        elif one.kind == "container":
            parts = [by_container[id_] for id_ in ids.get(one.name, ()) if id_ in by_container]
            took = sum(parts) if parts else None
        else:
            # Threads know their parent only while it lives; a name is shared out by starts.
            took = by_name.get(one.name)
            took = None if took is None else took * one.starts / same_name[one.name]
        per_start = None if took is None or not one.starts else took / 1e9 / one.starts
        found.append(replace(one, cpu_seconds_per_start=per_start))
    return found


def container_ids(events: Iterable[EventAnswer]) -> dict[str, frozenset[str]]:
    """By label."""
    found: dict[str, set[str]] = {}
    for event in events:
        if event.kind.startswith("container-") and "id" in event.fields:
            found.setdefault(event.subject, set()).add(str(event.fields["id"]))
    return {label: frozenset(ids) for label, ids in found.items()}


def _owns(one: Lifecycle, memcg: MemcgName, seen_in: Mapping[str, set[str]]) -> bool:
    name = memcg.name
    if one.kind == "unit":
        last = name.rpartition("/")[2]
        # `/docker/*` fits every name and is no unit's: theirs keep the ending.
        return last.endswith("." + one.name.rpartition(".")[2]) and _fits(one.name, last)
    if "*" not in name:
        return False  # one cgroup that stays is nobody's leak
    if one.kind == "container":
        return any(word in name for word in _CONTAINER_WORDS)
    # A bare process has no cgroup of its own; a loop that was seen in those that leak may be it.
    is_suspect = one.mark == "loop" and memcg.left > 0
    return is_suspect and any(_fits(path, name) for path in seen_in.get(one.name, ()))


def _fits(text: str, folded: str) -> bool:
    return fnmatchcase(text, folded.replace("[", "[[]"))


def _is_loop(one: Lifecycle) -> bool:
    return one.mark in ("crash loop", "loop")
