"""systemd's services: state, result, restarts. Over D-Bus, else by what /run/systemd/units shows.

A unit with RestartSec=10s never trips the start limit (5 in 10 s), so `systemctl --failed` stays
empty while it loops: what counts is NRestarts and the invocation id, new at each start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.sources.cgroup_tree import children
from exhume.sources.dbus import Connection, DBusError

MAX_CHANGED = 10
MAX_NEW = 4
"""How many units are asked for all they have at one reading: 5 ms each, and as much of PID 1."""

_NAME = "org.freedesktop.systemd1"
_MANAGER = "org.freedesktop.systemd1.Manager"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_ROOT = "/org/freedesktop/systemd1"
_LINK = "invocation:"
_STATE_CHANGE = "StateChangeTimestampMonotonic"


class Unit(Struct, frozen=True):
    """None means: not said by this systemd, or not known without D-Bus."""

    name: str
    invocation_id: str
    """New at each start; `inode:N` of its cgroup where systemd tells no id."""
    load_state: str | None = None
    active_state: str | None = None
    sub_state: str | None = None
    result: str | None = None
    restarts_total: int | None = None
    """Automatic ones; a manual start sets it back."""
    main_pid: int | None = None
    main_status: int | None = None
    main_code: int | None = None
    """As waitid(2): 1 exited, 2 killed, 3 dumped core."""
    active_enter_us: int | None = None
    """This and the next on CLOCK_MONOTONIC; 0 if never."""
    state_change_us: int | None = None
    main_start_us: int | None = None
    main_exit_us: int | None = None
    control_group: str | None = None
    unit_file_state: str | None = None
    fragment_path: str | None = None
    restart: str | None = None
    restart_us: int | None = None


# Property, field and type of what GetAll answers.
_DETAILS: tuple[tuple[str, str, type], ...] = (
    ("ActiveState", "active_state", str),
    ("SubState", "sub_state", str),
    ("Result", "result", str),
    ("NRestarts", "restarts_total", int),
    ("MainPID", "main_pid", int),
    ("ExecMainStatus", "main_status", int),
    ("ExecMainCode", "main_code", int),
    ("ActiveEnterTimestampMonotonic", "active_enter_us", int),
    (_STATE_CHANGE, "state_change_us", int),
    ("ExecMainStartTimestampMonotonic", "main_start_us", int),
    ("ExecMainExitTimestampMonotonic", "main_exit_us", int),
    ("ControlGroup", "control_group", str),
    ("UnitFileState", "unit_file_state", str),
    ("FragmentPath", "fragment_path", str),
    ("Restart", "restart", str),
    ("RestartUSec", "restart_us", int),
)


class UnitReader(Struct):
    host: Host
    problem: str = ""
    """Why there are only names and invocations; empty while D-Bus answers."""
    _connection: Connection | None = None
    _details: dict[str, tuple[tuple[str, ...], Mapping[str, Any]]] = field(default_factory=dict)

    def read(self) -> tuple[Unit, ...] | None:
        """None where no systemd runs."""
        invocations = read_invocations(self.host)
        if not (self.host.run / "systemd/system").exists() and not invocations:
            return None
        try:
            units = self._over_dbus(invocations)
            self.problem = ""
            return units
        except (OSError, DBusError, ImportError) as error:
            self.problem = f"systemd does not answer over D-Bus: {error}"
            self.close()
            return tuple(Unit(name, one) for name, one in sorted(invocations.items()))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _over_dbus(self, invocations: Mapping[str, str]) -> tuple[Unit, ...]:
        if self._connection is None:
            self._connection = connect(self.host)
        call = self._connection.call
        body = call(_NAME, _ROOT, _MANAGER, "ListUnitsByPatterns", "asas", [], ["*.service"])
        rows = [row for row in parse_list(body) if row[1] == "loaded"]
        keys = {row[0]: self._key(call, row, invocations) for row in rows}
        changed = [row for row in rows if self._details.get(row[0], ((), {}))[0] != keys[row[0]]]
        known = [row for row in changed if row[0] in self._details][:MAX_CHANGED]
        new = [row for row in changed if row[0] not in self._details]
        new.sort(key=lambda row: row[2] == "inactive")
        for row in (*known, *new[:MAX_NEW]):
            answer = call(_NAME, row[4], _PROPERTIES, "GetAll", "s", "")
            self._details[row[0]] = (keys[row[0]], parse_details(answer))
        for gone in self._details.keys() - keys.keys():
            del self._details[gone]
        return tuple(_unit(row, self._details, invocations) for row in rows)

    def _key(
        self, call: Callable[..., Any], row: tuple[str, ...], invocations: Mapping[str, str]
    ) -> tuple[str, ...]:
        """What changes when anything has: an active unit has its invocation id, others a time."""
        name, _, active, sub, path = row
        since = ""
        if active not in ("active", "inactive"):  # failed and auto-restart have no invocation
            unit = f"{_NAME}.Unit"
            answer = call(_NAME, path, _PROPERTIES, "Get", "ss", unit, _STATE_CHANGE)
            since = str(answer)
        return (active, sub, invocations.get(name, ""), since)


def connect(host: Host) -> Connection:
    """systemd's own socket needs root and no bus daemon; the bus needs a bus daemon and no root."""
    try:
        return Connection.open(host.run / "systemd/private", is_bus=False)
    except OSError:
        return Connection.open(host.run / "dbus/system_bus_socket", is_bus=True)


