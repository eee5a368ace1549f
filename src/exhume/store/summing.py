"""Roll-ups in the making: samples go in piece by piece, in (core, time) order.

So a closing segment never lies in memory as a whole, and neither do the sums at full width: the
closer has 85 MiB, most of which Arrow takes. A live head runs through the same code when asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from exhume.derive.cpu import core_shares
from exhume.derive.sets import distinct
from exhume.derive.stacks import carried_down, level_starts, outermost, sum_up
from exhume.model.arrays import I64, U32
from exhume.model.modes import MAP_MODES
from exhume.model.sample import Samples, Stretch
from exhume.model.series import Block
from exhume.model.stack import Mode, StackTree
from exhume.perf.distinct import distinct_rows
from exhume.store.rollups import (
    I16,
    MAX_FRAMES_A_MINUTE,
    MIN_FRAME_MS,
    MINUTE_NS,
    SECOND_NS,
    CoreSeconds,
    FrameMinutes,
    Processes,
    ProcessSeconds,
    period_ns,
    weights_ns,
)

_CORES_AT_ONCE = 16
# (core, second, process) as one number that sorts like them: 16, 21 and 26 bits.
_SECOND_BIT, _CORE_BIT = 26, 47
_PROCESS_MASK, _SECOND_MASK = (1 << _SECOND_BIT) - 1, (1 << _CORE_BIT - _SECOND_BIT) - 1


class CoreRollUp:
    def __init__(self, blocks: Sequence[Block], user_hz: int) -> None:
        self._seconds = _core_seconds([b for b in blocks if b.field.startswith("cpu.")], user_hz)
        self._row = {core: row for row, core in enumerate(self._seconds.cores)}
        self._last: tuple[int, int] | None = None

    def add(self, piece: Samples) -> None:
        if not self._row or not len(piece):
            return
        borders = np.flatnonzero(np.diff(piece.core)) + 1
        for begin, end in zip([0, *borders], [*borders, len(piece)], strict=True):
            core = int(piece.core[begin])
            self._add_core(core, piece.time_ns[begin:end])
            self._last = core, int(piece.time_ns[end - 1])

    def _add_core(self, core: int, time_ns: I64) -> None:
        if (row := self._row.get(core)) is None:
            return
        seconds = self._seconds
        before = self._last[1] if self._last and self._last[0] == core else int(time_ns[0])
        gaps = np.diff(time_ns, prepend=before) // 1_000_000
        interval = np.searchsorted(seconds.end_ns, time_ns, "left")
        inside = (interval < len(seconds.end_ns)) & (time_ns > seconds.start_ns[0])
        interval, gaps = interval[inside], gaps[inside]
        if not len(gaps):
            return
        first = np.flatnonzero(np.diff(interval, prepend=-1))
        longest = np.minimum(np.maximum.reduceat(gaps, first), 65_535).astype(np.uint16)
        at = interval[first]
        seconds.gap_ms[row, at] = np.maximum(seconds.gap_ms[row, at], longest)

    def result(self) -> CoreSeconds | None:
        return self._seconds if self._row else None


def _core_seconds(blocks: Sequence[Block], user_hz: int) -> CoreSeconds:
    """A few cores at a time: at full width mpstat's arithmetic takes 20 MiB for 96 of them."""
    cores: list[int] = []
    permille: list[I16] = [np.empty((len(MAP_MODES), 0, 0), np.int16)]
    start_ns = end_ns = np.empty(0, np.int64)
    for few in _few_cores(blocks):
        if (shares := core_shares(few, user_hz)) is not None:
            cores += shares.cores
            start_ns, end_ns = shares.start_ns, shares.end_ns
            rounded = np.where(np.isnan(shares.percent), -1, np.rint(shares.percent * 10))
            permille.append(rounded.astype(np.int16))
    joined = np.concatenate(permille[1:] or permille, axis=1)
    by_interval = np.ascontiguousarray(joined.transpose(0, 2, 1)).transpose(0, 2, 1)
    gap_ms = np.zeros(joined.shape[:0:-1], np.uint16).T
    return CoreSeconds(tuple(cores), start_ns, end_ns, by_interval, gap_ms)


def _few_cores(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    numbers = {int(name) for b in blocks for name in b.instances if name.isdigit()}
    ordered = sorted(numbers)
    for begin in range(0, len(ordered), _CORES_AT_ONCE):
        names = {str(core) for core in ordered[begin : begin + _CORES_AT_ONCE]}
        part = []
        for block in blocks:
            columns = [i for i, name in enumerate(block.instances) if name in names]
            chosen = tuple(block.instances[i] for i in columns)
            part.append(replace(block, instances=chosen, values=block.values[:, columns]))
        yield part


class ProcessRollUp:
    """Rows of a piece's last (core, second) stay open: the next piece may add to them."""

    def __init__(
        self, start_ns: int, stretches: Sequence[Stretch], tree: StackTree, processes: Processes
    ) -> None:
        self._start_ns = start_ns
        self._stretches = stretches
        self._mode = tree.mode
        self._processes = processes
        self._open: I64 = np.empty((4, 0), np.int64)
        self._rows: list[ProcessSeconds] = []

    def add(self, piece: Samples) -> None:
        if not len(piece):
            return
        second = np.maximum(piece.time_ns - self._start_ns, 0) // SECOND_NS
        key = (piece.core.astype(np.int64) << _CORE_BIT) | (second << _SECOND_BIT)
        key |= self._processes.of_thread.take(piece.thread)
        system = self._mode.take(piece.stack) != Mode.USER
        weight = weights_ns(self._stretches, piece.time_ns)
        rows = np.concatenate([self._open, np.stack([key, ~system, system, weight])], axis=1)
        rows = _grouped(rows)
        closed = int(np.searchsorted(rows[0], rows[0, -1] >> _SECOND_BIT << _SECOND_BIT))
        self._rows.append(_process_seconds(rows[:, :closed]))
        self._open = rows[:, closed:].copy()

    def result(self) -> ProcessSeconds:
        parts = [*self._rows, _process_seconds(self._open)]
        return ProcessSeconds(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ProcessSeconds.__struct_fields__
            )
        )


