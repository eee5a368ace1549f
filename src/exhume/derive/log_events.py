"""Log lines → events: matched against the signatures, floods folded, everything bounded. Pure.

Old ENA drivers print one line for each late packet, thousands at a time. Lines of one second that
say the same of the same queue are one event with a count, and keep their worst figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.derive.oom_tasks import OomTasks
from exhume.derive.signatures import FieldValue, Match, Signature, match
from exhume.derive.stamps import StampFinder, Years
from exhume.model.event import Event

MAX_EVENTS = 500
"""Of one batch. What exceeds it is counted in one last event."""
MAX_TEXT = 500
MAX_LATE_NS = 60 * 1_000_000_000
_FOLD_NS = 1_000_000_000
_WARNING = 4
# What tells two lines of one signature apart: the first that a match has names the subject.
_SUBJECTS = (
    *("unit", "interface", "device", "comm", "cgroup", "pod", "node", "object", "table", "server"),
    "victim",
)
_APART = ("queue", "core", "pid")


class LogLine(Struct, frozen=True):
    time_ns: int
    text: str
    level: int = 6
    """As syslog: 0 emergency … 7 debug."""
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    """What is known of it besides its text: who wrote it, the frames of the trace below it."""


def events_of(
    lines: Iterable[LogLine],
    signatures: Sequence[Signature],
    *,
    kind: str = "kernel-log",
    keep_level: int = _WARNING,
) -> tuple[Event, ...]:
    """Every line that matches, and unmatched ones at `keep_level` or worse, in order of time."""
    tasks = OomTasks()
    kept = []
    for line in lines:
        if tasks.takes(line.text, line.time_ns):
            continue
        found = match(line.text, signatures)
        if more := tasks.about(found, line.time_ns):
            kept.append((replace(line, fields={**line.fields, **more}), found))
        elif found is not None or line.level <= keep_level:
            kept.append((line, found))
    return folded_events(kept, kind=kind)


def folded_events(
    lines: Iterable[tuple[LogLine, Match | None]], *, kind: str = "kernel-log"
) -> tuple[Event, ...]:
    """Of lines that are worth it, with what they matched."""
    folded: dict[tuple[object, ...], _Folded] = {}
    left_out = 0
    last_ns = 0
    for line, found in lines:
        last_ns = max(last_ns, line.time_ns)
        fields = {**line.fields, **found.fields} if found else dict(line.fields)
        key = (line.time_ns // _FOLD_NS, *_identity(found, line.text, fields))
        known = folded.get(key)
        if known is not None:
            known.add(found)
        elif len(folded) < MAX_EVENTS:
            folded[key] = _Folded(line, found, fields)
        else:
            left_out += 1
    events = [one.event(kind) for one in folded.values()]
    if left_out:
        text = f"{left_out} more lines in this batch"
        events.append(Event(last_ns, kind, "flood", text, count=left_out))
    return tuple(sorted(events, key=lambda event: event.time_ns))


class _Folded(Struct):
    line: LogLine
    found: Match | None
    fields: dict[str, FieldValue]
    count: int = 1

    def add(self, found: Match | None) -> None:
        self.count += 1
        for name, value in found.fields.items() if found else ():
            before = self.fields.get(name)
            if before is None:
                self.fields[name] = value
            elif (
                name.endswith("_seconds")
                and isinstance(value, int | float)
                and isinstance(before, int | float)
            ):
                self.fields[name] = max(before, value)

    def event(self, kind: str) -> Event:
        core, pid = self.fields.get("core"), self.fields.get("pid")
        fields: dict[str, FieldValue] = {**self.fields, "level": self.line.level}
        if self.found is not None:
            fields |= {"signature": self.found.id, "class": self.found.cls}
        return Event(
            self.line.time_ns,
            kind,
            _subject(self.found, fields),
            # RCU sets its lines off by tabs, of which a screen shows `\x091-...` for core 1.
            self.line.text[:MAX_TEXT].replace("\t", " "),
            core=core if isinstance(core, int) and core >= 0 else None,
            pid=pid if isinstance(pid, int) else None,
            count=self.count,
            fields=fields,
        )


def _identity(
    found: Match | None, text: str, fields: Mapping[str, FieldValue]
) -> tuple[object, ...]:
    if found is None:
        return ("", text[:MAX_TEXT])
    return (found.id, _subject(found, fields), *(fields.get(name) for name in _APART))


def _subject(found: Match | None, fields: Mapping[str, FieldValue]) -> str:
    if found is None:
        return ""
    names = (str(fields[name]) for name in _SUBJECTS if name in fields)
    return next(names, found.id)


def at_their_own_time(events: Iterable[Event], wall_offset_ns: int) -> tuple[Event, ...]:
    """Lines that were read just now, when they say themselves that they were written: up to a
    second before, more where a disk was slow. A stamp that is far off is of another clock or zone.
    """
    found = []
    for event in events:
        read_ns = event.time_ns + wall_offset_ns
        stamp = StampFinder(Years(read_ns)).find(event.text)
        late_ns = read_ns - stamp.time_ns if stamp is not None else -1
        own = 0 <= late_ns <= MAX_LATE_NS
        found.append(replace(event, time_ns=event.time_ns - late_ns) if own else event)
    return tuple(sorted(found, key=lambda event: event.time_ns))
