"""Births and deaths of processes as events, so that a crash loop shows whatever supervises it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.perf.asof import UNKNOWN
from exhume.perf.history import History
from exhume.perf.naming import unique_rows
from exhume.perf.records import Comms, Forks

STORM_A_SECOND = 50
"""From so many events of one kind in a second on, like ones are folded into one with a count."""
SECOND_NS = 1_000_000_000


def exec_events(history: History, comms: Comms, cgroup_paths: Sequence[str] = ()) -> list[Event]:
    """`cgroup_paths` are what the history's numbers of cgroups stand for."""
    rows = comms.is_exec
    pid, time = comms.pid[rows], comms.time[rows]
    name = history.name(comms.tid[rows], time)
    return _events(history, "exec", pid.astype(np.int64), time, name, None, cgroup_paths)


def exit_events(history: History, exits: Forks, cgroup_paths: Sequence[str] = ()) -> list[Event]:
    rows = exits.pid == exits.tid
    pid, time = exits.pid[rows], exits.time[rows]
    began = history.since(pid, time)
    lifetime = np.where(began == UNKNOWN, UNKNOWN, time - began)
    name = history.name(exits.tid[rows], time)
    return _events(history, "exit", pid.astype(np.int64), time, name, lifetime, cgroup_paths)


def _events(
    history: History, kind: str, pid: I64, time: I64, name: I64, lifetime: I64 | None,
    cgroup_paths: Sequence[str],
) -> list[Event]:  # fmt: skip
    if not len(pid):
        return []
    parent = history.parent_pid(pid.astype(np.int32), time)
    parent_name = history.name(parent.astype(np.int32), time)
    cgroup = history.cgroup(pid.astype(np.int32), time)
    second = time // SECOND_NS
    _, which, per_second = np.unique(second, return_inverse=True, return_counts=True)
    is_storm = per_second[which] >= STORM_A_SECOND
    events = []
    for i in np.flatnonzero(~is_storm).tolist():
        fields = _fields(history, int(parent[i]), int(parent_name[i]))
        if 0 <= cgroup[i] < len(cgroup_paths):
            fields["cgroup"] = cgroup_paths[cgroup[i]]
        if lifetime is not None and lifetime[i] != UNKNOWN:
            fields["lifetime_seconds"] = round(int(lifetime[i]) / 1e9, 4)
        events.append(
            Event(
                int(time[i]),
                kind,
                _name(history, int(name[i]), int(pid[i])),
                pid=int(pid[i]),
                fields=fields,
            )
        )
    some = np.flatnonzero(is_storm)
    if len(some):
        first, group = unique_rows(second[some], name[some], parent[some], cgroup[some])
        counts = np.bincount(group)
        for index, row in enumerate(some[first].tolist()):
            fields = _fields(history, int(parent[row]), int(parent_name[row]))
            if 0 <= cgroup[row] < len(cgroup_paths):
                fields["cgroup"] = cgroup_paths[cgroup[row]]
            if lifetime is not None:
                lived = lifetime[some][group == index]
                lived = lived[lived != UNKNOWN]
                if len(lived):
                    fields["lifetime_seconds"] = round(float(np.median(lived)) / 1e9, 4)
            count = int(counts[index])
            pid_or_none = int(pid[row]) if count == 1 else None
            name_text = _name(history, int(name[row]), int(pid[row]))
            events.append(
                Event(int(time[row]), kind, name_text, pid=pid_or_none, count=count, fields=fields)
            )
    return events


def _name(history: History, number: int, pid: int) -> str:
    return history.names[number] if number >= 0 else f":{pid}"


def _fields(history: History, parent: int, parent_name: int) -> dict[str, str | int | float]:
    fields: dict[str, str | int | float] = {}
    if parent != UNKNOWN:
        fields["parent_pid"] = parent
    if parent_name >= 0:
        fields["parent"] = history.names[parent_name]
    return fields
