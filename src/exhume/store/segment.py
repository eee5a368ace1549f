"""Read a segment: file by file, each checked against meta.json the first time it is needed."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from exhume.model.arrays import I64
from exhume.model.clock import ClockMap
from exhume.model.event import Event
from exhume.model.sample import Stretch, Threads
from exhume.model.segment import Origin
from exhume.model.series import Block
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.model.window import Window
from exhume.store import layout, meta, tables
from exhume.store.cache import Cache
from exhume.store.checked import CheckedFiles, within
from exhume.store.column_types import ColumnType
from exhume.store.files import DamagedFileError
from exhume.store.memory import (
    as_samples,
    frame_minutes_of,
    process_seconds_of,
    sampled_seconds_of,
)
from exhume.store.rollups import CoreSeconds, FrameMinutes, ProcessSeconds
from exhume.store.sample_reader import sample_columns
from exhume.store.sampled_cores import has_core_times
from exhume.store.summing import CoreRollUp
from exhume.store.trunk import Trunk, trunk_of
from exhume.store.view import SampleColumns, ThreadIndex, TreeIndex, wall_window

_KINDS = tuple(FrameKind)


class Segment:
    """Lazy: meta.json at once, each file when a question needs it. Decoded columns are cached."""

    state = "segment"

    def __init__(self, path: Path, cache: Cache | None = None) -> None:
        """Raises DamagedFileError or NewerFormatError when meta.json can't be used."""
        self.path = path
        self.meta = meta.read(path)
        self.window: Window = wall_window(self.meta.clock, self.meta.start_ns, self.meta.end_ns)
        self._cache = Cache() if cache is None else cache
        self._files = CheckedFiles(path, self.meta, self._cache)

    def is_current(self) -> bool:
        """Is it still this one that lies there?"""
        try:
            return self._files.key == f"{self.path}:{self.path.stat().st_ino}"
        except FileNotFoundError:
            return False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def key(self) -> str:
        """Another one for whatever else may lie here later."""
        return self._files.key

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

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong with which file, as far as anyone looked."""
        return self._files.problems

    def verify(self) -> dict[str, str]:
        """Read every file once; what is damaged ends up in `problems`."""
        return self._files.verify()

    def samples(self, cores: Collection[int] = ()) -> SampleColumns:
        return sample_columns(self._files, cores)

    def tree(self) -> TreeIndex:
        return self._cache.get((self._files.key, "tree"), self._tree, lambda tree: tree.nbytes)

    def trunk(self) -> Trunk:
        return self._cache.get((self._files.key, "trunk"), self._trunk, lambda one: one.nbytes)

    def stack_counts(self) -> I64:
        counts: I64 = self._files.table(layout.STACKS, tables.STACKS[3:])["samples"].astype(
            np.int64
        )
        return counts

    def threads(self) -> ThreadIndex:
        return self._cache.get(
            (self._files.key, "threads"), self._threads, lambda index: index.nbytes
        )

    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(block.field for block in self.meta.blocks))

    def blocks(self, field: str) -> tuple[Block, ...]:
        if field not in self.fields():
            return ()
        return self._cache.get(
            (self._files.key, "blocks", field),
            lambda: self._blocks(field),
            lambda blocks: sum(block.values.nbytes for block in blocks),
        )

    def events(self) -> tuple[Event, ...]:
        return self._cache.get(
            (self._files.key, "events"), self._events, lambda found: 300 * len(found)
        )

    def core_seconds(self) -> CoreSeconds | None:
        return self._cache.get((self._files.key, "cores"), self._core_seconds, _core_seconds_size)

    def sampled_seconds(self) -> CoreSeconds | None:
        key = self._files.key, "sampled cores"
        return self._cache.get(key, self._sampled_seconds, _core_seconds_size)

    def process_seconds(self) -> ProcessSeconds:
        return self._cache.get(
            (self._files.key, "processes"),
            self._process_seconds,
            lambda rows: 18 * len(rows.second),
        )

    def frame_minutes(self) -> FrameMinutes:
        return self._cache.get(
            (self._files.key, "frames_minute"),
            self._frame_minutes,
            lambda rows: 20 * len(rows.minute),
        )

    def _tree(self) -> TreeIndex:
        table, names = self._stacks(tables.STACKS[:3])
        known = map(_KINDS.__getitem__, names["kind"].tolist())
        frames = tuple(map(Frame, names["name"], names["module"], known))
        return TreeIndex(StackTree(table["parent"], table["frame"], table["mode"], frames))

    def _trunk(self) -> Trunk:
        table, names = self._stacks((*tables.STACKS[:2], tables.STACKS[3]))
        frames = list(zip(names["name"], names["module"], names["kind"].tolist(), strict=True))
        counts = table["samples"].astype(np.int64)
        return trunk_of(table["parent"], table["frame"], counts, frames)

    def _stacks(self, columns: tuple[ColumnType, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
        """These columns of the tree, and the names of its frames; whole, or damaged."""
        table = self._files.table(layout.STACKS, columns)
        names = self._files.table(layout.FRAMES, tables.FRAMES)
        parent, frame = table["parent"], table["frame"]
        kinds = names["kind"]
        self._files.need(
            layout.FRAMES, within(kinds, len(_KINDS)), "kinds of frames that are known"
        )
        self._files.need(layout.FRAMES, len(kinds) > 0, "at least the empty frame")
        rising = len(parent) > 0 and parent[0] == -1 and bool((parent[1:] >= 0).all())
        ordered = rising and bool((parent < np.arange(len(parent))).all())
        self._files.need(layout.STACKS, ordered, "every stack after the one it extends")
        self._files.need(layout.STACKS, within(frame, len(kinds)), f"frames below {len(kinds)}")
        return table, names

    def _threads(self) -> ThreadIndex:
        table = self._files.table(layout.THREADS, tables.THREADS)
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
            table = self._files.table(layout.COUNTERS, tables.COUNTERS[1:], [row_group])
            expected = facts.instances * facts.ticks
            self._files.need(
                layout.COUNTERS, len(table["value"]) == expected, f"{expected} readings"
            )
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
        table = self._files.table(layout.EVENTS, tables.EVENTS)
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
            raise self._files.damaged(layout.EVENTS, "fields as JSON") from error

    def _core_seconds(self) -> CoreSeconds | None:
        if layout.CORES not in self.meta.files or not has_core_times(self.fields()):
            return None
        try:
            return self._core_seconds_file()
        except DamagedFileError:
            return self._core_seconds_anew()

    def _sampled_seconds(self) -> CoreSeconds | None:
        if has_core_times(self.fields()):
            return None
        try:
            if layout.CORES in self.meta.files:
                return self._core_seconds_file()
        except DamagedFileError:
            pass
        return sampled_seconds_of(self)

    def _core_seconds_file(self) -> CoreSeconds:
        table = self._files.table(layout.CORES, tables.CORES)
        start_ms, expected = table["start_ms"], self.meta.files[layout.CORES].rows
        cores = int((start_ms == start_ms[:1]).sum())
        whole = cores > 0 and len(start_ms) == expected and expected % cores == 0
        self._files.need(layout.CORES, whole, f"{expected} rows, as many for each core")
        shape = -1, cores
        modes = np.stack([table[column.name].reshape(shape) for column in tables.CORES[3:-1]])
        return CoreSeconds(
            tuple(table["core"][:cores].tolist()),
            start_ms[::cores].astype(np.int64) * 1_000_000 + self.start_ns,
            table["end_ms"][::cores].astype(np.int64) * 1_000_000 + self.start_ns,
            modes.transpose(0, 2, 1),
            table["gap_ms"].reshape(shape).T,
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
            table = self._files.table(layout.PROCESSES, tables.PROCESSES)
            return ProcessSeconds(**table)
        except DamagedFileError:
            return process_seconds_of(self, as_samples(self.samples()))

    def _frame_minutes(self) -> FrameMinutes:
        try:
            table = self._files.table(layout.FRAMES_MINUTE, tables.FRAMES_MINUTE)
            return FrameMinutes(**table)
        except DamagedFileError:
            return frame_minutes_of(self, as_samples(self.samples()))


def _core_seconds_size(seconds: CoreSeconds | None) -> int:
    return 0 if seconds is None else seconds.permille.nbytes + seconds.gap_ms.nbytes
