"""Pieces on disk between the process that read them and the one that merges them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from msgspec import convert, to_builtins
from msgspec.structs import replace

from exhume.ingest.piece import (
    Claim,
    ClockKind,
    Facts,
    Hints,
    Interval,
    Piece,
    Sampled,
    Trust,
)
from exhume.ingest.row_table import RowBlock, RowFile, Rows, RowTable
from exhume.ingest.rows import ROWS_SUFFIX
from exhume.model.arrays import I32
from exhume.model.event import Event
from exhume.model.sample import Threads
from exhume.model.series import Block
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.store.column_types import NULL, Column, Texts
from exhume.store.columns import Array, Columns, pack, unpack
from exhume.store.event_columns import EventColumns

_SUFFIX = ".4.piece"
"""The number is of the format: what another version left behind is read anew."""


def save(folder: Path, number: int, piece: Piece) -> None:
    arrays: dict[str, Array] = {}
    values: dict[str, Any] = {
        "hints": to_builtins(piece.hints),
        "clock": piece.clock.value,
        "claim": to_builtins(piece.claim) if piece.claim else None,
        "facts": to_builtins(piece.facts),
        "blocks": [[block.field, block.instances] for block in piece.blocks],
        "is_filler": piece.is_filler,
        "guesses": [to_builtins(guess) for guess in piece.guesses],
        "told_ns": piece.told_ns,
        "edge": piece.edge,
    }
    if piece.events:
        events = EventColumns()
        events.extend(piece.events)
        for name, column in events.columns(0).items():
            _put(f"events.{name}", column, arrays, values)
    for index, block in enumerate(piece.blocks):
        arrays[f"block.{index}.ticks"], arrays[f"block.{index}.values"] = (
            block.tick_ns,
            block.values,
        )
    if (sampled := piece.sampled) is not None:
        tree, threads = sampled.tree, sampled.threads
        arrays |= {
            "tree.parent": tree.parent, "tree.frame": tree.frame, "tree.mode": tree.mode,
            "threads.pid": threads.pid, "threads.tid": threads.tid,
            "threads.parent_pid": threads.parent_pid, "sketch": sampled.sketch,
        }  # fmt: skip
        values["frames"] = [frame.name for frame in tree.frames]
        _put("modules", Texts.of([frame.module for frame in tree.frames]), arrays, values)
        arrays["kinds"] = np.array([frame.kind for frame in tree.frames], np.uint8)
        _put("comms", Texts.of(threads.comm), arrays, values)
        _put("cgroups", Texts.of(threads.cgroup), arrays, values)
        values["intervals"] = [to_builtins(interval) for interval in sampled.intervals]
        values["rows"] = _save_rows(folder, number, sampled.rows)
        for rows in sampled.rows.slots.values():
            if isinstance(rows, RowFile) and rows.renumbered is not None:
                arrays["renumbered"] = rows.renumbered  # one for all its files
    data = pack(Columns(arrays, values), zstandard.ZstdCompressor(level=1))
    path_of(folder, number).write_bytes(data)


def path_of(folder: Path, number: int) -> Path:
    return folder / f"{number}{_SUFFIX}"


def in_folder(piece: Piece, folder: Path) -> Piece | None:
    """A piece as `load` would give it after its files were moved there; None where it can't be."""
    if piece.sampled is None:
        return piece
    slots: dict[int, Rows | RowFile] = {}
    for slot, rows in piece.sampled.rows.slots.items():
        if not isinstance(rows, RowFile):
            return None
        slots[slot] = replace(rows, path=folder / rows.path.name)
    return replace(piece, sampled=replace(piece.sampled, rows=RowTable(slots)))


def is_there(folder: Path) -> bool:
    """Whether all pieces of an input are in it."""
    return path_of(folder, 0).exists()


def load_all(folder: Path) -> Iterator[Piece]:
    numbers = (int(path.name.removesuffix(_SUFFIX)) for path in folder.glob(f"*{_SUFFIX}"))
    for number in sorted(numbers):
        yield load(path_of(folder, number))


