"""Which events matter most, and which say the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from exhume.model.answers import EventAnswer
from exhume.model.evidence import EventGroup

NOTABLE_KINDS = (
    "kernel-log",
    "job-log",
    "unit-failed",
    "core-offline",
    "core-online",
    "clock-step",
    "gap",
    "rate",
)
"""What is worth a mark above a map of cores."""
HARM = 3
"""The severity of harm to somebody, as opposed to something that may explain it."""

# Classes of kernel_log.toml.
_HARMFUL = frozenset(
    {
        *("netdev-starve", "netdev-reset", "netdev-device", "cpu", "kernel", "hw", "gpu"),
        *("disk", "io-lock", "mem"),
    }
)
_HARMLESS = frozenset({"info"})
# Signatures that hint at trouble and harm nobody themselves.
_HINTS = frozenset({"hrtimer_slow", "nmi_slow", "ena.refill", "clocksource.readout"})
_BY_KIND = {
    "job-log": HARM,
    "unit-failed": 2,
    "core-offline": 2,
    "core-online": 1,
    "clock-step": 2,
    "gap": 2,
    "log-lost": 1,
    "rate": 1,
}
_NUMBERS = re.compile(r"0x[0-9a-f]+|(?<![a-zA-Z])[0-9a-f]*\d[0-9a-f]*(?![a-zA-Z])")
_SAME_TEXT = 80
"""Characters of an unknown line that are compared."""
_DUMP = "\0dump"
_BLOCK_LINES = 4
_BLOCK_NS = 50_000_000
"""Unknown lines of the kernel log that follow each other so quickly are one message: a dump."""


def severity(event: EventAnswer | EventGroup) -> int:
    """0: of no account by itself, up to HARM. Events that are alike are equally severe."""
    if event.kind != "kernel-log":
        return _BY_KIND.get(event.kind, 0)
    known = event.fields.get("class")
    if known is None or known in _HARMLESS:
        return 0
    if event.fields.get("signature") in _HINTS:
        return 1
    return HARM if known in _HARMFUL else 2


def most_severe(events: Sequence[EventAnswer]) -> list[EventGroup]:
    """Groups of notable events, the worst first, and of those the earliest."""
    groups = folded([event for event in events if severity(event)])
    return sorted(groups, key=lambda group: (-severity(group), group.first_wall_ns))


def folded(events: Sequence[EventAnswer]) -> list[EventGroup]:
    """Like events as one each, in order of their first time; a dump of the kernel is one, too."""
    found = []
    for key, members in _grouped(events).items():
        group = _group(members)
        if key[2] == _DUMP:
            text = f"{group.text.strip()} … and {len(members) - 1} more lines"
            group = replace(group, text=text, count=1)
        found.append(group)
    return found


def each(events: Sequence[EventAnswer]) -> list[EventGroup]:
    return [_group([event]) for event in events]


def alike(event: EventAnswer) -> tuple[str, ...]:
    """Equal for events that say the same: numbers in a text may differ."""
    signature = event.fields.get("signature")
    if signature is not None:
        return event.kind, event.subject, "", str(signature)
    parent = str(event.fields.get("parent", ""))
    return event.kind, event.subject, parent, _NUMBERS.sub("#", event.text)[:_SAME_TEXT]


def _grouped(events: Sequence[EventAnswer]) -> dict[tuple[str, ...], list[EventAnswer]]:
    groups: dict[tuple[str, ...], list[EventAnswer]] = {}
    dumped = _dumps(events)
    for index, event in enumerate(events):
        groups.setdefault(dumped.get(index) or alike(event), []).append(event)
    return groups


def _dumps(events: Sequence[EventAnswer]) -> dict[int, tuple[str, ...]]:
    """Which events are lines of a dump, and of which one."""
    found: dict[int, tuple[str, ...]] = {}
    run: list[int] = []
    for index, event in enumerate(events):
        if event.kind != "kernel-log" or "signature" in event.fields:
            continue  # what comes between the lines of a dump does not end it
        if run and event.wall_ns - events[run[-1]].wall_ns > _BLOCK_NS:
            run = []
        run.append(index)
        if len(run) >= _BLOCK_LINES:
            key = event.kind, "", _DUMP, str(events[run[0]].wall_ns)
            found.update(dict.fromkeys(run[-_BLOCK_LINES:], key))
    return found


def _group(members: Sequence[EventAnswer]) -> EventGroup:
    first = members[0]
    cores, pids = {event.core for event in members}, {event.pid for event in members}
    return EventGroup(
        first_wall_ns=first.wall_ns,
        last_wall_ns=max(event.wall_ns for event in members),
        kind=first.kind,
        subject=first.subject,
        text=first.text,
        signature=str(first.fields.get("signature", "")),
        core=first.core if len(cores) == 1 else None,
        pid=first.pid if len(pids) == 1 else None,
        count=sum(event.count for event in members),
        fields=first.fields,
    )
