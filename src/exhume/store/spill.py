"""Named samples on their way into a segment: by core and time, in memory only as far as they fit.

A busy machine of 96 cores makes 5.6 million samples in ten minutes: more than the closer may hold.
Each core's samples come in order of time, so they are put into one file a core, and read back core
by core.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from exhume.model.arrays import I64, U16
from exhume.model.sample import Samples, Stretch
from exhume.store.rollups import weights_ns

ROW = np.dtype([("time", "<i8"), ("thread", "<i4"), ("node", "<i4")])
IN_MEMORY_BYTES = 2 << 20
PIECE_ROWS = 1 << 15


class SampleSpill:
    def __init__(self, folder: Path | None = None) -> None:
        """Without a folder everything stays in memory."""
        self._folder = folder
        self._parts: dict[int, list[NDArray[np.void]]] = {}
        self._files: dict[int, BinaryIO] = {}
        self._held_bytes = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.rows = 0
        self._counts: I64 = np.empty(0, np.int64)

    def add(self, time: I64, core: U16, thread: I64, node: I64) -> None:
        if not len(time):
            return
        order = np.argsort(core, kind="stable")  # of 16 bits: no comparisons
        rows = np.empty(len(time), ROW)
        rows["time"], rows["thread"], rows["node"] = time[order], thread[order], node[order]
        borders = np.flatnonzero(np.diff(core[order])) + 1
        for part in np.split(rows, borders):
            if (np.diff(part["time"]) < 0).any():
                part[:] = part[np.argsort(part["time"], kind="stable")]
        starts = [0, *borders.tolist()]
        for one, part in zip(core[order[starts]].tolist(), np.split(rows, borders), strict=True):
            self._parts.setdefault(one, []).append(part)
        counts = np.bincount(node, minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        first, last = int(time.min()), int(time.max())
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = last if self.last_ns is None else max(self.last_ns, last)
        self.rows += len(rows)
        self._held_bytes += rows.nbytes
        if self._folder is not None and self._held_bytes > IN_MEMORY_BYTES:
            self._to_disk()

    def _to_disk(self) -> None:
        for core, parts in self._parts.items():
            file = self._files.get(core)
            if file is None:
                # Has no name: gone with this process, however that ends.
                file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
                self._files[core] = file
            for part in parts:
                file.write(part.tobytes())
        self._parts.clear()
        self._held_bytes = 0

    def counts(self, renumbered: I64) -> I64:
        """How many samples end at each node, by its final number."""
        counts = np.zeros(len(renumbered), np.int64)
        counts[renumbered[: len(self._counts)]] = self._counts
        return counts

    def pieces(self, renumbered: I64, stretches: Sequence[Stretch]) -> Iterator[Samples]:
        """In order of core and time. `renumbered` gives the final number of each node."""
        for core in sorted(self._parts.keys() | self._files.keys()):
            for rows in self._rows(core):
                time = rows["time"].astype(np.int64)
                yield Samples(
                    time_ns=time,
                    core=np.full(len(rows), core, np.uint16),
                    thread=rows["thread"].astype(np.int32),
                    stack=renumbered[rows["node"]].astype(np.int32),
                    weight_ns=weights_ns(stretches, time).astype(np.uint32),
                )

    def _rows(self, core: int) -> Iterator[NDArray[np.void]]:
        """A core's samples. Two drains may overlap by a little, so what is in memory is sorted."""
        file = self._files.get(core)
        if file is not None:
            file.seek(0)
            while data := file.read(PIECE_ROWS * ROW.itemsize):
                yield np.frombuffer(data, ROW)
        held = self._parts.get(core)
        if held:
            rows = np.concatenate(held)
            rows = rows[np.argsort(rows["time"], kind="stable")]
            for begin in range(0, len(rows), PIECE_ROWS):
                yield rows[begin : begin + PIECE_ROWS]

    def whole(self, renumbered: I64, stretches: Sequence[Stretch]) -> Samples:
        parts = list(self.pieces(renumbered, stretches))
        return Samples(
            time_ns=np.concatenate([np.empty(0, np.int64), *(p.time_ns for p in parts)]),
            core=np.concatenate([np.empty(0, np.uint16), *(p.core for p in parts)]),
            thread=np.concatenate([np.empty(0, np.int32), *(p.thread for p in parts)]),
            stack=np.concatenate([np.empty(0, np.int32), *(p.stack for p in parts)]),
            weight_ns=np.concatenate([np.empty(0, np.uint32), *(p.weight_ns for p in parts)]),
        )

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
