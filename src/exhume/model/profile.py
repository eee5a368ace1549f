"""Samples one by one, or added up, with the threads and stacks they name: what exports are made of.

The numbers of threads and stacks hold for the whole of it, whatever segments it came from.
"""

from __future__ import annotations

from msgspec import Struct

from exhume.model.arrays import I32, I64, U16
from exhume.model.stack import StackTree
from exhume.model.window import Window


class ProfiledThread(Struct, frozen=True):
    pid: int
    tid: int
    comm: str
    cgroup: str
    unit: str
    container: str
    pod: str
    boot_id: str
    """Pids of two boots are two processes."""


class Tables(Struct, frozen=True):
    """What the columns of samples point into."""

    window: Window
    node: str
    """The machine's name; several, joined by a comma, where the recording is of several."""
    kernel: str
    event: str
    """`cpu-clock`, `cycles`: what made the samples; the first of several."""
    tree: StackTree
    """Parents come before their children; it need not be breadth-first."""
    threads: tuple[ProfiledThread, ...]
    is_of_time: bool = True
    """Do all samples measure time on a core? Else they can only be counted."""


class SampleBatch(Struct, frozen=True):
    """Samples in order of wall time."""

    wall_ns: I64
    core: U16
    thread: I32
    """Index into the threads."""
    stack: I32
    """Node of the tree."""
    weight_ns: I64
    """How much core time each stands for."""

    def __len__(self) -> int:
        return len(self.wall_ns)


class Profile(Struct, frozen=True):
    """Every sample of a window."""

    tables: Tables
    samples: SampleBatch


class ProfileTotals(Struct, frozen=True):
    """The samples of a window added up by core, thread and stack: no order in time is left.

    Where that would be too many rows, over cores; where it still is, over a process's threads.
    """

    tables: Tables
    detail: str
    """`core`, `thread` or `process`: what is still told apart."""
    core: U16
    """NO_CORE where added up over cores."""
    thread: I32
    """Any one of the process's, where added up over threads."""
    stack: I32
    count: I64
    weight_ns: I64

    def __len__(self) -> int:
        return len(self.count)
