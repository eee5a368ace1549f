"""Entries of a log, whatever its form → events as the live sources make them, within bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from exhume.derive.cron_lines import CronStart, cron_events, cron_start, is_by_cron
from exhume.derive.log_events import LogLine, folded_events
from exhume.derive.oom_tasks import OomTasks
from exhume.derive.signatures import FieldValue, Match, job_log, kernel_log, match
from exhume.derive.unit_lines import is_unit_line, unit_events
from exhume.ingest.call_traces import TraceReader
from exhume.ingest.log_hosts import is_same_machine
from exhume.ingest.log_levels import level_of
from exhume.ingest.row_table import SLOT_NS
from exhume.ingest.runtime_lines import RuntimeLines
from exhume.model.event import Event
from exhume.model.series import MISSING, Block

SECOND_NS = 1_000_000_000
UNREAD = -1
"""A level that is read where it matters: most lines mean nothing."""
CHUNK_EVENTS = 20_000
"""Kept in memory at a time."""
MAX_EVENTS = 200_000
MAX_SLOTS = 5000
"""Ten minutes each that have events: each becomes a segment."""
_WARNING = 4
_MAX_UNITS = 100
_MAX_HOSTS = 1000
_TICK_NS = 10 * SECOND_NS
_MAX_PARTS = 4
_OPEN = ("detail", "reason")
"""Fields that take whatever follows: of a program's line that may be a traceback."""


class Entry(Struct):
    time_ns: int
    text: str
    is_kernel: bool = False
    level: int = 6
    """As syslog: 0 emergency … 7 debug."""
    host: str = ""
    program: str = ""
    """Who wrote it, where the line says so."""
    pid: int | None = None
    raw: str = ""
    """The whole line, where the level is still to be read from it."""
    is_rest: bool = False
    """It has no stamp of its own: perhaps the rest of a line that a terminal broke in two."""


