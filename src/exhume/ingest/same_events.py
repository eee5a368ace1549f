"""The same line in two files: dmesg and kern.log, the journal and syslog. It happened once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from exhume.ingest import relist_lines
from exhume.model.event import Event

SAME_NS = 2_000_000_000
"""Classic syslog has whole seconds, and is late by some more."""
_KINDS = ("kernel-log", "job-log", "unit-start", "unit-failed")
_SHORT_ID = 12
_LOOKED, _SAW, _DID = range(3)
"""What who tells of a container knows: a list has its name, and was made some time later; the
kubelet and dockerd saw it happen, and know no name; the runtime did it."""
_APART = ("signature", "queue", "core", "pid")


def without_repeats(groups: Sequence[Sequence[Event]]) -> Iterator[Event]:
    """Events of several inputs; what an earlier input has told at that time is left out."""
    if len(groups) == 1:
        yield from groups[0]
        return
    told: dict[tuple[object, ...], list[int]] = {}
    best, names = _tellers(groups)
    for group in groups:
        own: dict[tuple[object, ...], list[int]] = {}
        for event in group:
            if best and _knows(event) < best.get(_container(event), _LOOKED):
                continue  # the runtime noted when that was; a look only saw that it had been
            if event.kind in _KINDS or "told_by" in event.fields:
                key = _identity(event)
                if _is_near(told.get(key, ()), event.time_ns):
                    continue
                own.setdefault(key, []).append(event.time_ns)
            if names and _knows(event) == _SAW:
                event = replace(event, subject=names.get(_short_id(event), event.subject))
            yield event
        for key, times in own.items():
            told[key] = sorted([*told.get(key, ()), *times])


def _tellers(
    groups: Sequence[Sequence[Event]],
) -> tuple[dict[tuple[str, str], int], dict[str, str]]:
    """Who knows most of what happened to a container; and how those call it that know its name."""
    best: dict[tuple[str, str], int] = {}
    names: dict[str, str] = {}
    for event in (event for group in groups for event in group if "id" in event.fields):
        if (knows := _knows(event)) > _LOOKED:
            best[_container(event)] = max(best.get(_container(event), _LOOKED), knows)
        if knows != _SAW and not str(event.fields["id"]).startswith(event.subject):
            names[_short_id(event)] = event.subject
    return best, names


def _knows(event: Event) -> int:
    told_by = event.fields.get("told_by")
    return _LOOKED if told_by is None else _SAW if told_by in relist_lines.SEEN_BY else _DID


def _container(event: Event) -> tuple[str, str]:
    return event.kind, _short_id(event)


def _short_id(event: Event) -> str:
    """Lists have the first 12 digits."""
    return str(event.fields.get("id", ""))[:_SHORT_ID]


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
