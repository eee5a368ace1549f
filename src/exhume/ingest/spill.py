"""Pieces on disk between the process that read them and the one that merges them."""

from __future__ import annotations

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
from exhume.store.columns import Array, Columns, pack, unpack

_SUFFIX = ".2.piece"
"""The number is of the format: what another version left behind is read anew."""


def save(folder: Path, number: int, piece: Piece) -> None:
    arrays: dict[str, Array] = {}
    values: dict[str, Any] = {
        "hints": to_builtins(piece.hints),
        "clock": piece.clock.value,
        "claim": to_builtins(piece.claim) if piece.claim else None,
        "events": [_event_row(event) for event in piece.events],
        "facts": to_builtins(piece.facts),
        "blocks": [[block.field, block.instances] for block in piece.blocks],
        "is_filler": piece.is_filler,
        "guesses": [to_builtins(guess) for guess in piece.guesses],
        "told_ns": piece.told_ns,
        "edge": piece.edge,
    }
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
        values["modules"] = [frame.module for frame in tree.frames]
        arrays["kinds"] = np.array([frame.kind for frame in tree.frames], np.uint8)
        values["comms"], values["cgroups"] = threads.comm, threads.cgroup
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
        events=tuple(Event(*row) for row in values["events"]),
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


def _event_row(event: Event) -> tuple[Any, ...]:
    return (
        event.time_ns, event.kind, event.subject, event.text, event.core, event.pid, event.count,
        dict(event.fields),
    )  # fmt: skip


def _facts(values: dict[str, Any]) -> Facts:
    lists = {name: tuple(values[name]) for name in ("cores", "notes", "problems")}
    return Facts(**{**values, **lists})


def _sampled(folder: Path, columns: Columns) -> Sampled:
    arrays, values = columns.arrays, columns.values
    kinds = [_KINDS[kind] for kind in arrays["kinds"].tolist()]
    frames = tuple(map(Frame, values["frames"], values["modules"], kinds))
    return Sampled(
        rows=_load_rows(folder, values["rows"], arrays.get("renumbered")),
        tree=StackTree(arrays["tree.parent"], arrays["tree.frame"], arrays["tree.mode"], frames),
        threads=Threads(
            arrays["threads.pid"], arrays["threads.tid"], arrays["threads.parent_pid"],
            tuple(values["comms"]), tuple(values["cgroups"]),
        ),
        intervals=tuple(Interval(**interval) for interval in values["intervals"]),
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
