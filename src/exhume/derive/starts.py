"""When a lifecycle was started, and what zombies came with that. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exhume.derive.looks import ASKED_EVERY_NS
from exhume.model.answers import EventAnswer
from exhume.model.arrays import I64
from exhume.model.lifecycles import Lifecycle, ProcessEvents

_MOSTLY = 0.5
MOST_LIFETIME_SECONDS, REMOVAL_SECONDS = 60.0, 2.0
"""What it leaves is dead when it dies and its cgroup is removed."""


def starts_of(
    one: Lifecycle, events: Iterable[EventAnswer], lives: ProcessEvents
) -> tuple[I64, I64]:
    """When it was started, and how often at once."""
    if one.kind == "process":
        chosen = np.array([name == one.name for name in lives.names], np.bool_)
        here = lives.is_exec & (chosen[lives.name] if len(chosen) else lives.is_exec)
        if one.detail:
            parents = np.array([name == one.detail for name in lives.names], np.bool_)
            here &= (lives.parent >= 0) & parents[lives.parent]
        return lives.wall_ns[here], lives.count[here]
    return counted(events_of(one, events))


def counted(starts: Iterable[EventAnswer]) -> tuple[I64, I64]:
    """When, and how often since the one before. What a supervisor counts tells of those, too, of
    which a log has no line; beside it a look that saw a state tells of no further start."""
    found = sorted(starts, key=lambda event: event.wall_ns)
    if any(_restarts(event) is not None for event in found):
        found = [e for e in found if _restarts(e) is not None or "sub_state" not in e.fields]
    count, before = [], None
    for event in found:
        now = _restarts(event)
        more = now - before if now is not None and before is not None else 0
        count.append(max(event.count, more))
        before = now
    return np.array([event.wall_ns for event in found], np.int64), np.array(count, np.int64)


def _restarts(event: EventAnswer) -> int | None:
    value = event.fields.get("restarts_total")
    return value if isinstance(value, int) else None


def events_of(one: Lifecycle, events: Iterable[EventAnswer]) -> list[EventAnswer]:
    """Those that tell of its starts."""
    kind = f"{one.kind}-start"
    return [event for event in events if event.kind == kind and event.subject == one.name]


def said(one: Lifecycle) -> str:
    """How often it was started, and how long it lives; bounds as bounds."""
    least = "at least " if one.starts_at_least else ""
    most = "at most " if one.lifetime_at_most else ""
    life = one.median_lifetime_seconds
    lived = f", living {most}{life:.2g} s each" if life is not None else ""
    return f"{least}{one.starts:,} times{lived}"


def most_left(
    one: Lifecycle,
    starts: tuple[I64, I64],
    wall_ns: I64,
    zombies: I64,
    asked_every_ns: int = ASKED_EVERY_NS,
) -> float | None:
    """Of the zombies that were counted, how many each of its starts left at most.

    `asked_every_ns`: units and containers were started before somebody saw it.

    None where nobody knows of a start, or where its starts can't be the cause: most zombies came
    when there was none, or most starts had none come.
    """
    if not one.starts or len(zombies) < 2:
        return None
    came = max(0, int(zombies[-1] - zombies[0]))
    wall, count = starts
    if not len(wall):  # a supervisor counted them, but nobody saw when
        return came / one.starts
    change = np.diff(zombies)
    gained = np.maximum(0, change)
    lived = min(one.median_lifetime_seconds or 0.0, MOST_LIFETIME_SECONDS) + REMOVAL_SECONDS
    asked_ns = 0 if one.kind == "process" else asked_every_ns
    near = started(wall, count, wall_ns[:-1] - round(lived * 1e9), wall_ns[1:] + asked_ns)
    within = started(wall, count, wall_ns[:-1], wall_ns[1:])
    came_without = gained[near == 0].sum() > _MOSTLY * gained.sum()
    left_nothing = gained.any() and within[change == 0].sum() > _MOSTLY * within.sum()
    if came_without or left_nothing:
        return None
    # A log may tell of days, and zombies were counted for an hour.
    meanwhile = started(wall, count, wall_ns[:1] - round(lived * 1e9), wall_ns[-1:] + asked_ns)
    share = int(meanwhile[0]) / max(1, int(count.sum()))
    return came / (one.starts * share) if share else None


def started(wall: I64, count: I64, begin_ns: I64, end_ns: I64) -> I64:
    """How often, in each of these intervals."""
    total = np.concatenate(([0], np.cumsum(count)))
    found: I64 = total[np.searchsorted(wall, end_ns, "right")]
    return found - total[np.searchsorted(wall, begin_ns, "right")]
