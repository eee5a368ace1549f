"""Who started and ended, what it took of the cores, and between which boots."""

from __future__ import annotations

import numpy as np

from exhume.model.lifecycles import Boot, ProcessEvents, ProcessTime
from exhume.model.window import Window
from exhume.sources.cgroup_names import parse
from exhume.store.event_rows import EventRows, decoded
from exhume.store.queries.events import rows_within
from exhume.store.recording import Recording
from exhume.store.rollups import MINUTE_NS, SECOND_NS
from exhume.store.view import SegmentView, units_of_time


def process_events(recording: Recording, window: Window) -> ProcessEvents:
    """Every exec and exit of the window."""
    number: dict[str, int] = {}
    rows: list[tuple[int, bool, int, int, int, int, int, float]] = []
    for part, wall in rows_within(recording, window, ("exec", "exit")):
        for row, at in enumerate(wall.tolist()):
            if window.contains(at):
                rows.append((at, *_row(part, row, number)))
    rows.sort()
    columns = list(zip(*rows, strict=True)) or [()] * 8
    return ProcessEvents(
        tuple(number),
        np.array(columns[0], np.int64),
        np.array(columns[1], np.bool_),
        np.array(columns[2], np.int32),
        np.array(columns[3], np.int32),
        np.array(columns[4], np.int64),
        np.array(columns[5], np.int64),
        np.array(columns[6], np.int64),
        np.array(columns[7], np.float64),
    )


def _row(
    part: EventRows, row: int, number: dict[str, int]
) -> tuple[bool, int, int, int, int, int, float]:
    fields = decoded(part.fields[row])
    parent, parent_pid = fields.get("parent"), fields.get("parent_pid", -1)
    lifetime = fields.get("lifetime_seconds")
    pid = part.pid[row]
    return (
        part.kind[row] == "exec",
        number.setdefault(part.subject[row], len(number)),
        -1 if parent is None else number.setdefault(str(parent), len(number)),
        parent_pid if isinstance(parent_pid, int) else -1,
        -1 if pid is None else pid,
        part.count[row],
        float(lifetime) if isinstance(lifetime, int | float) else np.nan,
    )


def process_times(recording: Recording, window: Window) -> tuple[ProcessTime, ...]:
    """Core time by process, where samples measure time. Seconds that lie partly in the window count
    whole."""
    took: dict[tuple[str, int, int, str], int] = {}
    for view in recording.views(window):
        with recording.sparing(view):
            for key, core_ns in _times(view, window):
                took[key] = took.get(key, 0) + core_ns
    found = []
    for (comm, pid, parent_pid, cgroup), core_ns in took.items():
        name = parse(cgroup)
        found.append(
            ProcessTime(comm, pid, parent_pid, cgroup, name.unit, name.container_id, core_ns)
        )
    return tuple(found)


def _times(view: SegmentView, window: Window) -> list[tuple[tuple[str, int, int, str], int]]:
    rows, index = view.process_seconds(), view.threads()
    count = int(rows.second.max()) + 1 if len(rows.second) else 0
    wall = view.clock.to_wall(view.start_ns + np.arange(count, dtype=np.int64) * SECOND_NS)
    inside = (wall + SECOND_NS > window.start_ns) & (wall < window.end_ns)
    inside &= units_of_time(view, SECOND_NS, count)
    keep = inside[rows.second]
    threads, first = index.threads, index.processes.first_thread
    took = np.bincount(rows.process[keep], rows.weight_us[keep], len(first))
    return [
        (
            (threads.comm[row], int(threads.pid[row]), int(threads.parent_pid[row]),
             threads.cgroup[row]),
            round(took[process] * 1000),
        )
        for process in np.flatnonzero(took).tolist()
        if (row := int(first[process])) >= 0
    ]  # fmt: skip


def boots(recording: Recording, window: Window) -> tuple[Boot, ...]:
    """Each boot with the time it was recorded in, within the window; oldest first."""
    spans: dict[tuple[str, str], Boot] = {}

    def add(node: str, boot_id: str, kernel: str, part: Window) -> None:
        known = spans.get((node, boot_id))
        if known is not None:
            part = Window(
                min(known.window.start_ns, part.start_ns), max(known.window.end_ns, part.end_ns)
            )
            kernel = kernel or known.kernel
        spans[node, boot_id] = Boot(node, boot_id, kernel, part)

    read = set()
    for view in recording.views(window):
        add(view.origin.node, view.origin.boot_id, view.origin.kernel, view.window)
        read.add(view.name)
    # The smallest table of roll-ups that has a row for each minute.
    rows = recording.minutes("processes", window, read)
    nodes, ids = rows["node"].astype(str), rows["boot"].astype(str)
    for boot_id in np.unique(ids).tolist():
        here = np.flatnonzero(ids == boot_id)
        minute = rows["minute"][here].astype(np.int64) * MINUTE_NS
        part = Window(int(minute.min()), int(minute.max()) + MINUTE_NS)
        add(str(nodes[here[0]]), boot_id, "", part)
    return tuple(sorted(spans.values(), key=lambda boot: boot.window))