def load(path: Path) -> Piece:
    columns = unpack(path.read_bytes(), str(path), "start")
    values = columns.values
    piece = Piece(
        hints=convert(values["hints"], Hints),
        clock=ClockKind(values["clock"]),
        claim=_claim(values["claim"]) if values["claim"] else None,
        blocks=tuple(
            Block(
                field, tuple(instances), columns.arrays[f"block.{index}.ticks"],
                columns.arrays[f"block.{index}.values"],
            )
            for index, (field, instances) in enumerate(values["blocks"])
        ),
        events=_events(columns) if "events.time" in columns.arrays else (),
        facts=_facts(values["facts"]),
        is_filler=values["is_filler"],
        guesses=tuple(map(_claim, values["guesses"])),
        told_ns=tuple(values["told_ns"]) if values["told_ns"] else None,
        edge=values["edge"],
    )  # fmt: skip
    if "frames" not in values:
        return piece
    return replace(piece, sampled=_sampled(path.parent, columns))


def _claim(values: dict[str, Any]) -> Claim:
    return Claim(**{**values, "trust": Trust(values["trust"])})


def _put(name: str, column: Column, arrays: dict[str, Array], values: dict[str, Any]) -> None:
    """Text that repeats is there once: a hostile piece has half a million threads."""
    if isinstance(column, Texts):
        arrays[name], values[name] = column.number, column.values
    else:
        arrays[name] = np.asarray(column)


def _texts(name: str, columns: Columns) -> Iterator[str]:
    return map(columns.values[name].__getitem__, columns.arrays[name].tolist())


def _events(columns: Columns) -> tuple[Event, ...]:
    texts = (_texts(f"events.{name}", columns) for name in ("kind", "subject", "text"))
    fields = list(map(json.loads, (text or "{}" for text in columns.values["events.fields"])))
    told = map(fields.__getitem__, columns.arrays["events.fields"].tolist())
    core, pid = (
        [None if one == NULL else one for one in columns.arrays[name].tolist()]
        for name in ("events.core", "events.pid")
    )
    time, count = (columns.arrays[name].tolist() for name in ("events.time", "events.count"))
    return tuple(map(Event, time, *texts, core, pid, count, told))


def _facts(values: dict[str, Any]) -> Facts:
    lists = {name: tuple(values[name]) for name in ("cores", "notes", "problems")}
    return Facts(**{**values, **lists})


def _sampled(folder: Path, columns: Columns) -> Sampled:
    arrays, values = columns.arrays, columns.values
    kinds = [_KINDS[kind] for kind in arrays["kinds"].tolist()]
    frames = tuple(map(Frame, values["frames"], _texts("modules", columns), kinds))
    return Sampled(
        rows=_load_rows(folder, values["rows"], arrays.get("renumbered")),
        tree=StackTree(arrays["tree.parent"], arrays["tree.frame"], arrays["tree.mode"], frames),
        threads=Threads(
            arrays["threads.pid"], arrays["threads.tid"], arrays["threads.parent_pid"],
            tuple(_texts("comms", columns)), tuple(_texts("cgroups", columns)),
        ),
        intervals=tuple(
            Interval(**{**interval, "cores": tuple(interval["cores"])})
            for interval in values["intervals"]
        ),
        sketch=columns.get("sketch", "<u8"),
    )  # fmt: skip


_KINDS: Sequence[FrameKind] = tuple(FrameKind)


def _save_rows(folder: Path, number: int, table: RowTable) -> dict[str, tuple[str, Any]]:
    """Where they lie, by slot; those that are in a file of this folder already stay there."""
    saved: dict[str, tuple[str, Any]] = {}
    for slot, rows in table.slots.items():
        if isinstance(rows, RowFile):
            saved[str(slot)] = rows.path.name, to_builtins(rows.blocks)
            continue
        name = f"{number}-{slot}{ROWS_SUFFIX}"
        (folder / name).write_bytes(b"".join(column.tobytes() for column in rows.columns()))
        saved[str(slot)] = name, to_builtins([RowBlock.of(rows)])
    return saved


def _load_rows(folder: Path, saved: dict[str, Any], renumbered: I32 | None) -> RowTable:
    return RowTable(
        {
            int(slot): RowFile(
                folder / name, tuple(RowBlock(*block) for block in blocks), renumbered
            )
            for slot, (name, blocks) in saved.items()
        }
    )
