"""The same line in two files: dmesg and kern.log, the journal and syslog. It happened once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from exhume.model.event import Event

SAME_NS = 2_000_000_000
"""Classic syslog has whole seconds, and is late by some more."""
_KINDS = ("kernel-log", "job-log", "unit-start", "unit-failed")
_SHORT_ID = 12
_APART = ("signature", "queue", "core", "pid")


def without_repeats(groups: Sequence[Sequence[Event]]) -> Iterator[Event]:
    """Events of several inputs; what an earlier input has told at that time is left out."""
    if len(groups) == 1:
        yield from groups[0]
        return
    told: dict[tuple[object, ...], list[int]] = {}
    noted = {_container(event) for group in groups for event in group if "told_by" in event.fields}
    for group in groups:
        own: dict[tuple[object, ...], list[int]] = {}
        for event in group:
            if noted and "told_by" not in event.fields and _container(event) in noted:
                continue  # the runtime noted when that was; a look only saw that it had been
            if event.kind in _KINDS or "told_by" in event.fields:
                key = _identity(event)
                if _is_near(told.get(key, ()), event.time_ns):
                    continue
                own.setdefault(key, []).append(event.time_ns)
            yield event
        for key, times in own.items():
            told[key] = sorted([*told.get(key, ()), *times])


def _container(event: Event) -> tuple[str, str]:
    """What happened to which: lists have the first 12 digits of an id."""
    return event.kind, str(event.fields.get("id", ""))[:_SHORT_ID]


def _identity(event: Event) -> tuple[object, ...]:
    if event.kind.startswith("unit-"):
        return event.kind, event.subject
    if "told_by" in event.fields:
        return _container(event)
    if "signature" in event.fields and event.kind == "kernel-log":
        # Lines of a second that say the same are one event: which of them is first may differ.
        return event.kind, event.subject, *(event.fields.get(name) for name in _APART)
    return event.kind, event.text


def _is_near(times: Sequence[int], at: int) -> bool:
    place = bisect_left(times, at - SAME_NS)
    return place < len(times) and times[place] <= at + SAME_NS
