"""Collects the samples of one input: their rows, how often they came, and what tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from exhume.ingest.intervals import growing
from exhume.ingest.periods import Periods, settled
from exhume.ingest.piece import NO_SKETCH, Interval
from exhume.ingest.row_table import RowTable
from exhume.ingest.rows import RowWriter, Sketch, usual_rate_hz
from exhume.model.arrays import I32, I64, U16, U64, Bool
from exhume.model.core import NO_CORE
from exhume.model.stack import FrameKind, StackTree
from exhume.perf.eventnames import UNKNOWN, is_of_a_part, is_time_like, no_time, of_a_part

MAX_DISTANCE_NS = 14 * 86_400 * 1_000_000_000
"""No capture is longer: times that are further from the others are damage."""
NO_TIMES = "its samples have no times: they are laid out one after the other, in the file's order"
NONE_LEFT = "there are no samples in what is left of it"
NO_SAMPLES = (
    "it holds no samples: nothing ran that was watched, perf ended before it wrote any, or it is "
    "of `perf stat record`"
)
TOO_MANY = (
    "it has more different functions, stacks or threads than are kept: what comes late in it is "
    "shown as `[more …]`; in pieces of some minutes each it would be whole"
)
TOO_MANY_TOGETHER = (
    "with the other inputs of the same minutes it has more different functions, stacks, threads or "
    "births than are kept: some are `[more …]`; in a directory of its own it would be whole"
)
_UNKNOWN_RATE_HZ = 1000.0


class Seen(Struct):
    """When and where samples were taken, whether they are kept or not."""

    first_ns: int | None = None
    last_ns: int | None = None
    cores: set[int] = field(default_factory=set)
    """As far as they say."""
    rates: list[float] = field(default_factory=list)
    is_rate_guessed: bool = False
    sketch: Sketch = field(default_factory=Sketch)
    without_time: int = 0
    impossible: int = 0
    """Samples whose time can't be right."""
    stray: int = 0
    """Samples whose time is far from those before and after them."""
    first_stray_ns: tuple[int, int] | None = None
    """What the first of them says, and the one before it."""
    count: int = 0
    """Samples with a time that can be, kept or not."""
    idle: int = 0
    guessed_idle: int = 0
    """Of those, what only the place in the kernel tells."""
    nameless_idle: int = 0
    """Samples of the idle task of which nobody can tell whether the core idled: no names."""
    periods: Periods = field(default_factory=Periods)
    begins_ns: dict[int, int] = field(default_factory=dict)
    """Of each core its first sample, where that is all that tells since when it was watched."""

    def join(self, other: Seen) -> None:
        """What somebody else saw of the same input."""
        self._span(other.first_ns, other.last_ns)
        self.cores |= other.cores
        self.rates += other.rates
        self.is_rate_guessed |= other.is_rate_guessed
        self.sketch.join(other.sketch.hashes)
        self.without_time += other.without_time
        self.impossible += other.impossible
        self.stray += other.stray
        self.first_stray_ns = self.first_stray_ns or other.first_stray_ns
        self.count += other.count
        self.idle += other.idle
        self.guessed_idle += other.guessed_idle
        self.nameless_idle += other.nameless_idle
        self.periods.join(other.periods)
        self._begin(other.begins_ns)

    def note_begins(self, time: I64, core: U16) -> None:
        """Of a capture of which each core's buffer reaches back as far as it could hold."""
        for one in np.flatnonzero(np.bincount(core)).tolist():
            if one != NO_CORE:
                self._begin({one: int(time[core == one].min())})

    def _begin(self, begins_ns: Mapping[int, int]) -> None:
        for core, first_ns in begins_ns.items():
            self.begins_ns[core] = min(first_ns, self.begins_ns.get(core, first_ns))

    def note_stray(self, time: I64, is_stray: Bool) -> None:
        """Of samples in the order of the file."""
        rows = np.flatnonzero(is_stray)
        self.stray += len(rows)
        if len(rows) and self.first_stray_ns is None:
            self.first_stray_ns = int(time[rows[0]]), int(time[rows[0] - 1])

    def add(self, time: I64, core: U16, tid: I32, period: I64, rate_hz: float | None) -> None:
        """`period`: not above 0 where a sample does not say it."""
        if not len(time):
            return
        self._span(int(time.min()), int(time.max()))
        self.count += len(time)
        self.cores.update(np.flatnonzero(np.bincount(core)).tolist())
        self.cores.discard(NO_CORE)
        self.sketch.add(time, core, tid)
        self.periods.add(period)
        if self.without_time:  # their distances are made up
            self.rates.append(rate_hz or _UNKNOWN_RATE_HZ)
            self.is_rate_guessed |= not rate_hz
        elif found := rate_hz or _rate_of(time, core, tid, period):
            self.rates.append(found)
            self.is_rate_guessed |= not rate_hz

    def _span(self, first_ns: int | None, last_ns: int | None) -> None:
        if first_ns is not None:
            self.first_ns = first_ns if self.first_ns is None else min(self.first_ns, first_ns)
        if last_ns is not None:
            self.last_ns = last_ns if self.last_ns is None else max(self.last_ns, last_ns)

    def intervals(
        self, event: str, rate_hz: float | None, cores: tuple[int, ...] = ()
    ) -> tuple[Interval, ...]:
        """`rate_hz`: where the input tells it. `cores`: those that were watched."""
        if self.first_ns is None or self.last_ns is None:
            return ()
        rate = self._rate_hz(rate_hz) if is_time_like(event) else self._mean_hz()
        last_ns = self.last_ns + round(1e9 / rate)
        whole = Interval(self.first_ns, last_ns, event or UNKNOWN, rate, cores)
        return growing(whole, self.begins_ns)

    def _rate_hz(self, told: float | None) -> float:
        return told or (float(np.median(self.rates)) if self.rates else _UNKNOWN_RATE_HZ)

    def _mean_hz(self) -> float:
        """All that are kept weigh as much as one core for the whole time: of what is no time,
        percentages of one core are then shares of its samples."""
        length_ns = (self.last_ns or 0) - (self.first_ns or 0)
        kept = self.count - self.idle
        return (kept - 1) * 1e9 / length_ns if kept > 1 and length_ns > 0 else _UNKNOWN_RATE_HZ

    @property
    def fingerprint(self) -> U64:
        """The same for the same samples."""
        return NO_SKETCH if self.without_time else self.sketch.hashes

    def notes(self, event: str, rate_hz: float | None) -> list[str]:
        """`rate_hz`: as in `intervals`."""
        found = [NO_TIMES] if self.without_time else []
        if self.first_ns is not None and not is_time_like(event):
            found.append(no_time(event))
        elif rate_hz is None and self.first_ns is not None and not self.rates:
            found.append(
                "how often it was sampled is not told, and it has too few samples to see it: taken "
                f"for {_rounded(_UNKNOWN_RATE_HZ)} times a second"
            )
        elif rate_hz is None and self.is_rate_guessed and self.without_time:
            found.append(
                "how often it was sampled is not told either: taken for "
                f"{_rounded(_UNKNOWN_RATE_HZ)} times a second"
            )
        elif rate_hz is None and self.is_rate_guessed:
            found.append(
                "how often it was sampled is not told: by the distances of its samples about "
                f"{_rounded(self._rate_hz(None))} times a second on a busy core"
            )
        if self.first_ns is not None and is_of_a_part(event):
            found.append(of_a_part(event))
        # A tracepoint that was not asked for at a rate may count amounts: sched_stat_runtime does.
        is_sought = rate_hz is not None or is_time_like(event)
        if is_sought and (unsettled := self.periods.note(event)):
            found.append(unsettled)
        if self.begins_ns and self.last_ns is not None:
            least = max(self.begins_ns, key=self.begins_ns.__getitem__)
            found.append(
                "of each core it has what its buffer held last (--overwrite), of core "
                f"{least} no more than {(self.last_ns - self.begins_ns[least]) / 1e9:.3g} s: "
                "before, a core counts as not recorded"
            )
        if self.guessed_idle:
            found.append(
                f"guessed: {self.guessed_idle} samples of the idle task have no names, and are "
                "taken as idle by the place in the kernel where most of them are"
            )
        if self.nameless_idle:
            found.append(
                f"{self.nameless_idle} samples of the idle task have no names: whether the core "
                "idled or worked for an interrupt can't be told, and they count as busy"
            )
        return found

    def problems(self) -> list[str]:
        found = []
        if self.impossible:
            found.append(f"{self.impossible} samples have times that can't be; they are left out")
        if self.first_stray_ns is not None:
            said, before = (f"{time / 1e9:.6f}" for time in self.first_stray_ns)
            found.append(
                f"{self.stray} samples have times far from those before and after them, the first "
                f"{said} s after one at {before} s; they are left out"
            )
        return found


