"""Cores: starved seconds by mode, and the busiest core beside the node's mean."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from msgspec import Struct

from exhume.derive.cpu import BUSY_MODES, CoreShares, core_shares
from exhume.derive.rises import MAX_JOIN_NS
from exhume.export import metric_list as m
from exhume.export.prometheus import Family
from exhume.export.recent import LONGEST_NS
from exhume.model.arrays import F64, I64
from exhume.model.fields import CPU_MODES
from exhume.model.reading import Reading
from exhume.model.series import MISSING, Block
from exhume.store.tail import Second

STARVED_PERCENT = 95.0


class _Tick(Struct, frozen=True):
    end_ns: int
    user_hz: int
    times: dict[str, Reading]
    is_counted: bool


class _Interval(Struct, frozen=True):
    end_ns: int
    seconds: float
    cores: tuple[int, ...]
    busy: F64
    """Percent, shape (cores,); NaN where not known."""


class CoreMetrics:
    """Seconds are gathered by `add` and worked out together by `settle`."""

    FIELDS = frozenset(f"cpu.{mode}" for mode in CPU_MODES)

    def __init__(self) -> None:
        self._starved = dict.fromkeys(BUSY_MODES, 0.0)
        self._pending: list[_Tick] = []
        self._recent: deque[_Interval] = deque()

    def forget(self) -> None:
        """Another boot: no interval goes across."""
        self.settle()
        self._pending.clear()
        self._recent.clear()

    def add(self, second: Second, readings: Mapping[str, Reading], *, is_counted: bool) -> None:
        times = {field: reading for field, reading in readings.items() if field in self.FIELDS}
        if times:
            hz = second.origin.user_hz
            self._pending.append(_Tick(second.end_ns, hz, times, is_counted))

    def settle(self) -> None:
        """The last reading stays: the next interval begins with it."""
        if len(self._pending) < 2:
            return
        shares = core_shares(_blocks(self._pending), self._pending[0].user_hz)
        if shares is not None:
            counted = {tick.end_ns: tick.is_counted for tick in self._pending}
            self._count(shares, np.array([counted[int(end)] for end in shares.end_ns]))
        del self._pending[:-1]

    def _count(
        self, shares: CoreShares, is_counted: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> None:
        length = shares.end_ns - shares.start_ns
        seconds: F64 = length / 1e9
        whole = length <= MAX_JOIN_NS  # a gap is nobody's time
        with np.errstate(invalid="ignore"):
            starved = (shares.busy >= STARVED_PERCENT) & (whole & is_counted)
        if starved.any():
            mode = np.nan_to_num(shares.percent[: len(BUSY_MODES)]).argmax(axis=0)
            for index, name in enumerate(BUSY_MODES):
                self._starved[name] += float(((starved & (mode == index)) * seconds).sum())
        for column in np.flatnonzero(whole & (shares.end_ns > shares.end_ns[-1] - LONGEST_NS)):
            self._recent.append(
                _Interval(
                    int(shares.end_ns[column]),
                    float(seconds[column]),
                    shares.cores,
                    shares.busy[:, column],
                )
            )
        while self._recent and self._recent[0].end_ns <= int(shares.end_ns[-1]) - LONGEST_NS:
            self._recent.popleft()

    def counter(self) -> Family:
        return Family(m.STARVED, {(mode,): value for mode, value in self._starved.items()})

    def gauges(self, now_ns: int) -> list[Family]:
        worst: dict[tuple[str, ...], float] = {}
        which: dict[tuple[str, ...], float] = {}
        mean: dict[tuple[str, ...], float] = {}
        for name, seconds in m.WINDOWS.items():
            busy = self._busy(now_ns - int(seconds * 1e9))
            if busy:
                core = max(busy, key=lambda one: busy[one])
                worst[(name,)], which[(name,)] = busy[core], core
                mean[(name,)] = sum(busy.values()) / len(busy)
        return [Family(m.WORST, worst), Family(m.MEAN, mean), Family(m.WORST_CORE, which)]

    def _busy(self, since_ns: int) -> dict[int, float]:
        """Core → its mean since then."""
        sums: dict[int, tuple[float, float]] = {}
        for interval in self._recent:
            if interval.end_ns > since_ns:
                for core, percent in zip(interval.cores, interval.busy.tolist(), strict=True):
                    if percent == percent:
                        busy, known = sums.get(core, (0.0, 0.0))
                        share = min(percent, 100.0) / 100 * interval.seconds
                        sums[core] = busy + share, known + interval.seconds
        return {core: busy / known for core, (busy, known) in sums.items() if known}


def _blocks(ticks: list[_Tick]) -> list[Block]:
    ends = np.array([tick.end_ns for tick in ticks], np.int64)
    return [
        _block(field, ends, [tick.times.get(field) for tick in ticks])
        for field in sorted({field for tick in ticks for field in tick.times})
    ]


def _block(field: str, ends: I64, readings: list[Reading | None]) -> Block:
    known = [one for one in readings if one is not None]
    if len(known) == len(readings) and all(a.instances == b.instances for a, b in pairwise(known)):
        return Block(field, known[0].instances, ends, np.stack([one.values for one in known]))
    names = tuple(dict.fromkeys(name for one in known for name in one.instances))
    column = {name: index for index, name in enumerate(names)}
    values = np.full((len(ends), len(names)), MISSING, np.int64)
    for row, one in enumerate(readings):
        if one is not None:
            values[row, [column[name] for name in one.instances]] = one.values
    return Block(field, names, ends, values)
