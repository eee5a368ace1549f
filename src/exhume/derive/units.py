"""Events → lifecycles: who starts again and again, how long it lives, how it ends. Pure.

The rules of what is a loop are in `derive.loops`; what each start leaves behind in `derive.leaks`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from exhume.derive import standing
from exhume.derive.backoffs import backoffs
from exhume.derive.cron_lines import BY, CRON
from exhume.derive.looks import GONE, Looks, misses_starts, nobody_looked
from exhume.derive.loops import (
    LEAST_STARTS,
    PAUSES,
    Runs,
    mark_cron,
    mark_jobs,
    mark_process,
    mark_supervised,
    told_seconds,
)
from exhume.derive.starts import counted
from exhume.derive.unit_lines import GIVEN_UP
from exhume.model.answers import EventAnswer
from exhume.model.arrays import I64
from exhume.model.lifecycles import Lifecycle, Mark, ProcessEvents, ProcessTime
from exhume.model.window import Window

HOUR_SECONDS = 3600.0
_LEAST_SECONDS = 60.0
"""What was seen at one look is no rate of that instant."""
PARTS = 60
"""Of a window, in which starts are counted: few enough to be drawn in a row of a table."""
_LOOKS = 5
_OF_LOOKS = 3
_ONE_WAIT_NS = 60 * 1_000_000_000
"""Looks that come quicker may all see one and the same wait."""
_RUNNING = ("running", "start", "start-pre", "start-post", "reload")
_GRACE_NS = 1_000_000_000
"""An exit may be stamped a little before the look that told of its start."""
_ORDER: tuple[Mark, ...] = ("crash loop", "loop", "many short jobs", "scheduled", "healthy")
_UNKNOWN = 0xFFFFFFFF


LooksOf = Callable[[str, str, Sequence[EventAnswer]], Looks]
"""Who looked at a unit or container, by its kind, its name and what tells of its starts."""


class _Group(Struct):
    starts: list[EventAnswer] = field(default_factory=list)
    ends: list[EventAnswer] = field(default_factory=list)
    waits: list[EventAnswer] = field(default_factory=list)
    """Looks at it while it waited to be started again."""
    removals: list[EventAnswer] = field(default_factory=list)


def of_units(
    events: Iterable[EventAnswer],
    restarts: Mapping[str, int],
    lives: ProcessEvents,
    seconds: float,
    window: Window | None = None,
    looks_of: LooksOf = nobody_looked,
) -> list[Lifecycle]:
    """systemd services, programs of other supervisors, and what cron starts.

    `restarts`: what their own counters gained; `seconds`: recorded.
    With a window, when in it each of them started is told, too.
    """
    ended = _exits_by_pid(lives)
    found = []
    for name, group in _by_subject(events, "unit-start", "unit-failed", "unit-waiting").items():
        looks = looks_of("unit", name, group.starts)
        so_far = standing.of_unit([*group.starts, *group.waits], seconds)
        lived, is_bound = _unit_lifetimes(group, ended, looks)
        runs = Runs(
            *counted(group.starts),
            *_each_once(lived),
            lifetime_is_bound=np.array(is_bound, np.bool_),
            is_counted=True,
            known_ends=max(_known_ends(group, ended), len(group.ends)),
            bad_ends=len(group.ends),
            restarts=restarts.get(name, 0),
            waits_to_restart=_waits_to_restart(group) or so_far is not None,
            was_given_up=any(end.fields.get("result") == GIVEN_UP for end in group.ends),
        )
        mark = mark_supervised(runs)
        if mark == "healthy" and not group.starts and not group.ends:
            continue  # of a wait or two nobody knows what comes of them
        by_cron = bool(group.starts) and all(e.fields.get(BY) == CRON for e in group.starts)
        mark = mark_cron(runs) if by_cron else mark
        detail = CRON if by_cron else ""
        over = (told_seconds(runs.start_ns) if by_cron else 0.0) or seconds
        one = _lifecycle("unit", name, detail, mark, runs, over, window, restarts.get(name))
        one = replace(one, restarts_so_far=so_far)
        found.append(_with_looks(one, looks, runs, [*group.starts, *group.ends, *group.waits]))
    return found


def of_containers(
    events: Iterable[EventAnswer],
    restarts: Mapping[str, int],
    seconds: float,
    window: Window | None = None,
    looks_of: LooksOf = nobody_looked,
) -> list[Lifecycle]:
    """By label, over all ids: one that is removed and run anew has a new id each time.

    Of one that the kubelet waits to start again, its lines alone may tell.
    """
    found = []
    told = list(events)
    waits, so_far = backoffs(told), standing.of_containers(told)
    by_name = _by_subject(told, "container-start", "container-exit", removal="container-removed")
    waits = {_known_as(name, by_name): one for name, one in waits.items()}
    groups = {name: _Group() for name in (*waits, *so_far)} | by_name
    groups = {
        name: one
        for name, one in groups.items()
        if one.starts or one.ends or name in waits or name in so_far
    }
    for name, group in groups.items():
        told_of = (restarts.get(name), _restarts_told(group.starts))
        restarted = max((count for count in told_of if count is not None), default=None)
        codes = [event.fields["exit_code"] for event in group.ends if "exit_code" in event.fields]
        looks = looks_of("container", name, group.starts)
        lived, is_bound = _container_lifetimes(group, looks)
        runs = Runs(
            *counted(group.starts),
            *_each_once(lived),
            lifetime_is_bound=np.array(is_bound, np.bool_),
            is_counted=True,
            known_ends=len(codes),
            bad_ends=sum(code != 0 for code in codes),
            restarts=restarted or 0,
            waits_to_restart=name in waits or name in so_far,
        )
        mark = mark_supervised(runs)
        both = [*group.starts, *group.ends]
        image = next((str(event.fields["image"]) for event in both if "image" in event.fields), "")
        detail = image or (waits[name].words if name in waits else "")
        ids = len({str(event.fields["id"]) for event in both if "id" in event.fields})
        one = _lifecycle("container", name, detail, mark, runs, seconds, window, restarted, ids)
        one = replace(one, restarts_so_far=so_far.get(name))
        found.append(_with_looks(one, looks, runs, [*group.starts, *group.ends, *group.removals]))
    return found


def _known_as(container: str, by_name: Mapping[str, _Group]) -> str:
    """Of a container that ends and begins the kubelet says the pod, of one that waits its own
    name."""
    pod = container.rpartition("/")[0]
    return pod if container not in by_name and pod in by_name else container


def of_processes(
    lives: ProcessEvents, seconds: float, window: Window | None = None
) -> list[Lifecycle]:
    """Programs by name and parent. Where one parent process loops, that is a row of its own."""
    found: list[Lifecycle] = []
    key = (lives.name.astype(np.int64) << 32) | (lives.parent.astype(np.int64) & _UNKNOWN)
    order = np.argsort(key, kind="stable")
    edges = np.flatnonzero(np.diff(key[order], prepend=-1, append=-1))
    of_parent = _starts_by_parent(lives)
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = order[begin:end]
        pair = int(key[rows[0]])
        name, parent = lives.names[pair >> 32], pair & _UNKNOWN
        detail = "" if parent == _UNKNOWN else lives.names[parent]
        for pid in _frequent_parents(lives, rows):
            own = rows[lives.parent_pid[rows] == pid]
            runs = _runs(lives, own)
            mark = mark_process(runs, name, runs.starts / max(1, of_parent[pid]))
            if mark == "loop":
                found.append(_lifecycle("process", name, detail, mark, runs, seconds, window))
                rows = rows[lives.parent_pid[rows] != pid]
        rest = _runs(lives, rows)
        if rest.starts:
            mark = mark_jobs(rest)
            found.append(_lifecycle("process", name, detail, mark, rest, seconds, window))
    return found


def told_once(
    lifecycles: Iterable[Lifecycle], times: Iterable[ProcessTime], ids: Mapping[str, frozenset[str]]
) -> list[Lifecycle]:
    """Without the programs of units and containers that loop: those are told as such."""
    found = list(lifecycles)
    looping = {one.name for one in found if one.mark == "crash loop"}
    containers = {id_ for label, own in ids.items() if label in looping for id_ in own}
    inside = {
        time.comm for time in times if time.unit in looping or time.container_id in containers
    }
    return [one for one in found if one.kind != "process" or one.name not in inside]


def worst_first(lifecycles: Iterable[Lifecycle]) -> tuple[Lifecycle, ...]:
    def rank(one: Lifecycle) -> tuple[int, float, float, str]:
        leaks = (one.zombies_per_start or 0.0) * one.starts_per_hour
        return _ORDER.index(one.mark), -leaks, -one.starts_per_hour, one.name

    return tuple(sorted(lifecycles, key=rank))


def _by_subject(
    events: Iterable[EventAnswer], start: str, end: str, wait: str = "", removal: str = ""
) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for event in sorted(events, key=lambda event: event.wall_ns):
        if event.kind == start:
            groups.setdefault(event.subject, _Group()).starts.append(event)
        elif event.kind == end:
            groups.setdefault(event.subject, _Group()).ends.append(event)
        elif event.kind == wait:
            groups.setdefault(event.subject, _Group()).waits.append(event)
        elif event.kind == removal:
            groups.setdefault(event.subject, _Group()).removals.append(event)
    return groups


def _waits_to_restart(group: _Group) -> bool:
    """In 3 of any 5 looks that follow each other."""
    waits: list[EventAnswer] = []
    for event in group.waits:
        if not waits or event.wall_ns - waits[-1].wall_ns >= _ONE_WAIT_NS:
            waits.append(event)
    looks = sorted([*group.starts, *waits], key=lambda event: event.wall_ns)
    seen = [event.fields.get("sub_state") == "auto-restart" for event in looks]
    return any(sum(seen[at : at + _LOOKS]) >= _OF_LOOKS for at in range(len(seen)))


def _restarts_told(starts: Sequence[EventAnswer]) -> int | None:
    """What a log tells of the count that each start of a container has. None: nobody counts."""
    told = [event.fields.get("restarts_total") for event in starts if "told_by" in event.fields]
    known = [count for count in told if isinstance(count, int)]
    return sum(max(0, after - before) for before, after in pairwise(known)) if known else None


def _each_once(lifetimes: list[float]) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], I64]:
    return np.array(lifetimes, np.float64), np.ones(len(lifetimes), np.int64)


def _known_ends(group: _Group, ended: Mapping[int, list[int]]) -> int:
    """Of one that fails now and then: a start that was seen running tells of no end.

    Where nothing failed and somebody looked, it ended well, unless it still runs; a line that it is
    restarted says nothing of how it ended, nor does a look at it while it waits for that.
    """
    is_over = [event.fields.get("sub_state") not in _RUNNING for event in group.starts]
    if group.ends:
        return sum(is_over)
    if group.waits:
        return 0
    looked = [event.pid is not None or "sub_state" in event.fields for event in group.starts]
    runs_still = looked[-1:] == [True] and not is_over[-1]
    return sum(looked) - (runs_still and _exit_ns(group.starts[-1], ended) is None)


def _exit_ns(start: EventAnswer, ended: Mapping[int, list[int]]) -> int | None:
    """When the main process of that start ended, if that was seen."""
    exits = ended.get(start.pid, []) if start.pid is not None else []
    at = bisect_right(exits, start.wall_ns - _GRACE_NS)
    return exits[at] if at < len(exits) else None


def _unit_lifetimes(
    group: _Group, ended: Mapping[int, list[int]], looks: Looks
) -> tuple[list[float], list[bool]]:
    """systemd says when the main process of the last start began and ended; else its exit does.

    And whether it is a bound: what a look told of was before, and what has ended by a look may have
    been started again since.
    """
    starts = [event.wall_ns for event in group.starts]
    lived: dict[int, tuple[float, bool]] = {}
    for event in group.ends:
        place = bisect_right(starts, event.wall_ns) - 1
        told = event.fields.get("lifetime_seconds")  # some supervisors log it
        if isinstance(told, int | float):
            lived.setdefault(place, (told, False))
        elif place >= 0:
            began, seen_late = starts[place], looks.told_at_look(event.wall_ns)
            if looks.told_at_look(began):
                began, seen_late = looks.before(began), True
            more = place + 1 < len(starts) and group.starts[place + 1].count > 1
            lived.setdefault(place, ((event.wall_ns - began) / 1e9, seen_late or more))
    for place, event in enumerate(group.starts):
        exit_ns = None if place in lived else _exit_ns(event, ended)
        if exit_ns is not None:
            lived[place] = max(0, exit_ns - event.wall_ns) / 1e9, False
    return [seconds for seconds, _ in lived.values()], [bound for _, bound in lived.values()]


def _container_lifetimes(group: _Group, looks: Looks) -> tuple[list[float], list[bool]]:
    """From its last start under that id, or its creation where that was not seen, to its end; and
    whether it is a bound, because a look told of the end, or of the start."""
    starts: dict[object, list[int]] = {}
    for event in group.starts:
        starts.setdefault(event.fields.get("id"), []).append(event.wall_ns)
    found, is_bound = [], []
    for event in group.ends:
        same = starts.get(event.fields.get("id"), [])
        place = bisect_right(same, event.wall_ns) - 1
        began = same[place] if place >= 0 else None
        seen_late = event.text == GONE or looks.told_at_look(event.wall_ns)
        created = event.fields.get("created_wall_ns")
        # What was created and ended between two looks is told of at once, start and end together.
        if isinstance(created, int) and began in (None, event.wall_ns):
            began = created
        elif began is not None and looks.told_at_look(began):
            least = created if isinstance(created, int) and place == 0 else 0
            began, seen_late = max(looks.before(began), least), True
        if began is not None and event.wall_ns >= began:
            found.append((event.wall_ns - began) / 1e9)
            is_bound.append(seen_late)
    return found, is_bound


def _exits_by_pid(lives: ProcessEvents) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    here = np.flatnonzero(~lives.is_exec & (lives.pid >= 0))
    for pid, wall_ns in zip(lives.pid[here].tolist(), lives.wall_ns[here].tolist(), strict=True):
        found.setdefault(pid, []).append(wall_ns)
    return found


def _starts_by_parent(lives: ProcessEvents) -> Counter[int]:
    """By parent pid, all that it started; how it waits does not count."""
    pause = np.array([name in PAUSES for name in lives.names], np.bool_)
    here = np.flatnonzero(lives.is_exec)
    here = here[~pause[lives.name[here]]] if len(pause) else here
    total: Counter[int] = Counter()
    for pid, count in zip(lives.parent_pid[here].tolist(), lives.count[here].tolist(), strict=True):
        total[pid] += count
    return total


def _frequent_parents(lives: ProcessEvents, rows: I64) -> list[int]:
    """Parents that may have started it often enough for a loop."""
    pids = lives.parent_pid[rows[lives.is_exec[rows]]]
    values, counts = np.unique(pids, return_counts=True)
    return [int(pid) for pid in values[(counts >= LEAST_STARTS) & (values >= 0)].tolist()]


def _runs(lives: ProcessEvents, rows: I64) -> Runs:
    execs, exits = rows[lives.is_exec[rows]], rows[~lives.is_exec[rows]]
    return Runs(
        lives.wall_ns[execs], lives.count[execs], lives.lifetime_seconds[exits], lives.count[exits]
    )


def _with_looks(
    one: Lifecycle, looks: Looks, runs: Runs, events: Sequence[EventAnswer]
) -> Lifecycle:
    """And how far what looks told of is a bound."""
    order = sorted(events, key=lambda event: event.wall_ns)
    is_looked_at = len(looks.wall_ns) > 1 and not looks.tells_each
    return replace(
        one,
        looked_every_seconds=looks.every_ns / 1e9 if is_looked_at else None,
        starts_at_least=misses_starts(looks, one.kind, one.name, order, runs.start_ns),
        lifetime_at_most=runs.lifetime_at_most,
    )


def _lifecycle(
    kind: Literal["unit", "container", "process"],
    name: str,
    detail: str,
    mark: Mark,
    runs: Runs,
    seconds: float,
    window: Window | None,
    restarts: int | None = None,
    ids: int | None = None,
) -> Lifecycle:
    ends = runs.known_ends
    return Lifecycle(
        kind=kind,
        name=name,
        detail=detail,
        mark=mark,
        starts=runs.starts,
        starts_per_hour=runs.starts / max(seconds, _LEAST_SECONDS) * HOUR_SECONDS,
        most_starts_in_10_minutes=runs.most_in_10_minutes,
        restarts=restarts,
        ids=ids,
        pace_seconds=None if mark == "many short jobs" else runs.pace_seconds,
        success_percent_of_known_ends=100 * (1 - runs.bad_ends / ends) if ends else None,
        median_lifetime_seconds=runs.median_lifetime_seconds,
        last_start_wall_ns=int(runs.start_ns[-1]) if len(runs.start_ns) else None,
        starts_over_time=runs.over(window, PARTS) if window is not None else (),
    )
