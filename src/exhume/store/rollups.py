"""What is summed up when a segment closes, so that hours are as quick to ask as seconds.

Each roll-up takes samples piece by piece, in (core, time) order, so a closing segment never has to
lie in memory as a whole. A live head runs through the same code when it is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from exhume.derive.cpu import core_shares
from exhume.derive.stacks import carried_down, level_starts, outermost, sum_up
from exhume.model.arrays import I32, I64, U16, U32
from exhume.model.sample import Samples, Stretch, Threads
from exhume.model.series import Block
from exhume.model.stack import Mode, StackTree

I16: TypeAlias = NDArray[np.int16]

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
MIN_FRAME_MS = 300
"""A frame under this in a minute (0.5 % of one core) is not kept: baselines may lack that."""
MAX_FRAMES_A_MINUTE = 3_000
"""No more (process, frame) pairs a minute than this, those with most time first."""


@dataclass(frozen=True, slots=True)
class CoreSeconds:
    """What each core did between readings of /proc/stat, in permille."""

    cores: tuple[int, ...]
    start_ns: I64
    end_ns: I64
    """Both of shape (intervals,)."""
    permille: I16
    """Shape (len(MAP_MODES), cores, intervals); -1 where not known."""
    gap_ms: U16
    """Shape (cores, intervals): the longest wait for a sample that ended in this interval."""


@dataclass(frozen=True, slots=True)
class ProcessSeconds:
    """Rows of (second, core, process): how many samples hit it, and what they weigh."""

    second: I32
    """Whole seconds since the segment began."""
    core: U16
    process: I32
    """Index into `Processes`."""
    user: U16
    system: U16
    """Samples; system is kernel, softirq and irq together."""
    weight_us: U32


@dataclass(frozen=True, slots=True)
class FrameMinutes:
    """Rows of (minute, process name, frame): the core time in it and below it."""

    minute: I32
    """Whole minutes since the segment began."""
    process: I32
    frame: I32
    """Both index the frames of the tree; the first is the process's own frame."""
    inclusive_ms: U32
    self_ms: U32


@dataclass(frozen=True, slots=True)
class Processes:
    """Threads put together by (pid, name)."""

    of_thread: I32
    first_thread: I32
    """A thread of each process: look its pid, name and cgroup up there."""

    def __len__(self) -> int:
        return len(self.first_thread)


def processes_of(threads: Threads) -> Processes:
    seen: dict[tuple[int, str], int] = {}
    of_thread = np.empty(len(threads), np.int32)
    first: list[int] = []
    for row, key in enumerate(zip(threads.pid.tolist(), threads.comm, strict=True)):
        if (index := seen.get(key)) is None:
            index = seen[key] = len(first)
            first.append(row)
        of_thread[row] = index
    return Processes(of_thread, np.array(first, np.int32))


def weights_ns(stretches: Sequence[Stretch], time_ns: I64) -> I64:
    """The core time each sample stands for: one over the rate in force."""
    weight = np.array([period_ns(stretch) for stretch in stretches] or [0], np.int64)
    if len(stretches) < 2:
        return np.broadcast_to(weight, time_ns.shape)
    starts = np.array([stretch.start_ns for stretch in stretches], np.int64)
    return weight[np.clip(np.searchsorted(starts, time_ns, "right") - 1, 0, None)]


def period_ns(stretch: Stretch) -> int:
    return round(1e9 / stretch.rate_hz) if stretch.rate_hz > 0 else 0


class CoreRollUp:
    def __init__(self, blocks: Iterable[Block], user_hz: int) -> None:
        self._shares = core_shares(blocks, user_hz)
        self._last: tuple[int, int] | None = None
        if self._shares is not None:
            self._row = {core: row for row, core in enumerate(self._shares.cores)}
            self._gap_ms = np.zeros(self._shares.busy.shape, np.uint16)

    def add(self, piece: Samples) -> None:
        if self._shares is None or not len(piece):
            return
        borders = np.flatnonzero(np.diff(piece.core)) + 1
        for begin, end in zip([0, *borders], [*borders, len(piece)], strict=True):
            core = int(piece.core[begin])
            self._add_core(core, piece.time_ns[begin:end])
            self._last = core, int(piece.time_ns[end - 1])

    def _add_core(self, core: int, time_ns: I64) -> None:
        if self._shares is None or (row := self._row.get(core)) is None:
            return
        before = self._last[1] if self._last and self._last[0] == core else int(time_ns[0])
        gaps = np.diff(time_ns, prepend=before) // 1_000_000
        interval = np.searchsorted(self._shares.end_ns, time_ns, "left")
        inside = (interval < len(self._shares.end_ns)) & (time_ns > self._shares.start_ns[0])
        interval, gaps = interval[inside], gaps[inside]
        if not len(gaps):
            return
        first = np.flatnonzero(np.diff(interval, prepend=-1))
        longest = np.minimum(np.maximum.reduceat(gaps, first), 65_535).astype(np.uint16)
        at = interval[first]
        self._gap_ms[row, at] = np.maximum(self._gap_ms[row, at], longest)

    def result(self) -> CoreSeconds | None:
        shares = self._shares
        if shares is None:
            return None
        permille = np.where(np.isnan(shares.percent), -1, np.rint(shares.percent * 10))
        return CoreSeconds(
            shares.cores, shares.start_ns, shares.end_ns, permille.astype(np.int16), self._gap_ms
        )


