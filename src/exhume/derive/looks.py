"""Who saw that something was started: one who noted each start, or looks from time to time. Pure.

Between two looks anything may have happened, unless both show the same instance: the same container
id, the same count of starts. One that neither of them shows may have come and gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import Struct

from exhume.model.answers import EventAnswer, SeriesAnswer
from exhume.model.arrays import I64, Bool
from exhume.model.series import MISSING

ASKED_EVERY_NS = 12_000_000_000
"""How far apart looks are where nobody recorded them: the recorder's own, which come every 10 s."""
GONE = "gone"
_MOSTLY = 0.5
_SAME_NS = 1_000_000
"""An event that a look told of has the time of that look."""


class Looks(Struct, frozen=True):
    """At a unit, or at containers."""

    wall_ns: I64
    """Rising; empty where nobody recorded when they looked."""
    tells_each: bool = False
    """A log or the runtime itself noted every start: looks miss none."""
    is_counted: bool = False
    """Each look read how often it had been started."""

    @property
    def miss_starts(self) -> bool:
        return len(self.wall_ns) > 0 and not self.tells_each and not self.is_counted

    @property
    def every_ns(self) -> int:
        """From one look to the next, as a rule."""
        if len(self.wall_ns) < 2:
            return ASKED_EVERY_NS
        return round(float(np.median(np.diff(self.wall_ns))))

    def told_at_look(self, wall_ns: int) -> bool:
        """Then it happened at any time since the look before."""
        at = int(np.searchsorted(self.wall_ns, wall_ns - _SAME_NS))
        return at < len(self.wall_ns) and abs(int(self.wall_ns[at]) - wall_ns) <= _SAME_NS

    def before(self, wall_ns: int) -> int:
        """The look before that one; itself where there is none."""
        at = int(np.searchsorted(self.wall_ns, wall_ns - _SAME_NS))
        return int(self.wall_ns[at - 1]) if at > 0 else wall_ns


def looks_at(
    kind: str,
    name: str,
    starts: Sequence[EventAnswer],
    series: Callable[[str, str], SeriesAnswer | None],
) -> Looks:
    """`series`: by field and instance."""
    if kind == "process":
        return Looks(_times(None), tells_each=True)
    if kind == "container":
        noted = any("told_by" in event.fields for event in starts)
        return Looks(
            _times(series("container.total", "")), tells_each=noted, is_counted=_is_counted(starts)
        )
    # What a look saw of a unit has its state; a supervisor's log tells of the start itself.
    logged = sum("sub_state" not in event.fields for event in starts)
    counted = _times(series("unit.restarts", name))
    return Looks(
        counted if len(counted) else _times(series("unit.active", name)),
        tells_each=logged > len(starts) / 2,
        is_counted=len(counted) > 0,
    )


def _is_counted(starts: Sequence[EventAnswer]) -> bool:
    """The number that each start of a container has rises with every one of them. It stays 0 where
    something removes the container and runs it anew."""
    told = [event.fields.get("restarts_total") for event in starts]
    known = [count for count in told if isinstance(count, int)]
    return len(known) == len(told) > 1 and max(known) - min(known) >= len(told) - 1


def nobody_looked(*_: object) -> Looks:
    """Where it is not recorded when somebody did."""
    return Looks(_times(None))


def misses_starts(
    looks: Looks, kind: str, name: str, events: Iterable[EventAnswer], starts_ns: I64
) -> bool:
    """Whether there may have been more starts than looks saw. One that most looks show unchanged
    from its first start to its last was started when it changed."""
    if not looks.miss_starts or not len(starts_ns):
        return looks.miss_starts
    same = same_instance(looks, kind, name, events)
    first, last = np.searchsorted(looks.wall_ns, (starts_ns[0], starts_ns[-1])).tolist()
    between = same[first:last]
    return not len(between) or float(between.mean()) <= _MOSTLY


def same_instance(looks: Looks, kind: str, name: str, events: Iterable[EventAnswer]) -> Bool:
    """From each look to the next: both showed the same one, so that nothing was started or ended.

    Of a unit of which nobody counts the starts a look shows a state, not whose.
    """
    length = max(0, len(looks.wall_ns) - 1)
    own = [event for event in events if event.subject == name and event.kind in _HAPPENS[kind]]
    happened = np.zeros(length, np.bool_)
    place = np.searchsorted(looks.wall_ns, [event.wall_ns for event in own]) - 1
    happened[place[(place >= 0) & (place < length)]] = True
    if kind == "unit":
        return ~happened if looks.is_counted else np.zeros(length, np.bool_)
    listed = np.zeros(length, np.bool_)
    latest: object = None
    is_there, since = False, 0
    for event, at in zip(own, place.tolist(), strict=True):
        identity = event.fields.get("id")
        if event.kind == "container-start":
            is_now, latest = True, identity
        elif identity == latest and (event.kind == "container-removed" or event.text == GONE):
            is_now = False
        else:
            continue
        if is_there:
            listed[since : max(since, at)] = True
        is_there, since = is_now, max(0, at + 1)
    if is_there:
        listed[since:] = True
    return listed & ~happened


_HAPPENS = {
    "unit": ("unit-start", "unit-failed", "unit-waiting"),
    "container": ("container-start", "container-exit", "container-removed"),
}


def _times(one: SeriesAnswer | None) -> I64:
    if one is None:
        return np.empty(0, np.int64)
    return np.unique(one.wall_ns[one.values != MISSING])
