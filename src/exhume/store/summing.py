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
from exhume.model.stack import StackTree
from exhume.store import sums
from exhume.store.rollups import (
    I16,
    MAX_FRAMES_A_MINUTE,
    MIN_FRAME_MS,
    MINUTE_NS,
    CoreSeconds,
    FrameMinutes,
    Processes,
    ProcessSeconds,
    period_ns,
    weights_ns,
)

_CORES_AT_ONCE = 16


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
        self._stretches = stretches
        self._seconds = sums.Seconds(start_ns, processes.of_thread, len(processes), tree.mode)
        self._rows: list[ProcessSeconds] = []

    def add(self, piece: Samples) -> None:
        weights = _weights(self._stretches, piece.time_ns)
        self._rows.append(ProcessSeconds(*self._seconds.add(sums.Piece(piece), weights)))

    def result(self) -> ProcessSeconds:
        self._rows.append(ProcessSeconds(*self._seconds.close()))
        return ProcessSeconds(
            *(
                np.concatenate([getattr(part, name) for part in self._rows])
                for name in ProcessSeconds.__struct_fields__
            )
        )


def _weights(stretches: Sequence[Stretch], time_ns: I64) -> sums.Weights:
    if len(stretches) < 2:
        return sums.Weights(None, sum(map(period_ns, stretches)))
    return sums.Weights(weights_ns(stretches, time_ns), 0)


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
        if len(self._stretches) < 2:
            self._count(piece, None, sum(map(period_ns, self._stretches)))
            return
        each = weights_ns(self._stretches, piece.time_ns)
        for value in distinct(each).tolist():
            self._count(piece, each, value)

    def _count(self, piece: Samples, each: I64 | None, weight_ns: int) -> None:
        """Samples of that weight."""
        nodes = len(self._tree.parent)
        counts = self._counts.get(weight_ns)
        if counts is None:
            counts = self._counts[weight_ns] = np.zeros(self._minutes * nodes, np.uint32)
        weights = sums.Weights(each, weight_ns)
        sums.add_minutes(sums.Piece(piece), self._start_ns, self._minutes, nodes, weights, counts)

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