def _process_seconds(rows: I64) -> ProcessSeconds:
    key, user, system, weight = rows
    return ProcessSeconds(
        second=(key >> _SECOND_BIT & _SECOND_MASK).astype(np.int32),
        core=(key >> _CORE_BIT).astype(np.uint16),
        process=(key & _PROCESS_MASK).astype(np.int32),
        user=np.minimum(user, 65_535).astype(np.uint16),
        system=np.minimum(system, 65_535).astype(np.uint16),
        weight_us=np.rint(weight / 1000).astype(np.uint32),
    )


def _grouped(rows: I64) -> I64:
    """The first row is a key; the others are summed by it. Keys come out rising."""
    first, which = distinct_rows(rows[0])
    order = np.argsort(rows[0, first])
    grouped = np.empty((len(rows), len(first)), np.int64)
    grouped[0] = rows[0, first[order]]
    for index, values in enumerate(rows[1:], 1):
        # Sums of whole numbers far below 2^53: exact.
        grouped[index] = np.bincount(which, values, len(first))[order]
    return grouped


class FrameRollUp:
    def __init__(
        self, start_ns: int, end_ns: int, stretches: Sequence[Stretch], tree: StackTree
    ) -> None:
        self._start_ns = start_ns
        self._stretches = stretches
        self._tree = tree
        self._minutes = max(1, -(-(end_ns - start_ns) // MINUTE_NS))
        self._counts: dict[int, U32] = {}
        """By weight, of which there is mostly one: samples by minute and node."""

    def add(self, piece: Samples) -> None:
        nodes = len(self._tree.parent)
        minute = np.clip((piece.time_ns - self._start_ns) // MINUTE_NS, 0, self._minutes - 1)
        cell = minute * nodes + piece.stack
        if len(self._stretches) < 2:
            self._count(sum(map(period_ns, self._stretches)), cell)
            return
        weight = weights_ns(self._stretches, piece.time_ns)
        for value in distinct(weight).tolist():
            self._count(value, cell[weight == value])

    def _count(self, weight_ns: int, cell: I64) -> None:
        """Cells are by minute and node, all minutes one after the other."""
        counts = self._counts.get(weight_ns)
        if counts is None:
            counts = np.zeros(self._minutes * len(self._tree.parent), np.uint32)
            self._counts[weight_ns] = counts
        first, which = distinct_rows(cell)
        counts[cell[first]] += np.bincount(which).astype(np.uint32)

    def result(self) -> FrameMinutes:
        tree = self._tree
        starts = level_starts(tree.parent)
        process = carried_down(tree.parent, tree.frame, starts, 1)
        first = outermost(tree.parent, tree.frame)
        pair = process.astype(np.int64) * max(1, len(tree.frames)) + tree.frame
        pairs, group = np.unique(pair, return_inverse=True)
        rows = []
        for minute in range(self._minutes):
            own = np.zeros(len(tree.parent), np.int64)
            for weight, counts in self._counts.items():
                here = counts[minute * len(own) : (minute + 1) * len(own)]
                own += here.astype(np.int64) * weight
            total = sum_up(tree.parent, own, starts)
            inclusive = np.bincount(group[first], total[first], len(pairs)) / 1e6
            alone = np.bincount(group, own, len(pairs)) / 1e6
            keep = np.flatnonzero(inclusive >= MIN_FRAME_MS)
            if len(keep) > MAX_FRAMES_A_MINUTE:
                best = np.argsort(-inclusive[keep], kind="stable")[:MAX_FRAMES_A_MINUTE]
                keep = np.sort(keep[best])
            keep = keep[pairs[keep] > 0]  # the root is nobody's frame
            rows.append((np.full(len(keep), minute), pairs[keep], inclusive[keep], alone[keep]))
        minutes, kept, inclusive_ms, self_ms = (np.concatenate(p) for p in zip(*rows, strict=True))
        return FrameMinutes(
            minutes.astype(np.int32),
            (kept // max(1, len(tree.frames))).astype(np.int32),
            (kept % max(1, len(tree.frames))).astype(np.int32),
            np.rint(inclusive_ms).astype(np.uint32),
            np.rint(self_ms).astype(np.uint32),
        )