def read_invocations(host: Host) -> dict[str, str]:
    """By unit, the id of its present start: links that systemd keeps since 235; else cgroups."""
    folder = host.run / "systemd/units"
    found: dict[str, str] = {}
    try:
        for name in os.listdir(folder):
            unit = name.removeprefix(_LINK)
            if unit != name and unit.endswith(".service"):
                try:
                    found[unit] = str((folder / name).readlink())
                except OSError:
                    continue  # stopped since the listing
    except OSError:
        return _by_cgroup(host)
    return found


def parse_list(body: Any) -> list[tuple[str, ...]]:
    """Name, load, active and sub state, and object path of each unit."""
    try:
        (rows,) = body
        return [(str(r[0]), str(r[2]), str(r[3]), str(r[4]), str(r[6])) for r in rows]
    except (TypeError, ValueError, IndexError):
        raise ParseError("systemd", "ListUnitsByPatterns", "a list of units") from None


def parse_details(body: Any) -> dict[str, Any]:
    try:
        (properties,) = body
        values = {name: value for name, (_, value) in properties.items()}
    except (TypeError, ValueError, AttributeError):
        raise ParseError("systemd", "GetAll", "properties as variants") from None
    return {
        attribute: values[name]
        for name, attribute, kind in _DETAILS
        if type(values.get(name)) is kind
    }


def events(before: Mapping[str, Unit], after: tuple[Unit, ...], time_ns: int) -> tuple[Event, ...]:
    """Starts and failures between two readings; several starts of one unit count as one event."""
    found: list[Event] = []
    for unit in after:
        old = before.get(unit.name)
        if old is None:
            continue
        fields: dict[str, str | int | float] = {
            name: value
            for name in ("result", "sub_state", "main_status", "restarts_total", "restart_us")
            if (value := getattr(unit, name)) is not None
        }
        restarts = (unit.restarts_total or 0) - (old.restarts_total or 0)
        # A unit that waits for its next try has no invocation; then its counter says it.
        is_new = unit.invocation_id not in ("", old.invocation_id)
        if restarts > 0 or is_new:
            at = _instant(unit.main_start_us, time_ns)
            pid, count = unit.main_pid or None, max(1, restarts)
            found.append(Event(at, "unit-start", unit.name, pid=pid, count=count, fields=fields))
        has_failed = unit.result not in (None, "success")
        if has_failed and (unit.main_exit_us, unit.result) != (old.main_exit_us, old.result):
            text = f"failed with result '{unit.result}'"
            at = _instant(unit.main_exit_us, time_ns)
            found.append(Event(at, "unit-failed", unit.name, text, fields=fields))
    return tuple(found)


def readings(units: tuple[Unit, ...]) -> tuple[Reading, ...]:
    known = [unit for unit in units if unit.restarts_total is not None]
    states = [unit for unit in units if unit.active_state is not None]
    found = []
    if known:
        names = tuple(unit.name for unit in known)
        found.append(Reading.of_each("unit.restarts", names, [u.restarts_total for u in known]))
    if states:
        names = tuple(unit.name for unit in states)
        active = [int(unit.active_state == "active") for unit in states]
        found.append(Reading.of_each("unit.active", names, active))
    return tuple(found)


def _unit(
    row: tuple[str, ...],
    details: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]],
    invocations: Mapping[str, str],
) -> Unit:
    name, load, active, sub, _ = row
    # What is told with the rest: it may have been started since the list was made.
    known = {"active_state": active, "sub_state": sub} | dict(details.get(name, ((), {}))[1])
    return Unit(name, invocations.get(name, ""), load, **known)


def _instant(monotonic_us: int | None, now_ns: int) -> int:
    """systemd's own time of it, which is on our clock, rather than when we looked."""
    instant = (monotonic_us or 0) * 1000
    return instant if 0 < instant <= now_ns else now_ns


def _by_cgroup(host: Host) -> dict[str, str]:
    """The directory of a service is made anew at each start, and so is its inode number."""
    base = host.sys / "fs/cgroup"
    found: dict[str, str] = {}
    for root in (base / "systemd", base / "unified", base):
        for path in children(root / "system.slice"):
            name = path.rpartition("/")[2]
            if name.endswith(".service"):
                try:
                    found[name] = f"inode:{os.stat(path).st_ino}"  # noqa: PTH116
                except OSError:
                    continue
        if found:
            break
    return found