def _rate_of(time: I64, core: U16, tid: I32, period: I64) -> float | None:
    rows = settled(period)
    return usual_rate_hz(time[rows], core[rows], tid[rows])


def _rounded(rate_hz: float) -> str:
    return f"{rate_hz:,.0f}" if rate_hz >= 100 else f"{rate_hz:.3g}"


class Collector:
    def __init__(self, folder: Path, prefix: str = "") -> None:
        self._rows = RowWriter(folder, prefix)
        self.seen = Seen()
        self._middle: int | None = None

    @property
    def kept(self) -> int:
        return self._rows.count

    def times(self, time: I64, is_missing: Bool, rate_hz: float | None) -> I64:
        """Samples without a time get one, a period after the one before: `NO_TIMES`."""
        missing = np.flatnonzero(is_missing)
        if not len(missing):
            return time
        places = self.seen.without_time + np.arange(len(missing))
        filled = time.copy()
        filled[missing] = 1 + (places * 1e9 / (rate_hz or _UNKNOWN_RATE_HZ)).astype(np.int64)
        self.seen.without_time += len(missing)
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
        self.seen.impossible += int(wanted.sum() - is_near.sum())
        return is_near

    def keep(self, time: I64, core: U16, thread: I64, node: I64) -> None:
        self._rows.add(time, core, thread, node)

    def rows(self, renumbered: I64) -> RowTable:
        """All that were kept. `renumbered`: the final number of each node."""
        return self._rows.finish(renumbered)

    def close(self) -> None:
        self._rows.close()


def dropped(count: int) -> str:
    return f"the kernel dropped {count} records while it was recorded"


def named_ratio(tree: StackTree) -> float:
    """How many of the frames have names."""
    kinds = np.array([frame.kind for frame in tree.frames], np.uint8)[tree.frame[1:]]
    frames = kinds[kinds != FrameKind.PROCESS]
    return float((frames != FrameKind.UNKNOWN).mean()) if len(frames) else 1.0
