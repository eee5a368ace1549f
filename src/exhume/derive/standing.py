"""What a single look shows of loops: what its supervisor has counted so far. Pure.

Two looks show that something was started. One shows that it waits to be started again, or has just
begun, and how often it was before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from exhume.model.answers import EventAnswer

LEAST_RESTARTS = 3
"""Of what waits for its next start: once or twice may be a dependency that was late."""
MANY_RESTARTS = 10
"""Of what runs: below, it died now and then."""
SURELY_MANY = 100
"""Where nothing tells when it was started the time before: a dozen may be those of a year."""
_NS = 1_000_000_000
_JUST_NS = 600 * _NS
"""The kubelet waits five minutes at most before it starts a container again."""
_BACKED_OFF_NS = 5 * _NS
"""Docker waits 0.1 s after the first end, then twice as long each time, up to a minute; once it
lived for 10 s, it begins anew. Who waits so long ended half a dozen times in a row."""


def of_unit(events: Iterable[EventAnswer], seconds: float = math.inf) -> int | None:
    """How often it was restarted, where the last that is known of it is that it waits again.

    `seconds`: for how long anybody told of it. Some lines of a log, as `systemctl status` shows
    them, tell of no pace, but of how often it was restarted since somebody started it.
    """
    told = list(events)
    looked = [event for event in told if "sub_state" in event.fields]
    last = max(looked or told, key=lambda event: event.wall_ns, default=None)
    count = None if last is None else _count(last)
    if last is None or count is None:
        return None
    if not looked:
        return count if count >= SURELY_MANY and seconds * _NS <= _JUST_NS else None
    waits = last.fields["sub_state"] == "auto-restart"
    return count if waits and count >= LEAST_RESTARTS else None


def of_containers(events: Iterable[EventAnswer]) -> dict[str, int | None]:
    """Who had just been started again, after many times before, or waits for it, in the last
    look; and how often, where somebody counts."""
    told = list(events)
    seen = [event for event in told if event.kind == "container-seen"]
    last_ns = max((event.wall_ns for event in seen), default=0)
    seen = [event for event in seen if event.wall_ns == last_ns]
    ended = {
        event.fields.get("id"): event.wall_ns
        for event in told
        if event.kind == "container-exit" and event.fields.get("state") == "restarting"
    }
    found: dict[str, int | None] = {}
    for event in seen:
        end_ns = ended.get(event.fields.get("id"), last_ns)
        if event.fields.get("state") == "restarting" and last_ns - end_ns >= _BACKED_OFF_NS:
            found[event.subject] = _count(event)
    if _is_up_for_long(seen, last_ns):
        for event, before in _newest(seen):
            count, age_ns = _count(event) or 0, _age_ns(event, last_ns)
            lived_ns = None if before is None else _age_ns(before, last_ns) - age_ns
            is_quick = count >= SURELY_MANY if lived_ns is None else lived_ns <= _JUST_NS
            if count >= MANY_RESTARTS and age_ns <= _JUST_NS and is_quick:
                found[event.subject] = count
    return found


def _is_up_for_long(seen: Sequence[EventAnswer], at_ns: int) -> bool:
    """After a boot all of them have just been started again."""
    return any(
        event.fields.get("state") == "running" and _age_ns(event, at_ns) > _JUST_NS
        for event in seen
    )


def _newest(
    seen: Iterable[EventAnswer],
) -> Iterable[tuple[EventAnswer, EventAnswer | None]]:
    """The last run of each, and the one before where that is listed, as CRI does."""
    runs: dict[str, list[EventAnswer]] = {}
    for event in sorted(seen, key=lambda event: -(_count(event) or 0)):
        runs.setdefault(event.subject, []).append(event)
    for own in runs.values():
        newest = own[0]
        is_next = len(own) > 1 and _count(own[1]) == (_count(newest) or 0) - 1
        yield newest, own[1] if is_next else None


def _age_ns(event: EventAnswer, at_ns: int) -> int:
    created = event.fields.get("created_wall_ns")
    return at_ns - created if isinstance(created, int) else 0


def _count(event: EventAnswer) -> int | None:
    count = event.fields.get("restarts_total")
    return count if isinstance(count, int) else None
