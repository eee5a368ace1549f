"""Starts and ends of units, containers and processes: what `exhume units` asks and answers."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from exhume.model.arrays import F64, I32, I64, Bool
from exhume.model.window import Window

Mark = Literal["crash loop", "loop", "many short jobs", "scheduled", "healthy"]
"""From worst to best; the rules are in `derive.units`."""


class ProcessEvents(Struct, frozen=True):
    """Execs and exits as columns of one length, in order of time: there may be 400,000."""

    names: tuple[str, ...]
    wall_ns: I64
    is_exec: Bool
    """Else an exit."""
    name: I32
    parent: I32
    """Both index `names`; -1 where not known."""
    parent_pid: I64
    """-1 where not known."""
    pid: I64
    """-1 where one row stands for several processes."""
    count: I64
    lifetime_seconds: F64
    """Of an exit, the median where a row stands for several; NaN where not known."""

    def __len__(self) -> int:
        return len(self.wall_ns)


def no_lives() -> ProcessEvents:
    """Nobody was born, and nobody died."""
    none, numbers = np.empty(0, np.int64), np.empty(0, np.int32)
    return ProcessEvents(
        (), none, np.empty(0, np.bool_), numbers, numbers, none, none, none, np.empty(0)
    )


class ProcessTime(Struct, frozen=True):
    """What one process took of the cores in a window, by its samples."""

    comm: str
    pid: int
    parent_pid: int
    cgroup: str
    unit: str
    """The systemd unit of that cgroup; empty where it has none."""
    container_id: str
    core_ns: int


class Boot(Struct, frozen=True):
    """When the machine ran from one boot to the next, as far as it was recorded."""

    node: str
    boot_id: str
    kernel: str
    """Empty where only roll-ups are left."""
    window: Window


class Lifecycle(Struct, frozen=True):
    """A unit, a container (by its name, over all its ids), or a program under one parent."""

    kind: Literal["unit", "container", "process"]
    name: str
    detail: str
    """The parent that starts a process, the image of a container; `cron` of what cron starts."""
    mark: Mark
    starts: int
    starts_per_hour: float
    most_starts_in_10_minutes: int
    restarts: int | None
    """As its supervisor counts them; 0 for what is removed and run anew. None: nobody counts."""
    ids: int | None
    """Of a container: under how many ids it came."""
    pace_seconds: float | None
    """From one start to the next, where that is steady."""
    success_percent_of_known_ends: float | None
    """None where nobody says how it ended, as for bare processes."""
    median_lifetime_seconds: float | None
    last_start_wall_ns: int | None
    cgroups_born: int | None = None
    """Memory cgroups that were made under its name."""
    zombies_per_start: float | None = None
    """Memory cgroups that each start left behind."""
    zombies_at_most: bool = False
    """The figure is an upper bound: others may have left some of them."""
    memory_bytes_per_start: float | None = None
    """What those zombies hold of the kernel's memory, where that could be measured."""
    cpu_seconds_per_start: float | None = None
    looked_every_seconds: float | None = None
    """How far apart those looks were that its starts are known by. None where each was told."""
    starts_at_least: bool = False
    """Looks miss what starts and ends in between: it starts at least so often, and its pace is at
    most so slow."""
    lifetime_at_most: bool = False
    """It had ended when somebody looked, and may have long before."""
    restarts_so_far: int | None = None
    """All that its supervisor has counted, also before the window, where the last look shows a
    loop by that: it waits for one more, or has just begun."""
    starts_over_time: tuple[int, ...] = ()
    """In equal parts of the window, from its start to its end."""

    @property
    def is_of_cron(self) -> bool:
        """A program that cron starts, as its log tells."""
        return self.kind == "unit" and self.detail == "cron"


class UnitsAnswer(Struct, frozen=True):
    """`exhume units`: who keeps dying, and what each start costs. The worst first."""

    window: Window
    recorded_seconds: float
    lifecycles: tuple[Lifecycle, ...]
    notes: tuple[str, ...] = ()
    """What is missing, and what weakens the answer."""
    is_told: bool = True
    """Would a start have been seen? If not, that nobody loops is not known."""
