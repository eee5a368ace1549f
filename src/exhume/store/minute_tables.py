"""What a minute of a segment comes down to: its cores, its largest processes, its series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from exhume.derive.cpu import BUSY_MODES
from exhume.model.arrays import I64, Bool
from exhume.model.fields import BY_ID
from exhume.model.modes import MAP_MODES
from exhume.model.series import MISSING, Block
from exhume.store.column_types import Array, Column, ColumnType
from exhume.store.files import DamagedFileError
from exhume.store.rollups import MINUTE_NS, SECOND_NS
from exhume.store.view import SegmentView

Values: TypeAlias = Array | Sequence[str]

TOP_PROCESSES = 20
MAX_INSTANCES = 200
"""Of a field that is read of many things (not cores), the first so many are kept."""


class Table(Struct, frozen=True):
    name: str
    columns: tuple[ColumnType, ...]


_WHERE = (
    ColumnType("minute", "int32", "dictionary"),
    ColumnType("node", "string", "dictionary"),
    ColumnType("boot", "string", "dictionary"),
    ColumnType("source", "string", "dictionary"),
)
"""Which minute of wall time since 1970, of which machine and boot, made of which segment."""
CORES = Table(
    "cores",
    (
        *_WHERE,
        ColumnType("core", "uint16", "dictionary"),
        ColumnType("known_ms", "int32", "dictionary"),
        ColumnType("worst", "int16", "dictionary"),
        ColumnType("worst_mode", "int16", "dictionary"),
        *(ColumnType(f"worst_{mode}", "int16", "dictionary") for mode in MAP_MODES),
        *(ColumnType(f"mean_{mode}", "int16", "dictionary") for mode in MAP_MODES),
    ),
)
PROCESSES = Table(
    "processes",
    (
        *_WHERE,
        ColumnType("pid", "int32", "plain"),
        ColumnType("comm", "string", "dictionary"),
        ColumnType("cgroup", "string", "dictionary"),
        ColumnType("core_ms", "int64", "plain"),
    ),
)
SERIES = Table(
    "series",
    (
        *_WHERE,
        ColumnType("field", "string", "dictionary"),
        ColumnType("instance", "string", "dictionary"),
        *(
            ColumnType(name, "int64", "plain")
            for name in ("first", "last", "least", "most", "rise")
        ),
    ),
)
TABLES = {table.name: table for table in (CORES, PROCESSES, SERIES)}


def tables_of(view: SegmentView) -> dict[str, dict[str, Column]]:
    """All tables, those without rows too: a file that is missing is then always a loss."""
    found: dict[str, dict[str, Column]] = {}
    for table, rows in ((CORES, _cores), (PROCESSES, _processes), (SERIES, _series)):
        columns: dict[str, list[Values]] = {column.name: [] for column in table.columns}
        with suppress(DamagedFileError):
            for part in rows(view):
                for column in table.columns[len(_WHERE) :]:
                    columns[column.name].append(part[column.name])
                count = len(part["minute"])
                columns["minute"].append(part["minute"])
                columns["node"].append([view.origin.node] * count)
                columns["boot"].append([view.origin.boot_id] * count)
                columns["source"].append([view.name] * count)
        found[table.name] = {c.name: _joined(c, columns[c.name]) for c in table.columns}
    return found


def _joined(column: ColumnType, parts: list[Values]) -> Column:
    if column.type == "string":
        return [text for part in parts for text in part]
    return np.concatenate([np.empty(0, column.type), *(np.asarray(part) for part in parts)])


def _cores(view: SegmentView) -> Iterator[dict[str, Values]]:
    seconds = view.core_seconds()
    if seconds is None or not len(seconds.end_ns):
        return
    middle = (seconds.start_ns + seconds.end_ns) // 2
    length_ms = (seconds.end_ns - seconds.start_ns) / 1e6
    busy = seconds.permille[: len(BUSY_MODES)].sum(axis=0)
    top = seconds.permille[: len(BUSY_MODES)].argmax(axis=0)
    for minute, here in _minutes(view, middle):
        permille = seconds.permille[:, :, here]
        known = permille[0] >= 0
        weight = known * length_ms[here]
        known_ms = weight.sum(axis=1)
        keep = known_ms > 0
        worst = np.where(known, busy[:, here], -1)
        at = worst.argmax(axis=1)
        rows = np.arange(len(at))
        mean = (np.maximum(permille, 0) * weight).sum(axis=2) / np.maximum(known_ms, 1)
        cores = np.array(seconds.cores, np.uint16)
        columns: dict[str, Values] = {
            "minute": np.full(int(keep.sum()), minute, np.int32),
            "core": cores[keep],
            "known_ms": np.rint(known_ms[keep]).astype(np.int32),
            "worst": np.minimum(worst[rows, at], 1000)[keep],
            "worst_mode": np.where(worst[rows, at] > 0, top[:, here][rows, at], -1)[keep],
        }
        for index, mode in enumerate(MAP_MODES):
            columns[f"worst_{mode}"] = permille[index].max(axis=1)[keep]
            columns[f"mean_{mode}"] = np.rint(mean[index][keep]).astype(np.int16)
        yield columns


def _processes(view: SegmentView) -> Iterator[dict[str, Values]]:
    rows, index = view.process_seconds(), view.threads()
    threads, first = index.threads, index.processes.first_thread
    middle = view.start_ns + rows.second.astype(np.int64) * SECOND_NS + SECOND_NS // 2
    for minute, here in _minutes(view, middle):
        took = np.bincount(rows.process[here], rows.weight_us[here], len(first))
        some = np.flatnonzero(took)
        best = some[np.argsort(-took[some], kind="stable")[:TOP_PROCESSES]]
        row = first[best]
        yield {
            "minute": np.full(len(best), minute, np.int32),
            "pid": threads.pid[row],
            "comm": [threads.comm[r] for r in row],
            "cgroup": [threads.cgroup[r] for r in row],
            "core_ms": np.rint(took[best] / 1000).astype(np.int64),
        }


def _series(view: SegmentView) -> Iterator[dict[str, Values]]:
    for field in view.fields():
        for block in view.blocks(field):
            for instances, ticks, values in _node_level(field, block):
                if len(ticks):
                    yield _summary(view, field, instances, ticks, values)


def _node_level(field: str, block: Block) -> Iterator[tuple[Sequence[str], I64, I64]]:
    """Per-core fields as their sum over the cores; others as they are. Nothing is missing there.

    Instances that were read at the same ticks, which mostly are all, come together.
    """
    known = block.values != MISSING
    if field in BY_ID and BY_ID[field].instance == "core":
        some = known.any(axis=1)
        total = np.where(known, block.values, 0).sum(axis=1)[some]
        yield ("",), block.tick_ns[some], total[:, np.newaxis]
        return
    instances = block.instances[:MAX_INSTANCES]
    if known.all():
        yield instances, block.tick_ns, block.values[:, : len(instances)]
        return
    for column, instance in enumerate(instances):
        some = known[:, column]
        yield (instance,), block.tick_ns[some], block.values[some, column : column + 1]


def _summary(
    view: SegmentView, field: str, instances: Sequence[str], ticks: I64, values: I64
) -> dict[str, Values]:
    # A rise counts in the minute of its later reading, falls (a restart) not at all.
    rises = np.maximum(np.diff(values, axis=0, prepend=values[:1]), 0)
    minute = view.clock.to_wall(ticks) // MINUTE_NS
    if (np.diff(minute) < 0).any():  # the clock was set back
        order = np.argsort(minute, kind="stable")
        minute, values, rises = minute[order], values[order], rises[order]
    first = np.flatnonzero(np.diff(minute, prepend=minute[0] - 1))
    last = np.append(first[1:], len(minute)) - 1
    return {
        "minute": np.tile(minute[first].astype(np.int32), len(instances)),
        "field": [field] * (len(first) * len(instances)),
        "instance": [instance for instance in instances for _ in first],
        "first": values[first].T.ravel(),
        "last": values[last].T.ravel(),
        "least": np.minimum.reduceat(values, first).T.ravel(),
        "most": np.maximum.reduceat(values, first).T.ravel(),
        "rise": np.add.reduceat(rises, first).T.ravel(),
    }


def _minutes(view: SegmentView, monotonic_ns: I64) -> Iterator[tuple[int, Bool]]:
    """Each whole minute of wall time (since 1970), and which instants lie in it."""
    minute = view.clock.to_wall(monotonic_ns) // MINUTE_NS
    for value in np.unique(minute):
        yield int(value), minute == value
