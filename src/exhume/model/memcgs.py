"""Memory cgroups over a window: what `exhume zombies` answers."""

from __future__ import annotations

from msgspec import Struct

from exhume.model.arrays import I64
from exhume.model.window import Window


class Slope(Struct, frozen=True):
    """How fast something grows, by the median of the slopes between all pairs of readings."""

    per_hour: float
    low_per_hour: float
    high_per_hour: float
    """The middle half of those slopes."""
    readings: int
    over_ns: int


class ZombieParent(Struct, frozen=True):
    """A cgroup whose children died and are still held."""

    path: str
    zombies: int | None
    """Of v2; None on v1, where only their memory shows."""
    shmem_bytes: int | None
    """tmpfs and shared memory charged to the dead. This and the next two of v1 only."""
    file_bytes: int | None
    anonymous_bytes: int | None
    read_wall_ns: int


class MemcgName(Struct, frozen=True):
    """Memory cgroups of one name, ids and digits folded to `*`."""

    name: str
    born: int
    removed: int
    released: int
    """Let go by the kernel. Also of those that were removed before the window."""

    @property
    def left(self) -> int:
        """Removed and not let go: zombies made in this window."""
        return max(0, self.removed - self.released)


class Walk(Struct, frozen=True):
    """What becomes slow: one walk over all zombies, when it takes this long."""

    seconds: float
    zombies: int
    """How many it takes."""
    in_ns: int | None
    """From the end of the window on, at this growth; 0 when it is so already, None for never."""


class Outlook(Struct, frozen=True):
    """When walks become long at this rate. An estimate: the assumption is part of it."""

    kernel: str
    walker: str
    """What walks all zombies on this kernel."""
    reschedules: bool
    """It lets others run as it goes: it burns a core, but starves nobody there."""
    seconds_per_zombie: float
    walks: tuple[Walk, ...]
    measured_walks: int = 0
    """That this was measured by; 0 where it is assumed, as on bare metal."""
    longest_seconds: float = 0.0
    """Of those on the core; 0 where none was recorded."""


class ZombiesAnswer(Struct, frozen=True):
    """`exhume zombies`: memory cgroups that are dead and not gone."""

    window: Window
    recorded_seconds: float
    """How much of the window was recorded."""
    tracked: int | None
    live: int | None
    zombies: int | None
    """The last valid count of zombies, and the others of that moment; None where there is none."""
    read_wall_ns: int | None
    """When zombies were last counted."""
    empty: int | None
    """Live ones without processes or children: leaked directories, another disease."""
    wall_ns: I64
    counts: I64
    """Every valid count of zombies in the window."""
    growth: Slope | None
    """Of this boot, within the window; None where readings are too few."""
    boots: int
    """How many boots the window has."""
    parents: tuple[ZombieParent, ...]
    names: tuple[MemcgName, ...]
    """Those that left most first."""
    percpu_bytes: int | None
    slab_bytes: int | None
    """Unreclaimable slab. Both of the whole node, now."""
    percpu_growth: Slope | None
    slab_growth: Slope | None
    bytes_per_zombie: float | None
    """Per-CPU data and slab together, measured where the count moved enough."""
    outlook: Outlook | None
    missing: tuple[str, ...]
    """What could not be seen, and what that costs."""
    notes: tuple[str, ...] = ()
