"""Roll-ups: what is summed up when a segment closes, so that hours are as quick to ask as seconds.

How they are summed up is in `store.summing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.model.arrays import I32, I64, U16, U32
from exhume.model.sample import Stretch, Threads
from exhume.perf.distinct import distinct_rows
from exhume.store.column_types import numbering

I16: TypeAlias = NDArray[np.int16]

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
MIN_FRAME_MS = 300
"""A frame under this in a minute (0.5 % of one core) is not kept: baselines may lack that."""
MAX_FRAMES_A_MINUTE = 3_000
"""No more (process, frame) pairs a minute than this, those with most time first."""


class CoreSeconds(Struct, frozen=True):
    """What each core did between readings of /proc/stat, or as samples tell, in permille."""

    cores: tuple[int, ...]
    start_ns: I64
    end_ns: I64
    """Both of shape (intervals,)."""
    permille: I16
    """Shape (len(MAP_MODES), cores, intervals); -1 where not known. In memory interval by interval,
    which is how the map of cores adds them up."""
    gap_ms: U16
    """Shape (cores, intervals): the longest wait for a sample that ended in this interval."""


class ProcessSeconds(Struct, frozen=True):
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


class FrameMinutes(Struct, frozen=True):
    """Rows of (minute, process name, frame): the core time in it and below it."""

    minute: I32
    """Whole minutes since the segment began."""
    process: I32
    frame: I32
    """Both index the frames of the tree; the first is the process's own frame."""
    inclusive_ms: U32
    self_ms: U32


class RollUps(Struct, frozen=True):
    """Those of a segment that its minutes are made of."""

    core_seconds: CoreSeconds | None
    sampled_seconds: CoreSeconds | None
    process_seconds: ProcessSeconds


class Processes(Struct, frozen=True):
    """Threads put together by (pid, name)."""

    of_thread: I32
    first_thread: I32
    """A thread of each process: look its pid, name and cgroup up there."""

    def __len__(self) -> int:
        return len(self.first_thread)


def processes_of(threads: Threads) -> Processes:
    name = np.fromiter(map(numbering().__getitem__, threads.comm), np.int64, len(threads))
    first, which = distinct_rows(threads.pid.astype(np.int64), name)
    return Processes(which.astype(np.int32), first.astype(np.int32))


def nodes_by_rank(counts: I32 | I64) -> I32:
    """Nodes of a stack tree, those most samples end at first: small numbers compress."""
    seen = np.flatnonzero(counts)
    ordered = seen[np.argsort(-counts[seen].astype(np.int64), kind="stable")]
    return np.concatenate([ordered, np.flatnonzero(counts == 0)]).astype(np.int32)


def weights_ns(stretches: Sequence[Stretch], time_ns: I64) -> I64:
    """The core time each sample stands for: one over the rate in force."""
    weight = np.array([period_ns(stretch) for stretch in stretches] or [0], np.int64)
    if len(stretches) < 2:
        return np.broadcast_to(weight, time_ns.shape)
    starts = np.array([stretch.start_ns for stretch in stretches], np.int64)
    return weight[np.clip(np.searchsorted(starts, time_ns, "right") - 1, 0, None)]


def period_ns(stretch: Stretch) -> int:
    return round(1e9 / stretch.rate_hz) if stretch.rate_hz > 0 else 0
