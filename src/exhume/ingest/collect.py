"""Collects the samples of one input: their rows, how often they came, and what tells them apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exhume.ingest.piece import NO_SKETCH, Interval, Sampled
from exhume.ingest.rows import RowWriter, Sketch, usual_rate_hz
from exhume.model.arrays import I32, I64, U16, Bool
from exhume.model.sample import NO_CORE, Threads
from exhume.model.stack import FrameKind, StackTree

MAX_DISTANCE_NS = 14 * 86_400 * 1_000_000_000
"""No capture is longer: times that are further from the others are damage."""
NO_TIMES = "its samples have no times: they are laid out one after the other, in the file's order"
_UNKNOWN_RATE_HZ = 1000.0


class Collector:
    def __init__(self, folder: Path) -> None:
        self._rows = RowWriter(folder)
        self._sketch = Sketch()
        self._rates: list[float] = []
        self._cores: set[int] = set()
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.without_time = 0
        self.impossible = 0
        """Samples whose time can't be right."""
        self.idle = 0
        self._middle: int | None = None

    @property
    def kept(self) -> int:
        return self._rows.count

    @property
    def cores(self) -> tuple[int, ...]:
        """Where samples were taken, as far as they say."""
        return tuple(sorted(self._cores - {NO_CORE}))

    def times(self, time: I64, is_missing: Bool, rate_hz: float | None) -> I64:
        """Samples without a time get one, a period after the one before: `NO_TIMES`."""
        missing = np.flatnonzero(is_missing)
        if not len(missing):
            return time
        places = self.without_time + np.arange(len(missing))
        filled = time.copy()
        filled[missing] = 1 + (places * 1e9 / (rate_hz or _UNKNOWN_RATE_HZ)).astype(np.int64)
        self.without_time += len(missing)
        return filled

    def possible(self, time: I64, wanted: Bool) -> Bool:
        """Those of the wanted samples whose time is near the others'."""
        if self._middle is None and wanted.any():
            self._middle = int(np.median(time[wanted]))
        middle = self._middle or 0
        low, high = max(0, middle - MAX_DISTANCE_NS), middle + MAX_DISTANCE_NS
        if len(time) and low <= int(time.min()) and int(time.max()) <= high:
            return wanted
        is_near: Bool = wanted & (time >= low) & (time <= high)
        self.impossible += int(wanted.sum() - is_near.sum())
        return is_near

    def saw(self, time: I64, core: U16, tid: I32, rate_hz: float | None = None) -> None:
        """Samples were taken, whether they are kept or not."""
        if not len(time):
            return
        first, last = int(time.min()), int(time.max())
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = last if self.last_ns is None else max(self.last_ns, last)
        self._cores.update(np.flatnonzero(np.bincount(core)).tolist())
        self._sketch.add(time, core, tid)
        if found := rate_hz or usual_rate_hz(time, core):
            self._rates.append(found)

    def keep(self, time: I64, core: U16, thread: I64, node: I64) -> None:
        self._rows.add(time, core, thread, node)

    def sampled(
        self, tree: StackTree, renumbered: I64, threads: Threads, event: str, rate_hz: float | None
    ) -> Sampled:
        """`renumbered`: the final number of each node. `rate_hz`: where the input tells it."""
        rate = rate_hz or (float(np.median(self._rates)) if self._rates else 0.0)
        intervals: tuple[Interval, ...] = ()
        if self.first_ns is not None and self.last_ns is not None:
            period = round(1e9 / rate) if rate else 1
            intervals = (Interval(self.first_ns, self.last_ns + period, event or "unknown", rate),)
        sketch = NO_SKETCH if self.without_time else self._sketch.hashes
        return Sampled(self._rows.finish(renumbered), tree, threads, intervals, sketch)

    def problems(self) -> list[str]:
        if not self.impossible:
            return []
        return [f"{self.impossible} samples have times that can't be; they are left out"]

    def close(self) -> None:
        self._rows.close()


def named_ratio(tree: StackTree) -> float:
    """How many of the frames have names."""
    kinds = np.array([frame.kind for frame in tree.frames], np.uint8)[tree.frame[1:]]
    frames = kinds[kinds != FrameKind.PROCESS]
    return float((frames != FrameKind.UNKNOWN).mean()) if len(frames) else 1.0