class HostEvents(Struct):
    """What the lines of one machine come to."""

    name: str
    """Of the log, for lines that do not say who wrote them."""
    events: list[Event] = field(default_factory=list)
    _kernel: list[tuple[LogLine, Match | None]] = field(default_factory=list)
    _jobs: list[tuple[LogLine, Match | None]] = field(default_factory=list)
    _units: list[tuple[LogLine, Match]] = field(default_factory=list)
    _cron: list[CronStart] = field(default_factory=list)
    _containers: list[Event] = field(default_factory=list)
    _runtime: RuntimeLines = field(default_factory=RuntimeLines)
    _exited: dict[str, int] = field(default_factory=dict)
    _second: int = -1
    _trace: TraceReader = field(default_factory=TraceReader)
    _tasks: OomTasks = field(default_factory=OomTasks)
    _last: Entry | None = None
    _last_found: Match | None = None
    _parts: int = 1
    _length: int = 0
    """Of its last part, as it stands in the file; of the first one without stamp and host."""
    _widths: list[int] = field(default_factory=lambda: [0, 0])
    """The longest of the lines that were joined: of first parts, and of those that go on."""
    _restarts: dict[int, dict[str, int]] = field(default_factory=dict)
    _counted: set[str] = field(default_factory=set)

    def add(self, entry: Entry) -> bool:
        """True where a signature knows it."""
        if entry.is_rest and self._is_rest_of_last(entry):
            return True
        if entry.is_kernel and self._is_below(entry):
            return False
        if not entry.is_kernel and (started := cron_start(entry.text, entry.program)):
            self._at_second(entry.time_ns)
            self._cron.append(CronStart(entry.time_ns, started))
            self._last = None  # what it was told to do is not joined with anything
            return True
        happened = () if entry.is_kernel else self._runtime.events(entry.text, entry.time_ns)
        if happened:
            self._at_second(entry.time_ns)
            self._containers += happened
        found = match(entry.text, kernel_log() if entry.is_kernel else job_log())
        self._last, self._last_found, self._parts = entry, found, 1
        self._length = len(entry.text)
        if found is not None or (entry.is_kernel and entry.level <= _WARNING):
            self._keep(entry, found)
        return found is not None or bool(happened)

    def _is_below(self, entry: Entry) -> bool:
        """Part of what the kernel prints with a line that means something."""
        return self._trace.takes(entry.text, entry.time_ns) or self._tasks.takes(
            entry.text, entry.time_ns
        )

    def _at_second(self, time_ns: int) -> None:
        if time_ns // SECOND_NS != self._second:
            self.flush()
            self._second = time_ns // SECOND_NS

    def _keep(self, entry: Entry, found: Match | None) -> None:
        self._at_second(entry.time_ns)
        fields: dict[str, FieldValue] = {}
        level = level_of(entry.raw) if entry.level == UNREAD else entry.level
        line = LogLine(entry.time_ns, entry.text, level, fields)
        if entry.is_kernel:
            self._kernel.append((line, found))
            fields |= self._tasks.about(found, entry.time_ns)
            if found is not None:
                self._trace.opened_by(found, entry.time_ns, fields)
        elif found is not None and is_unit_line(found):
            self._units.append((line, found))
            self._note_restarts(entry.time_ns, found)
        else:
            fields["victim"] = entry.program or self.name
            # Whose id it is that a line begins with: of who wrote it, not of whom it tells.
            if entry.pid is not None and (found is None or "victim" not in found.fields):
                fields["pid"] = entry.pid
            self._jobs.append((line, found))

    def _is_rest_of_last(self, rest: Entry) -> bool:
        """Joined with the line before it says something that neither says alone."""
        last, found = self._last, self._last_found
        if last is None or self._parts >= _MAX_PARTS or not rest.text.strip():
            return False
        known = kernel_log() if last.is_kernel else job_log()
        if match(rest.text, known) is not None:
            return False
        # A terminal breaks at its width; where the line is shorter, a blank was lost there.
        goes_on = last.is_rest or self._parts > 1
        is_full = self._length >= self._widths[goes_on]
        for between in ("", " ") if is_full else (" ", ""):
            text = last.text + between + rest.text
            joined = match(text, known)
            if joined is None or not _says_more(joined, found, () if last.is_kernel else _OPEN):
                continue
            if found is not None:
                self._forget_last()
            whole = replace(last, text=text)
            self._last, self._last_found = whole, joined
            self._parts += 1
            self._widths[goes_on] = max(self._widths[goes_on], self._length)
            self._length = len(rest.text)
            self._keep(whole, joined)
            return True
        return False

    def _forget_last(self) -> None:
        for kept in (self._kernel, self._jobs, self._units):
            if kept and kept[-1][1] is self._last_found:
                kept.pop()

    def _note_restarts(self, time_ns: int, found: Match) -> None:
        count, unit = found.fields.get("restarts_total"), str(found.fields["unit"])
        if not isinstance(count, int) or not 0 <= count < 1 << 62:
            return
        if unit not in self._counted and len(self._counted) < _MAX_UNITS:
            self._counted.add(unit)
            self._restarts.setdefault(time_ns, {})[unit] = max(0, count - 1)  # this one counts, too
        looked_ns = (time_ns // _TICK_NS + 1) * _TICK_NS  # as if when those ten seconds were over
        at = self._restarts.setdefault(looked_ns, {})
        if unit in at or len(at) < _MAX_UNITS:
            at[unit] = count

    def flush(self) -> None:
        if self._kernel:
            self.events += folded_events(self._kernel)
        if self._jobs:
            self.events += folded_events(self._jobs, kind="job-log")
        if self._units:
            self.events += unit_events(self._units, self._exited)
        if self._cron:
            self.events += cron_events(self._cron)
        self.events += self._containers
        self._kernel, self._jobs, self._units, self._cron = [], [], [], []
        self._containers = []

    def take(self) -> tuple[tuple[Event, ...], tuple[Block, ...]]:
        self.flush()
        events, self.events = tuple(self.events), []
        restarts, self._restarts = self._restarts, {}
        return events, _restart_blocks(restarts)


class LogEvents:
    """What a log comes to. Of a log server's it is one machine: a recording is of one."""

    def __init__(self, name: str, host: str = "") -> None:
        """`host`: whose lines are wanted; those of the first machine, where it is empty."""
        self._own = HostEvents(name)
        self.host = host
        self.others: dict[str, int] = {}
        """Other machines, and how many lines of theirs were left out."""
        self._slots: set[int] = set()
        self.lines = 0
        self.known = 0
        self.left_out = 0
        """Entries too far or too many to be kept."""
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._made = 0
        self._by_cron = 0
        self._others_than_units = False

    def add(self, entry: Entry) -> None:
        self.host = self.host or entry.host
        if entry.host and not is_same_machine(entry.host, self.host):
            if entry.host in self.others or len(self.others) < _MAX_HOSTS:
                self.others[entry.host] = self.others.get(entry.host, 0) + 1
            else:
                self.others[""] = self.others.get("", 0) + 1  # of more machines than are named
            return
        self.lines += 1
        if self.first_ns is None or self.last_ns is None:
            self.first_ns = self.last_ns = entry.time_ns
        self.first_ns = min(self.first_ns, entry.time_ns)
        self.last_ns = max(self.last_ns, entry.time_ns)
        self.known += self._own.add(entry)

    @property
    def held(self) -> int:
        return len(self._own.events)

    @property
    def is_of_units(self) -> bool:
        """Every line so far is of a start or an end: nobody else's harm would be in it."""
        return 0 < self.lines == self.known and not self._others_than_units

    def take(self) -> tuple[tuple[Event, ...], tuple[Block, ...]]:
        """What there is so far."""
        events, blocks = self._own.take()
        self._others_than_units |= any(not event.kind.startswith("unit-") for event in events)
        kept = tuple(event for event in events if self._has_room(event))
        return kept, tuple(self._cut(block) for block in blocks)

    def _has_room(self, event: Event) -> bool:
        if is_by_cron(event):  # it speaks every minute of every week, and leaves room for others
            has_room = self._by_cron < MAX_EVENTS // 2
            self._by_cron += has_room
            self.left_out += 0 if has_room else event.count
            return has_room
        slot = event.time_ns // SLOT_NS
        if self._made >= MAX_EVENTS or (slot not in self._slots and len(self._slots) >= MAX_SLOTS):
            self.left_out += event.count
            return False
        self._slots.add(slot)
        self._made += 1
        return True

    def _cut(self, block: Block) -> Block:
        inside = np.isin(block.tick_ns // SLOT_NS, np.array(sorted(self._slots), np.int64))
        return replace(block, tick_ns=block.tick_ns[inside], values=block.values[inside])


def _says_more(joined: Match, before: Match | None, open_fields: Sequence[str]) -> bool:
    if before is None:
        return True
    if joined.id != before.id:
        return False
    return _size(joined, open_fields) > _size(before, open_fields)


def _size(found: Match, open_fields: Sequence[str]) -> int:
    return sum(len(str(value)) for name, value in found.fields.items() if name not in open_fields)


def _restart_blocks(restarts: dict[int, dict[str, int]]) -> tuple[Block, ...]:
    units = tuple(dict.fromkeys(unit for at in restarts.values() for unit in at))[:_MAX_UNITS]
    if not units:
        return ()
    times = sorted(restarts)
    place = {unit: column for column, unit in enumerate(units)}
    values = np.full((len(times), len(units)), MISSING, np.int64)
    for row, time_ns in enumerate(times):
        for unit, count in restarts[time_ns].items():
            if unit in place:
                values[row, place[unit]] = count
    return (Block("unit.restarts", units, np.array(times, np.int64), values),)
