"""Minute roll-ups, kept 90 days: what is left to ask when the segments are gone.

    minutes/2026-11-15/20261115T201000Z-1f0c2a3b-86400000.cores.9f86d081.parquet

Three tables a segment (cores, processes, series), each in a file of its own whose name ends with
its checksum. When a day is over its files become one file a table, named `day`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.model.segment import SegmentData
from exhume.model.window import Window
from exhume.store import layout
from exhume.store.column_types import Column
from exhume.store.files import DamagedFileError, checksum, sync_directory, sync_file
from exhume.store.memory import MemorySegment
from exhume.store.minute_tables import TABLES, Table, tables_of
from exhume.store.rollups import MINUTE_NS, RollUps
from exhume.store.table_writer import TableWriter
from exhume.store.view import SegmentView

_NAME = re.compile(r"(?P<source>[\w-]+)\.(?P<table>\w+)\.(?P<crc>[0-9a-f]{8})\.parquet")
Rows: TypeAlias = dict[str, NDArray[Any]]

DAY = "day"
DAY_NS = 86_400 * 1_000_000_000


class MinuteFile(Struct, frozen=True):
    path: Path
    source: str
    """The segment it was made of, or `day`."""
    table: str
    crc: int


def write_minutes(root: Path, data: SegmentData, summed_up: RollUps | None = None) -> list[Path]:
    """Of a segment just closed. Without its roll-ups at hand they are read back.

    Idempotent: a segment closed again after a crash replaces its files.
    """
    if summed_up is not None:
        return summarise(root, MemorySegment(data, summed_up=summed_up))
    # The closer writes but never reads, and has no memory to spare for what it takes to read.
    from exhume.store.segment import Segment

    return summarise(root, Segment(layout.segment_path(root, data)))


def summarise(root: Path, view: SegmentView) -> list[Path]:
    day = layout.day_of(view.window.start_ns)
    return [
        _write(root, day, view.name, TABLES[name], [columns])
        for name, columns in tables_of(view).items()
    ]


def read_minutes(
    root: Path, table: str, window: Window, besides: Collection[str] = ()
) -> tuple[Rows, list[str]]:
    """The rows of minutes in the window, not those of the segments named; what was damaged."""
    problems: list[str] = []
    parts: list[Rows] = []
    for file in minute_files(root, window):
        if file.table == table and file.source not in besides:
            try:
                parts.append(read_file(file))
            except DamagedFileError as error:
                problems.append(error.what)
    rows = _put_together(TABLES[table], parts)
    minute = rows["minute"].astype(np.int64) * MINUTE_NS
    inside = (minute + MINUTE_NS > window.start_ns) & (minute < window.end_ns)
    if besides:
        inside &= ~np.isin(rows["source"], list(besides))
    return {name: values[inside] for name, values in rows.items()}, problems


def _put_together(table: Table, parts: list[Rows]) -> Rows:
    """Each segment's rows once: a crash while a day was compacted leaves them in two files."""
    seen: set[str] = set()
    distinct = [_fresh(rows, seen) for rows in parts]
    empty = {c.name: np.empty(0, object if c.type == "string" else c.type) for c in table.columns}
    return {
        name: np.concatenate([none, *(rows[name] for rows in distinct)])
        for name, none in empty.items()
    }


def _fresh(rows: Rows, seen: set[str]) -> Rows:
    """The rows of segments that were not seen before, which they then were."""
    sources = set(np.unique(rows["source"]))
    fresh = np.isin(rows["source"], list(sources - seen))
    seen |= sources
    return {name: values[fresh] for name, values in rows.items()}


def minute_files(root: Path, window: Window | None = None) -> Iterator[MinuteFile]:
    """Oldest day first. A segment that crosses midnight lies on the day it began."""
    for day in layout.days(root):
        if window is not None:
            first = layout.day_of(window.start_ns - DAY_NS)
            if not first <= day <= layout.day_of(window.end_ns):
                continue
        directory = layout.minutes_path(root) / day
        for path in sorted(directory.iterdir()):
            match = _NAME.fullmatch(path.name)
            if match and match["table"] in TABLES:
                crc = int(match["crc"], 16)
                yield MinuteFile(path, match["source"], match["table"], crc)


def compact(root: Path, now_wall_ns: int) -> int:
    """Make one file a table of every day that is over; the number of files that went."""
    today = layout.day_of(now_wall_ns)
    yesterday = layout.day_of(now_wall_ns - DAY_NS)
    gone = 0
    for day in layout.days(root):
        # A segment that began before midnight may close after it: leave the day some time.
        if day >= (yesterday if now_wall_ns % DAY_NS < DAY_NS // 24 else today):
            continue
        files = [file for file in minute_files(root) if file.path.parent.name == day]
        for table in TABLES.values():
            gone += _compact(root, day, table, [f for f in files if f.table == table.name])
    return gone


def _compact(root: Path, day: str, table: Table, files: list[MinuteFile]) -> int:
    if len(files) < 2:
        return 0
    read: list[MinuteFile] = []

    def parts() -> Iterator[dict[str, Column]]:
        """One file after the other: a day of them is more than the closer may hold."""
        seen: set[str] = set()
        for file in files:
            try:
                rows = read_file(file)
            except DamagedFileError:
                continue  # stays as it is, and is reported when it is asked for
            read.append(file)
            fresh = _fresh(rows, seen)
            if len(fresh["minute"]):
                yield {c.name: _as_column(fresh[c.name], c.type) for c in table.columns}

    written = _write(root, day, DAY, table, parts(), keep=True)
    replaced = [file.path for file in read if file.path != written]
    for path in replaced:
        path.unlink(missing_ok=True)
    return len(replaced)


def _write(
    root: Path,
    day: str,
    source: str,
    table: Table,
    parts: Iterable[dict[str, Column]],
    *,
    keep: bool = False,
) -> Path:
    directory = layout.minutes_path(root) / day
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / f"{layout.TEMPORARY}{source}.{table.name}-{os.getpid()}"
    with TableWriter(temporary, table.columns) as writer:
        for part in parts:
            writer.write(part)
    _, crc = sync_file(temporary)
    path = directory / f"{source}.{table.name}.{crc:08x}.parquet"
    temporary.replace(path)
    sync_directory(directory)
    if not keep:
        for old in directory.glob(f"{source}.{table.name}.*.parquet"):
            if old != path:
                old.unlink(missing_ok=True)
    return path


def _as_column(values: NDArray[Any], kind: str) -> Column:
    return [str(text) for text in values] if kind == "string" else values


def read_file(file: MinuteFile) -> Rows:
    from exhume.store.checked import UNDECODABLE
    from exhume.store.parquet import read_table

    try:
        data = file.path.read_bytes()
        if checksum(data) != file.crc:
            raise DamagedFileError(str(file.path), "whole file", "the checksum of its name")
        columns = TABLES[file.table].columns
        table = read_table(data, columns)
    except UNDECODABLE as error:
        raise DamagedFileError(str(file.path), "whole file", f"a table ({error})") from error
    return {
        c.name: np.array(table[c.name], object) if c.type == "string" else table[c.name]
        for c in columns
    }