class ProcessRollUp:
    def __init__(
        self, start_ns: int, stretches: Sequence[Stretch], tree: StackTree, processes: Processes
    ) -> None:
        self._start_ns = start_ns
        self._stretches = stretches
        self._mode = tree.mode
        self._processes = processes
        self._rows: list[I64] = []

    def add(self, piece: Samples) -> None:
        if not len(piece):
            return
        second = np.maximum(piece.time_ns - self._start_ns, 0) // SECOND_NS
        process = self._processes.of_thread[piece.thread]
        key = (piece.core.astype(np.int64) << 48) | (second << 28) | process
        system = self._mode[piece.stack] != Mode.USER
        weight = weights_ns(self._stretches, piece.time_ns)
        self._rows.append(_grouped(key, np.stack([~system, system, weight])))

    def result(self) -> ProcessSeconds:
        rows = np.concatenate(self._rows, axis=1) if self._rows else np.empty((4, 0), np.int64)
        # A core that two pieces share may have left one key in both.
        rows = _grouped(rows[0], rows[1:])
        key, user, system, weight = rows
        return ProcessSeconds(
            second=(key >> 28 & 0xFFFFF).astype(np.int32),
            core=(key >> 48).astype(np.uint16),
            process=(key & 0xFFFFFFF).astype(np.int32),
            user=np.minimum(user, 65_535).astype(np.uint16),
            system=np.minimum(system, 65_535).astype(np.uint16),
            weight_us=np.rint(weight / 1000).astype(np.uint32),
        )


def _grouped(key: I64, values: I64) -> I64:
    """Rows of (key, sums of the values) by key, keys rising."""
    if not len(key):
        return np.empty((1 + len(values), 0), np.int64)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
    sums = np.add.reduceat(values[:, order].astype(np.int64), first, axis=1)
    return np.concatenate([key[np.newaxis, first], sums])


class FrameRollUp:
    def __init__(
        self, start_ns: int, end_ns: int, stretches: Sequence[Stretch], tree: StackTree
    ) -> None:
        self._start_ns = start_ns
        self._stretches = stretches
        self._tree = tree
        minutes = max(1, -(-(end_ns - start_ns) // MINUTE_NS))
        self._weight_ns = np.zeros((minutes, len(tree.parent)), np.int64)

    def add(self, piece: Samples) -> None:
        if not len(piece):
            return
        minutes, nodes = self._weight_ns.shape
        minute = np.clip((piece.time_ns - self._start_ns) // MINUTE_NS, 0, minutes - 1)
        weight = weights_ns(self._stretches, piece.time_ns)
        for at in np.unique(minute):
            here = minute == at
            sums = np.bincount(piece.stack[here], weight[here], minlength=nodes)
            self._weight_ns[at] += sums.astype(np.int64)

    def result(self) -> FrameMinutes:
        tree = self._tree
        starts = level_starts(tree.parent)
        process = carried_down(tree.parent, tree.frame, starts, 1)
        first = outermost(tree.parent, tree.frame)
        pair = process.astype(np.int64) * max(1, len(tree.frames)) + tree.frame
        pairs, group = np.unique(pair, return_inverse=True)
        rows: list[tuple[I64, I64, I64, I64]] = []
        for minute, own in enumerate(self._weight_ns):
            total = sum_up(tree.parent, own, starts)
            inclusive = np.bincount(group[first], total[first], len(pairs)) / 1e6
            alone = np.bincount(group, own, len(pairs)) / 1e6
            keep = np.flatnonzero(inclusive >= MIN_FRAME_MS)
            if len(keep) > MAX_FRAMES_A_MINUTE:
                best = np.argsort(-inclusive[keep], kind="stable")[:MAX_FRAMES_A_MINUTE]
                keep = np.sort(keep[best])
            keep = keep[pairs[keep] > 0]  # the root is nobody's frame
            rows.append((np.full(len(keep), minute), pairs[keep], inclusive[keep], alone[keep]))
        minutes, kept, inclusive_ms, self_ms = (
            np.concatenate(part) for part in zip(*rows, strict=True)
        )
        return FrameMinutes(
            minutes.astype(np.int32),
            (kept // max(1, len(tree.frames))).astype(np.int32),
            (kept % max(1, len(tree.frames))).astype(np.int32),
            np.rint(inclusive_ms).astype(np.uint32),
            np.rint(self_ms).astype(np.uint32),
        )
