"""Births and deaths of processes as events, so that a crash loop shows whatever supervises it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.perf.asof import UNKNOWN
from exhume.perf.distinct import distinct_rows
from exhume.perf.history import History
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
    said = _Said(history, cgroup_paths)
    events = []
    some = np.flatnonzero(~is_storm)
    lived = np.full(len(some), UNKNOWN) if lifetime is None else lifetime[some]
    columns = (column[some].tolist() for column in (time, pid, name, parent, parent_name, cgroup))
    for at, who, *rest, lifetime_ns in zip(*columns, lived.tolist(), strict=True):
        named, *family = rest
        fields = said.fields(*family)
        if lifetime_ns != UNKNOWN:
            fields["lifetime_seconds"] = round(lifetime_ns / 1e9, 4)
        events.append(Event(at, kind, said.name(named, who), pid=who, fields=fields))
    some = np.flatnonzero(is_storm)
    if len(some):
        first, group = distinct_rows(second[some], name[some], parent[some], cgroup[some])
        counts = np.bincount(group).tolist()
        medians = [None] * len(first) if lifetime is None else _medians(group, lifetime[some])
        first = some[first]
        columns = (
            column[first].tolist() for column in (time, pid, name, parent, parent_name, cgroup)
        )
        for at, who, *rest, count, median in zip(*columns, counts, medians, strict=True):
            named, *family = rest
            fields = said.fields(*family)
            if median is not None:
                fields["lifetime_seconds"] = round(median / 1e9, 4)
            text = said.name(named, who)
            one = who if count == 1 else None
            events.append(Event(at, kind, text, pid=one, count=count, fields=fields))
    return events


def _medians(group: I64, lifetime: I64) -> list[float | None]:
    """Of each group the median of the lifetimes that are known; None where none is."""
    known = lifetime != UNKNOWN
    order = np.lexsort((lifetime[known], group[known]))
    groups, lived = group[known][order], lifetime[known][order]
    starts = np.searchsorted(groups, np.arange(int(group.max(initial=-1)) + 2))
    begin, count = starts[:-1], np.diff(starts)
    low, high = begin + np.maximum(count - 1, 0) // 2, begin + count // 2
    if not len(lived):
        return [None] * len(count)
    last = len(lived) - 1
    middle = (lived[np.minimum(low, last)] + lived[np.minimum(high, last)]) / 2
    return [value if some else None for value, some in zip(middle.tolist(), count, strict=True)]


class _Said(Struct, frozen=True):
    """What numbers stand for."""

    history: History
    cgroup_paths: Sequence[str]

    def name(self, number: int, pid: int) -> str:
        return self.history.names[number] if number >= 0 else f":{pid}"

    def fields(self, parent: int, parent_name: int, cgroup: int) -> dict[str, str | int | float]:
        fields: dict[str, str | int | float] = {}
        if parent != UNKNOWN:
            fields["parent_pid"] = parent
        if parent_name >= 0:
            fields["parent"] = self.history.names[parent_name]
        if 0 <= cgroup < len(self.cgroup_paths):
            fields["cgroup"] = self.cgroup_paths[cgroup]
        return fields
