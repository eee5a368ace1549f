"""Read a segment: file by file, each checked against meta.json the first time it is needed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exhume.model.arrays import I32
from exhume.model.clock import ClockMap
from exhume.model.event import Event
from exhume.model.sample import Stretch, Threads
from exhume.model.segment import Origin
from exhume.model.series import Block
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.model.window import Window
from exhume.store import layout, meta, tables
from exhume.store.cache import Cache
from exhume.store.files import DamagedFileError, read_checked
from exhume.store.memory import as_samples, frame_minutes_of, process_seconds_of
from exhume.store.parquet import ColumnType, read_table
from exhume.store.rollups import CoreSeconds, FrameMinutes, ProcessSeconds, nodes_by_rank
from exhume.store.summing import CoreRollUp
from exhume.store.view import SampleColumns, ThreadIndex, TreeIndex, wall_window

_KINDS = tuple(FrameKind)
_UNDECODABLE = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError)


class Segment:
    """Lazy: meta.json at once, each file when a question needs it. Decoded columns are cached."""

    state = "segment"

    def __init__(self, path: Path, cache: Cache | None = None) -> None:
        """Raises DamagedFileError or NewerFormatError when meta.json can't be used."""
        self.path = path
        self.meta = meta.read(path)
        self.window: Window = wall_window(self.meta.clock, self.meta.start_ns, self.meta.end_ns)
        self.problems: dict[str, str] = {}
        """What is wrong with which file, as far as anyone looked."""
        self._cache = cache or Cache()

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def origin(self) -> Origin:
        return self.meta.origin

    @property
    def clock(self) -> ClockMap:
        return self.meta.clock

    @property
    def start_ns(self) -> int:
        return self.meta.start_ns

    @property
    def end_ns(self) -> int:
        return self.meta.end_ns

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        return self.meta.stretches

    @property
    def sample_count(self) -> int:
        return self.meta.samples

    @property
    def size_bytes(self) -> int:
        return self.meta.size_bytes

    def verify(self) -> dict[str, str]:
        """Read every file once; what is damaged ends up in `problems`."""
        for name in self.meta.files:
            try:
                self._bytes(name)
            except DamagedFileError as error:
                self.problems.setdefault(name, error.what)
        return self.problems

    def samples(self) -> SampleColumns:
        bounds = np.cumsum([0, *(count for _, count in self.meta.core_samples)]).astype(np.int64)
        cores = tuple(core for core, _ in self.meta.core_samples)
        return SampleColumns(
            cores, bounds, self.start_ns, layout.TICK_NS, self._column, self._nodes
        )

    def tree(self) -> TreeIndex:
        return self._cache.get((self.path, "tree"), self._tree, lambda tree: tree.nbytes)

    def threads(self) -> ThreadIndex:
        return self._cache.get((self.path, "threads"), self._threads, lambda index: index.nbytes)

    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(block.field for block in self.meta.blocks))

    def blocks(self, field: str) -> tuple[Block, ...]:
        if field not in self.fields():
            return ()
        return self._cache.get(
            (self.path, "blocks", field),
            lambda: self._blocks(field),
            lambda blocks: sum(block.values.nbytes for block in blocks),
        )

    def events(self) -> tuple[Event, ...]:
        return self._cache.get((self.path, "events"), self._events, lambda found: 300 * len(found))

    def core_seconds(self) -> CoreSeconds | None:
        return self._cache.get((self.path, "cores"), self._core_seconds, _core_seconds_size)

    def process_seconds(self) -> ProcessSeconds:
        return self._cache.get(
            (self.path, "processes"), self._process_seconds, lambda rows: 18 * len(rows.second)
        )

    def frame_minutes(self) -> FrameMinutes:
        return self._cache.get(
            (self.path, "frames_minute"), self._frame_minutes, lambda rows: 20 * len(rows.minute)
        )

    def _column(self, name: str) -> I32:
        """A column of samples.parquet; each is cached by itself, a question seldom needs all."""
        return self._cache.get(
            (self.path, "samples", name),
            lambda: self._read_column(name),
            lambda found: found.nbytes,
        )

    def _read_column(self, name: str) -> I32:
        (column,) = (column for column in tables.SAMPLES if column.name == name)
        values: I32 = self._table(layout.SAMPLES, (column,))[name]
        self._need(layout.SAMPLES, len(values) == self.meta.samples, f"{self.meta.samples} samples")
        if name != "time":
            other = layout.THREADS if name == "thread" else layout.STACKS
            limit = self.meta.files[other].rows
            self._need(layout.SAMPLES, _within(values, limit), f"rows of {other}")
        return values

    def _nodes(self) -> I32:
        return self._cache.get(
            (self.path, "nodes"),
            lambda: nodes_by_rank(self._table(layout.STACKS, tables.STACKS[3:])["samples"]),
            lambda found: found.nbytes,
        )

    def _tree(self) -> TreeIndex:
        table = self._table(layout.STACKS, tables.STACKS[:3])
        names = self._table(layout.FRAMES, tables.FRAMES)
        parent, frame = table["parent"], table["frame"]
        kinds = names["kind"]
        self._need(layout.FRAMES, _within(kinds, len(_KINDS)), "kinds of frames that are known")
        self._need(layout.FRAMES, len(kinds) > 0, "at least the empty frame")
        rising = len(parent) > 0 and parent[0] == -1 and bool((parent[1:] >= 0).all())
        ordered = rising and bool((parent < np.arange(len(parent))).all())
        self._need(layout.STACKS, ordered, "every stack after the one it extends")
        self._need(layout.STACKS, _within(frame, len(kinds)), f"frames below {len(kinds)}")
        known = map(_KINDS.__getitem__, kinds.tolist())
        frames = tuple(map(Frame, names["name"], names["module"], known))
        return TreeIndex(StackTree(parent, frame, table["mode"], frames))

    def _threads(self) -> ThreadIndex:
        table = self._table(layout.THREADS, tables.THREADS)
        comm, cgroup = tuple(table["comm"]), tuple(table["cgroup"])
        return ThreadIndex(Threads(table["pid"], table["tid"], table["parent_pid"], comm, cgroup))

    def _blocks(self, field: str) -> tuple[Block, ...]:
        found = []
        for row_group, facts in enumerate(self.meta.blocks):
            if facts.field != field:
                continue
            shape = facts.instances, facts.ticks
            if 0 in shape:
                empty = np.empty((facts.ticks, facts.instances), np.int64)
                found.append(Block(field, (), np.empty(0, np.int64), empty[:0]))
                continue
            table = self._table(layout.COUNTERS, tables.COUNTERS[1:], row_group)
            expected = facts.instances * facts.ticks
            self._need(layout.COUNTERS, len(table["value"]) == expected, f"{expected} readings")
            found.append(
                Block(
                    field,
                    tuple(table["instance"][:: facts.ticks]),
                    table["time"][: facts.ticks] + self.start_ns,
                    table["value"].reshape(shape).T,
                )
            )
        return tuple(found)

    def _events(self) -> tuple[Event, ...]:
        table = self._table(layout.EVENTS, tables.EVENTS)
        absent = np.iinfo(np.int64).min
        rows = zip(*(table[column.name] for column in tables.EVENTS), strict=True)
        try:
            return tuple(
                Event(
                    int(time) + self.start_ns,
                    kind,
                    subject,
                    text,
                    None if core == absent else int(core),
                    None if pid == absent else int(pid),
                    int(count),
                    json.loads(fields) if fields else {},
                )
                for time, kind, subject, text, core, pid, count, fields in rows
            )
        except ValueError as error:
            raise self._damaged(layout.EVENTS, "fields as JSON") from error

    def _core_seconds(self) -> CoreSeconds | None:
        if layout.CORES not in self.meta.files:
            return None
        try:
            return self._core_seconds_file()
        except DamagedFileError:
            return self._core_seconds_anew()

    def _core_seconds_file(self) -> CoreSeconds:
        table = self._table(layout.CORES, tables.CORES)
        intervals = int((table["core"] == table["core"][:1]).sum())
        expected = self.meta.files[layout.CORES].rows
        whole = intervals > 0 and len(table["core"]) == expected and expected % intervals == 0
        self._need(layout.CORES, whole, f"{expected} rows, as many for each core")
        shape = -1, intervals
        modes = [table[column.name].reshape(shape) for column in tables.CORES[3:-1]]
        return CoreSeconds(
            tuple(int(core) for core in table["core"][::intervals]),
            table["start_ms"][:intervals].astype(np.int64) * 1_000_000 + self.start_ns,
            table["end_ms"][:intervals].astype(np.int64) * 1_000_000 + self.start_ns,
            np.stack(modes),
            table["gap_ms"].reshape(shape),
        )

    def _core_seconds_anew(self) -> CoreSeconds | None:
        """The roll-up is lost, what it was made of may not be."""
        cpu = [field for field in self.fields() if field.startswith("cpu.")]
        roll_up = CoreRollUp([b for field in cpu for b in self.blocks(field)], self.origin.user_hz)
        with suppress(DamagedFileError):  # gaps then read as 0: nothing is claimed of them
            roll_up.add(as_samples(self.samples()))
        return roll_up.result()

    def _process_seconds(self) -> ProcessSeconds:
        try:
            table = self._table(layout.PROCESSES, tables.PROCESSES)
            return ProcessSeconds(**table)
        except DamagedFileError:
            return process_seconds_of(self, as_samples(self.samples()))

    def _frame_minutes(self) -> FrameMinutes:
        try:
            table = self._table(layout.FRAMES_MINUTE, tables.FRAMES_MINUTE)
            return FrameMinutes(**table)
        except DamagedFileError:
            return frame_minutes_of(self, as_samples(self.samples()))

    def _table(
        self, name: str, columns: tuple[ColumnType, ...], row_group: int | None = None
    ) -> dict[str, Any]:
        data = self._bytes(name)
        try:
            return read_table(data, columns, row_group)
        except _UNDECODABLE as error:
            raise self._damaged(name, f"a table of {layout.META}'s kind ({error})") from error

    def _bytes(self, name: str) -> bytes:
        facts = self.meta.files.get(name)
        if facts is None:
            raise self._damaged(name, f"to be named in {layout.META}")
        try:
            return read_checked(self.path / name, facts.bytes, facts.crc32)
        except DamagedFileError as error:
            self.problems.setdefault(name, error.what)
            raise

    def _need(self, name: str, true: bool, expected: str) -> None:
        if not true:
            raise self._damaged(name, expected)

    def _damaged(self, name: str, expected: str) -> DamagedFileError:
        error = DamagedFileError(str(self.path / name), "whole file", expected)
        self.problems.setdefault(name, error.what)
        return error


def _within(values: Any, limit: int) -> bool:
    # Read as unsigned, what is negative is too large.
    unsigned = values.view(values.dtype.str.replace("i", "u"))
    return not len(values) or int(unsigned.max()) < limit


def _core_seconds_size(seconds: CoreSeconds | None) -> int:
    return 0 if seconds is None else seconds.permille.nbytes + seconds.gap_ms.nbytes
