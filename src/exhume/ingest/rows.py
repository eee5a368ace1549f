"""Samples on their way into a piece: appended to a file, so that memory does not grow with them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Set
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from exhume.derive.sets import distinct
from exhume.ingest.row_table import SLOT_NS, RowBlock, RowFile, Rows, RowTable
from exhume.model.arrays import I32, I64, U16, U32, U64
from exhume.model.core import NO_CORE

SKETCH_SIZE = 256
_ENOUGH = 8
_NEARLY_ALL = 0.9
_MAX_OPEN = 64
_SETTLING = 5
"""perf begins with a burst: the kernel finds the period of cycles by trying, from 1 on."""
_SHORT_SHARE = 0.05
_NEAR = 1.4
"""Distances that differ by less are of one rate."""
_AHEAD = 8
"""With how many that follow a sample is compared: as many clocks as that can be told apart."""
_SPREAD = 0.02
"""Distances that differ by such a share are one."""
_AS_OFTEN, _KEPT_BY, _LEAST_FOR_BEAT = 0.6, 0.35, 16
ROWS_SUFFIX = ".rows"


class RowWriter:
    """One file for each ten minutes."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        """`prefix`: of the names of its files, where several write into a folder."""
        self._folder = folder
        self._prefix = prefix
        self._open: OrderedDict[int, BinaryIO] = OrderedDict()
        self._blocks: dict[int, list[RowBlock]] = {}
        self.count = 0

    def add(self, time: I64, core: U16, thread: I64 | I32, node: I64 | I32) -> None:
        if not len(time):
            return
        rows = Rows(time, node.astype(np.int32), thread.astype(np.int32), core)
        first, last = int(time.min()) // SLOT_NS, int(time.max()) // SLOT_NS
        if first == last:
            self._write(first, rows)
        else:
            slot = time // SLOT_NS
            for number in distinct(slot).tolist():
                self._write(number, rows.chosen(slot == number))
        self.count += len(rows)

    def _write(self, slot: int, rows: Rows) -> None:
        file = self._file(slot)
        for column in rows.columns():
            file.write(np.ascontiguousarray(column).data)
        self._blocks.setdefault(slot, []).append(RowBlock.of(rows))

    def _file(self, slot: int) -> BinaryIO:
        file = self._open.pop(slot, None)
        if file is None:
            if len(self._open) >= _MAX_OPEN:
                self._open.popitem(last=False)[1].close()
            mode = "ab" if slot in self._blocks else "wb"  # one of an earlier attempt goes
            file = cast(BinaryIO, open(self._path(slot), mode))  # noqa: SIM115 - closed by finish or close
        self._open[slot] = file
        return file

    def _path(self, slot: int) -> Path:
        return self._folder / f"{self._prefix}{slot}{ROWS_SUFFIX}"

    def finish(self, renumbered: I64 | None = None) -> RowTable:
        """The rows; where their nodes get other numbers, they do when they are read."""
        self.close()
        numbers = None if renumbered is None else renumbered.astype(np.int32)
        return RowTable(
            {
                slot: RowFile(self._path(slot), tuple(self._blocks[slot]), numbers)
                for slot in sorted(self._blocks)
            }
        )

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


class Sketch:
    """The smallest hashes of (time, core, thread): the same samples keep the same ones.

    Times count in microseconds, because perf's text has no more.
    """

    def __init__(self) -> None:
        self.hashes: U64 = np.empty(0, np.uint64)

    def add(self, time_ns: I64, core: U16, tid: I32) -> None:
        who = (core.astype(np.uint64) << np.uint64(32)) | tid.astype(np.uint32)
        with np.errstate(over="ignore"):
            value = (time_ns // 1000).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            value ^= who * np.uint64(0xC2B2AE3D27D4EB4F)
            value ^= value >> np.uint64(29)
            value *= np.uint64(0xFF51AFD7ED558CCD)
            value ^= value >> np.uint64(32)
        if len(self.hashes) == SKETCH_SIZE:
            value = value[value < self.hashes[-1]]
        if len(value) > SKETCH_SIZE:
            value = np.partition(value, SKETCH_SIZE)[:SKETCH_SIZE]
        self.join(value)

    def join(self, hashes: U64) -> None:
        self.hashes = distinct(np.concatenate([self.hashes, hashes]))[:SKETCH_SIZE]


def likeness(a: Set[int], b: Set[int]) -> float:
    """About how many of the samples of both are in both (Jaccard, by bottom-k sketches)."""
    if a.isdisjoint(b):
        return 0.0
    union = sorted(a | b)[:SKETCH_SIZE]
    return sum(1 for hash_ in union if hash_ in a and hash_ in b) / len(union)


def is_part(a: Set[int], b: Set[int]) -> bool:
    """Are nearly all samples of `a` in `b` too, as far as their sketches tell?"""
    limit = max(b, default=0) if len(b) >= SKETCH_SIZE else None
    told = [hash_ for hash_ in a if limit is None or hash_ <= limit]
    common = sum(1 for hash_ in told if hash_ in b)
    return len(told) >= _ENOUGH and common >= _NEARLY_ALL * len(told)


def cores_of(cpu: U32 | I32) -> U16:
    """NO_CORE where it is not known: the greatest number, or -1, depending on who says so."""
    number: U32 = np.ascontiguousarray(cpu).view(np.uint32)
    return np.minimum(number, np.uint32(NO_CORE)).astype(np.uint16)


def usual_rate_hz(time_ns: I64, core: U16, tid: I32) -> float | None:
    """That of a busy core, from the distances between neighbours; None where there are none.

    A core that works a little now and then has long distances: the short ones tell. On one that is
    busy they only scatter, and the middle is nearer to the truth. Where cores are not known threads
    tell: several run at once.
    """
    place = np.where(core == NO_CORE, tid.astype(np.int64) + (NO_CORE + 1), core.astype(np.int64))
    order = np.lexsort((time_ns, place))
    if (core == NO_CORE).all() and (beat_ns := _beat_ns(time_ns[order], place[order])):
        return 1e9 / beat_ns
    gaps, is_same = np.diff(time_ns[order]), np.diff(place[order]) == 0
    row = np.arange(len(gaps))
    begin = np.maximum.accumulate(np.where(is_same, 0, row + 1))
    settled = is_same & (gaps > 0) & (row - begin >= _SETTLING)
    gaps = gaps[settled if settled.any() else is_same & (gaps > 0)]
    if not len(gaps):
        return None
    middle = float(np.median(gaps))
    short = float(np.median(gaps[gaps <= _NEAR * np.quantile(gaps, _SHORT_SHARE)]))
    return 1e9 / (middle if middle < _NEAR * short else short)


def _beat_ns(time_ns: I64, place: I64) -> float | None:
    """The distance that samples of a place keep, whatever comes in between; None where none does.

    Text may tell processes only, and threads of one that run at once on several cores, or one that
    moves between them, are several clocks in one: neighbours are at any distance then, but each
    sample still has another one period later.
    """
    if len(time_ns) < _LEAST_FOR_BEAT:
        return None
    parts = [
        (time_ns[ahead:] - time_ns[:-ahead])[place[ahead:] == place[:-ahead]]
        for ahead in range(1, _AHEAD + 1)
    ]
    distances = np.concatenate(parts)
    distances = distances[distances > 0]
    if not len(distances):
        return None
    scaled = np.rint(np.log(distances) / _SPREAD).astype(np.int64)
    bins = scaled - scaled.min()
    padded = np.pad(np.bincount(bins), 1)
    counts = padded[:-2] + padded[1:-1] + padded[2:]
    # Twice the period is kept as well, but by nobody more often.
    first = int(np.flatnonzero(counts >= _AS_OFTEN * counts.max())[0])
    is_kept = counts[first] >= _KEPT_BY * len(time_ns)
    return float(np.median(distances[abs(bins - first) <= 2])) if is_kept else None
