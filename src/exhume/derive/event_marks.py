"""Events → marks on a time axis: like ones that would touch are one mark with a count. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from exhume.derive.event_groups import alike, severity
from exhume.model.answers import EventAnswer

MOST_MARKS = 2000


class EventMark(Struct, frozen=True):
    """Like events that lie closer together than the axis can show."""

    first_wall_ns: int
    last_wall_ns: int
    kind: str
    subject: str
    text: str
    """Of the first of them."""
    signature: str
    severity: int
    """1 a hint, 2 may explain harm, 3 harm to somebody."""
    core: int | None
    count: int


def event_marks(events: Sequence[EventAnswer], apart_ns: int) -> tuple[EventMark, ...]:
    """Notable events only, in order of time; of a flood the most severe."""
    open_marks: dict[tuple[str, ...], list[EventAnswer]] = {}
    found: list[EventMark] = []
    for event in events:
        if not severity(event):
            continue
        key = alike(event)
        members = open_marks.setdefault(key, [])
        if members and event.wall_ns - members[-1].wall_ns > apart_ns:
            found.append(_mark(members))
            members.clear()
        members.append(event)
    found.extend(_mark(members) for members in open_marks.values() if members)
    worst = sorted(found, key=lambda mark: (-mark.severity, -mark.count))[:MOST_MARKS]
    return tuple(sorted(worst, key=lambda mark: mark.first_wall_ns))


def _mark(members: Sequence[EventAnswer]) -> EventMark:
    first = members[0]
    cores = {event.core for event in members}
    return EventMark(
        first_wall_ns=first.wall_ns,
        last_wall_ns=members[-1].wall_ns,
        kind=first.kind,
        subject=first.subject,
        text=first.text,
        signature=str(first.fields.get("signature", "")),
        severity=severity(first),
        core=first.core if len(cores) == 1 else None,
        count=sum(event.count for event in members),
    )
