"""What supervisors log → the starts and failures of units that the live source tells. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from exhume.derive.log_events import LogLine
from exhume.derive.signatures import FieldValue, Match
from exhume.model.event import Event

GIVEN_UP = "start-limit-hit"
"""The result of a unit that failed so often that its supervisor starts it no more."""
_FOLD_NS = 1_000_000_000
_MOST_UNITS = 10_000
_AFTER_NS = 1000
"""Where one line tells of an end and of the start that follows, the end comes first."""

# Signatures of job_log.toml.
_STARTED = frozenset(
    {
        *("systemd.restart", "supervisord.started", "upstart.started", "pm2.started"),
        *("monit.started",),
    }
)
_DUE = frozenset({"systemd.restart_due"})
"""Said of a start, before it or alone."""
_EXITED = frozenset({"systemd.exited", "supervisord.exited", "upstart.exited", "pm2.exited"})
_GAVE_UP = frozenset({"systemd.start_limit", "supervisord.gave_up", "upstart.gave_up"})
_SAYS_AGAIN = frozenset({"systemd.failed"})
"""After the line that its process has ended."""
_FAILED = _SAYS_AGAIN | _GAVE_UP | {"monit.failed"}
_CLEAN = ("0", 0)


def is_unit_line(found: Match) -> bool:
    return found.id in _STARTED | _DUE | _EXITED | _FAILED and "unit" in found.fields


def unit_events(
    lines: Iterable[tuple[LogLine, Match]], exited: dict[str, int] | None = None
) -> tuple[Event, ...]:
    """Of lines that `is_unit_line` lets pass: those of one second and unit as one event.

    `exited`: when each unit's process last ended, kept from one call to the next.
    """
    units: dict[tuple[int, str], _Unit] = {}
    exited = {} if exited is None else exited
    for line, found in lines:
        unit, at_ns = str(found.fields["unit"]), line.time_ns
        if found.id in _EXITED:
            if len(exited) >= _MOST_UNITS:
                exited.clear()
            exited[unit] = at_ns
        elif found.id in _SAYS_AGAIN and 0 <= at_ns - exited.get(unit, at_ns + 1) <= _FOLD_NS:
            at_ns = exited[unit]  # of the same end, though a second may begin in between
            if (at_ns // _FOLD_NS, unit) not in units:
                continue  # which was told in the call before
        units.setdefault((at_ns // _FOLD_NS, unit), _Unit(unit)).add(at_ns, found)
    events = [event for unit in units.values() for event in unit.events()]
    return tuple(sorted(events, key=lambda event: event.time_ns))


class _Unit(Struct):
    name: str
    starts: int = 0
    dues: int = 0
    exits: int = 0
    failures: int = 0
    started_ns: int | None = None
    failed_ns: int | None = None
    pid: int | None = None
    fields: dict[str, FieldValue] = field(default_factory=dict)
    lived: list[float] = field(default_factory=list)

    def add(self, time_ns: int, found: Match) -> None:
        told = found.fields
        if found.id in _EXITED:
            self._exited(time_ns, told.get("main_status"), told.get("how"))
            lived = told.get("lifetime_seconds")
            if isinstance(lived, int | float):
                self.lived.append(lived)
        elif found.id in _FAILED:
            self.failures += 1
            self.failed_ns = time_ns if self.failed_ns is None else self.failed_ns
        is_start = found.id in _STARTED or "restarts_total" in told
        self.starts += is_start
        self.dues += found.id in _DUE
        if is_start or found.id in _DUE:
            self.started_ns = time_ns if self.started_ns is None else self.started_ns
        pid = told.get("pid")
        self.pid = pid if isinstance(pid, int) else self.pid
        for name in ("result", "main_status", "restarts_total"):
            if name in told and self.fields.get(name) != GIVEN_UP:
                self.fields[name] = told[name]  # systemd says how the last try failed after it
        if found.id in _GAVE_UP:
            self.fields["result"] = GIVEN_UP

    def _exited(self, time_ns: int, status: object, how: object) -> None:
        if how in (None, "exited", "exit") and status in _CLEAN:
            return
        self.exits += 1
        self.failed_ns = time_ns if self.failed_ns is None else self.failed_ns
        self.fields.setdefault(
            "result", "exit-code" if how in (None, "exited", "exit") else "signal"
        )

    def events(self) -> Iterable[Event]:
        # systemd says of one end that the process exited, and that the unit failed.
        failures = max(self.exits, self.failures)
        if self.failed_ns is not None:
            result = self.fields.get("result", "failed")
            fields = dict(self.fields)
            if self.lived:
                fields["lifetime_seconds"] = sorted(self.lived)[len(self.lived) // 2]
            text = f"failed with result '{result}'"
            pid = self.pid if failures == 1 else None
            yield Event(self.failed_ns, "unit-failed", self.name, text, None, pid, failures, fields)
        if self.started_ns is not None:
            at = self.started_ns + (_AFTER_NS if self.started_ns == self.failed_ns else 0)
            yield Event(
                at,
                "unit-start",
                self.name,
                count=max(self.starts, self.dues),
                fields=dict(self.fields),
            )
