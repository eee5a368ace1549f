"""Samples and the threads they hit, as columns."""

from __future__ import annotations

from msgspec import Struct

from exhume.model.arrays import I32, I64, U16, U32


class Samples(Struct, frozen=True):
    """One row per sample: at this time this core ran this thread in this stack.

    Idle-loop samples are not here; interrupt work on top of an idle core is.
    """

    time_ns: I64
    core: U16
    thread: I32
    """Index into the segment's `Threads`."""
    stack: I32
    """Node of the segment's `StackTree`."""
    weight_ns: U32
    """How much core time this sample stands for: one over the rate at that time."""

    def __len__(self) -> int:
        return len(self.time_ns)


class Threads(Struct, frozen=True):
    """One row per (thread, name, cgroup): an exec or a renaming makes a new row."""

    pid: I32
    tid: I32
    """Both negative where not known."""
    parent_pid: I32
    """-1 where not known."""
    comm: tuple[str, ...]
    cgroup: tuple[str, ...]
    """Path of its cgroup; empty where not known."""

    def __len__(self) -> int:
        return len(self.pid)


class Stretch(Struct, frozen=True, omit_defaults=True):
    """From when on samples were taken how: rate and event may change within a recording."""

    start_ns: int
    event: str
    """`cpu-clock`, `cycles`, or `none` where only counters were recorded."""
    rate_hz: float
    cores: tuple[int, ...] = ()
    """Of a capture: those that were watched, whether they have samples or idled; empty where that
    is not known. Counters of a recorder tell of all cores."""
