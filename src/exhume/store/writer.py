"""Close a segment: its files and roll-ups, written aside, synced, shown in one step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from exhume.errors import ExhumeError
from exhume.model.arrays import I64
from exhume.model.sample import Samples
from exhume.model.segment import SegmentData
from exhume.model.series import Block
from exhume.store import layout, meta, tables
from exhume.store.allocator import give_back
from exhume.store.column_types import Column, Texts
from exhume.store.event_columns import EventColumns
from exhume.store.files import remove_directory, sync_directory, sync_file
from exhume.store.rollups import (
    CoreSeconds,
    FrameMinutes,
    ProcessSeconds,
    RollUps,
    nodes_by_rank,
    processes_of,
)
from exhume.store.sampled_cores import SampledRollUp, has_core_times
from exhume.store.summing import CoreRollUp, FrameRollUp, ProcessRollUp
from exhume.store.table_writer import TableWriter, write_table

PIECE_ROWS = 1 << 15
"""Rows of one row group of samples: some 2 MiB while it is written and summed up."""

Pieces: TypeAlias = Callable[[], Iterable[Samples]]
Values: TypeAlias = dict[str, Column]


class Apart(Struct, frozen=True):
    """What of a segment is too much to lie in `SegmentData`, which is then not asked for it."""

    pieces: Pieces
    """Samples in (core, time) order."""
    counts: I64 | None = None
    """How many of them end at each node of the tree; otherwise `pieces` is called twice."""
    events: EventColumns | None = None
    """In any order."""
    gives_back: bool = False
    """Memory to the system, as soon as it is not needed: beside a recorder there is little."""


def write_segment(
    root: Path,
    data: SegmentData,
    pieces: Pieces | None = None,
    counts: I64 | None = None,
    beside: Collection[Path] = (),
) -> Path:
    """The directory of the segment. Samples too many for memory may come as pieces instead.

    Closing the same stretch again after a crash gives the segment that is already there, unless it
    is to stay `beside` the new one.
    """
    apart = None if pieces is None else Apart(pieces, counts)
    return write_summed_up(root, data, apart, beside)[0]


def write_summed_up(
    root: Path, data: SegmentData, apart: Apart | None = None, beside: Collection[Path] = ()
) -> tuple[Path, RollUps]:
    """As `write_segment`; also what was summed up on the way."""
    path = layout.segment_path(root, data, beside)
    parent = path.parent
    parent.mkdir(parents=True, exist_ok=True)
    temporary = parent / f"{layout.TEMPORARY}{path.name}-{os.getpid()}"
    for left_over in parent.glob(f"{layout.TEMPORARY}{path.name}-*"):  # of one that was killed
        shutil.rmtree(left_over, ignore_errors=True)
    temporary.mkdir()
    try:
        summed_up = _write_files(temporary, data, apart or Apart(lambda: _cut(data.samples)))
        _show(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return path, summed_up


def _show(temporary: Path, path: Path) -> None:
    sync_directory(temporary)
    if path.exists():
        # Closed before, and the head was not removed in time: the later close knows as much.
        remove_directory(path)
    temporary.rename(path)
    sync_directory(path.parent)


def _cut(samples: Samples) -> Iterator[Samples]:
    for begin in range(0, len(samples), PIECE_ROWS):
        part = slice(begin, begin + PIECE_ROWS)
        yield Samples(
            samples.time_ns[part],
            samples.core[part],
            samples.thread[part],
            samples.stack[part],
            samples.weight_ns[part],
        )


def _write_files(directory: Path, data: SegmentData, apart: Apart) -> RollUps:
    counts = apart.counts
    if counts is None:
        counts = _count(apart.pieces(), len(data.tree.parent))
    cores = _core_roll_up(data)
    seconds = ProcessRollUp(data.start_ns, data.stretches, data.tree, processes_of(data.threads))
    minutes = FrameRollUp(data.start_ns, data.end_ns, data.stretches, data.tree)
    rows: dict[str, int] = {}
    core_samples: list[tuple[int, int]] = []
    with TableWriter(directory / layout.SAMPLES, tables.SAMPLES) as writer:
        rank = np.empty(len(counts), np.int32)
        rank[nodes_by_rank(counts)] = np.arange(len(counts), dtype=np.int32)
        for piece in apart.pieces():
            writer.write(
                {
                    "core": piece.core,
                    "time": (piece.time_ns - data.start_ns) // layout.TICK_NS,
                    "thread": piece.thread,
                    "stack": rank.take(piece.stack),
                }
            )
            _count_cores(core_samples, piece)
            for roll_up in (cores, seconds, minutes):
                roll_up.add(piece)
        del rank
    rows[layout.SAMPLES] = int(counts.sum())
    rows[layout.FRAMES_MINUTE] = _frame_minutes(directory, minutes.result())
    del minutes
    if apart.gives_back:
        give_back()
    rows[layout.STACKS] = _stacks(directory, data, counts)
    rows[layout.FRAMES] = _frames(directory, data)
    rows[layout.THREADS] = _threads(directory, data)
    rows[layout.COUNTERS] = _counters(directory, data)
    rows[layout.EVENTS] = _events(directory, data, apart.events)
    of_cores = cores.result()
    if of_cores is not None:
        rows[layout.CORES] = _cores(directory, of_cores, data.start_ns)
    of_processes = seconds.result()
    rows[layout.PROCESSES] = _process_seconds(directory, of_processes)
    _meta(directory, data, core_samples, rows)
    if isinstance(cores, SampledRollUp):
        return RollUps(None, of_cores, of_processes)
    return RollUps(of_cores, None, of_processes)


def _core_roll_up(data: SegmentData) -> CoreRollUp | SampledRollUp:
    if has_core_times(block.field for block in data.blocks):
        return CoreRollUp(data.blocks, data.origin.user_hz)
    return SampledRollUp(data.start_ns, data.end_ns, data.stretches, data.tree)


def _count(pieces: Iterable[Samples], nodes: int) -> I64:
    counts = np.zeros(nodes, np.int64)
    for piece in pieces:
        counts += np.bincount(piece.stack, minlength=nodes)
    return counts


def _frame_minutes(directory: Path, minutes: FrameMinutes) -> int:
    values: Values = {c.name: getattr(minutes, c.name) for c in tables.FRAMES_MINUTE}
    write_table(directory / layout.FRAMES_MINUTE, tables.FRAMES_MINUTE, values)
    return len(minutes.minute)


def _process_seconds(directory: Path, seconds: ProcessSeconds) -> int:
    values: Values = {c.name: getattr(seconds, c.name) for c in tables.PROCESSES}
    write_table(directory / layout.PROCESSES, tables.PROCESSES, values)
    return len(seconds.second)


def _count_cores(core_samples: list[tuple[int, int]], piece: Samples) -> None:
    borders = [0, *(np.flatnonzero(np.diff(piece.core)) + 1), len(piece)]
    for begin, end in pairwise(borders):
        if begin == end:
            continue
        core = int(piece.core[begin])
        if core_samples and core_samples[-1][0] == core:
            core_samples[-1] = core, core_samples[-1][1] + int(end - begin)
        elif core_samples and core_samples[-1][0] > core:
            raise ExhumeError("samples of a segment must be ordered by core and time")
        else:
            core_samples.append((core, int(end - begin)))


def _stacks(directory: Path, data: SegmentData, counts: I64) -> int:
    tree = data.tree
    values: Values = {
        "parent": tree.parent,
        "frame": tree.frame,
        "mode": tree.mode,
        "samples": counts,
    }
    write_table(directory / layout.STACKS, tables.STACKS, values)
    return len(tree.parent)


def _frames(directory: Path, data: SegmentData) -> int:
    frames = data.tree.frames
    values: Values = {
        "name": [frame.name for frame in frames],
        "module": [frame.module for frame in frames],
        "kind": np.array([frame.kind for frame in frames], np.uint8),
    }
    write_table(directory / layout.FRAMES, tables.FRAMES, values)
    return len(frames)


def _threads(directory: Path, data: SegmentData) -> int:
    values = {column.name: getattr(data.threads, column.name) for column in tables.THREADS}
    write_table(directory / layout.THREADS, tables.THREADS, values)
    return len(data.threads)


def _counters(directory: Path, data: SegmentData) -> int:
    """One row group a block, so that one field can be read without the others."""
    with TableWriter(directory / layout.COUNTERS, tables.COUNTERS) as writer:
        for block in data.blocks:
            writer.write(_long(block, data.start_ns))
    return sum(block.values.size for block in data.blocks)


def _long(block: Block, start_ns: int) -> Values:
    ticks, instances = block.values.shape
    return {
        "field": Texts((block.field,), np.zeros(block.values.size, np.uint32)),
        "instance": Texts(block.instances, np.repeat(np.arange(instances, dtype=np.uint32), ticks)),
        "time": np.tile(block.tick_ns - start_ns, instances),
        "value": block.values.T.ravel(),
    }


def _events(directory: Path, data: SegmentData, events: EventColumns | None) -> int:
    found = events or EventColumns()
    found.extend(data.events)
    values = found.columns(data.start_ns, by_time=events is not None)
    write_table(directory / layout.EVENTS, tables.EVENTS, values)
    return len(found)


def _cores(directory: Path, seconds: CoreSeconds, start_ns: int) -> int:
    _, cores, intervals = seconds.permille.shape
    modes: Values = {
        column.name: seconds.permille[index].T.ravel()
        for index, column in enumerate(tables.CORES[3:-1])
    }
    values: Values = {
        "core": np.tile(np.array(seconds.cores, np.uint16), intervals),
        "start_ms": np.repeat((seconds.start_ns - start_ns) // 1_000_000, cores),
        "end_ms": np.repeat((seconds.end_ns - start_ns) // 1_000_000, cores),
        "gap_ms": seconds.gap_ms.T.ravel(),
    }
    write_table(directory / layout.CORES, tables.CORES, {**values, **modes})
    return int(cores * intervals)


def _meta(
    directory: Path, data: SegmentData, core_samples: list[tuple[int, int]], rows: dict[str, int]
) -> None:
    files = {}
    for name, count in rows.items():
        size, crc = sync_file(directory / name)
        files[name] = meta.FileFacts(size, crc, count)
    path = directory / layout.META
    facts = meta.Meta(
        origin=data.origin,
        start_ns=data.start_ns,
        end_ns=data.end_ns,
        clock=data.clock,
        stretches=data.stretches,
        core_samples=tuple(core_samples),
        blocks=tuple(
            meta.BlockFacts(b.field, len(b.instances), len(b.tick_ns)) for b in data.blocks
        ),
        files=files,
    )
    path.write_bytes(meta.encode(facts))
    sync_file(path)
