"""What a recorder does now, what it misses and what it costs: behind `exhume status`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from exhume.model.window import Window


class SourceState(Struct, frozen=True):
    name: str
    state: Literal["ok", "absent", "broken", "slow"]
    """`absent`: this kernel doesn't offer it; `broken`: it does, and it can't be read."""
    detail: str = ""


class Missing(Struct, frozen=True):
    """Something that could be recorded on this machine and isn't."""

    what: str
    """What is lost: user stacks of other users' processes, kernel log lines, …"""
    why: str
    remedy: str
    """What gives it: a capability, a setting, a package."""


class Cost(Struct, frozen=True):
    """The recorder measured by itself, over the last minute."""

    cpu_percent_of_one_core: float | None
    rss_bytes: int | None
    worst_lateness_ns: int | None
    """How late the latest tick of the last minute began."""
    bytes_per_day: int | None
    """Estimated from what was written so far."""
    lost_samples: int
    """Since the recorder started."""


class Damage(Struct, frozen=True):
    window: Window | None
    """None where not even the time could be read."""
    problem: str


class Pin(Struct, frozen=True):
    """A stretch that is kept longer than the rest."""

    window: Window
    reason: str


class Disk(Struct, frozen=True):
    """What the recording takes. The recorder writes down the limits; who asks looks at the rest."""

    keep_ns: int | None
    """Retention by age; None: no limit."""
    max_bytes: int | None
    """Retention by size; None: no limit."""
    used_bytes: int = 0
    free_bytes: int | None = None
    """On that file system."""
    oldest_wall_ns: int | None = None
    """None where nothing is recorded."""
    segments: int = 0
    recorded_ns: int = 0
    """Sum of all stretches that can be asked about, the live head included."""
    damaged: tuple[Damage, ...] = ()
    pins: tuple[Pin, ...] = ()


class Imported(Struct, frozen=True):
    """Where a recording comes from that no recorder made."""

    files: tuple[str, ...]
    wall_ns: int
    """When the last of it was imported."""


class Status(Struct, frozen=True):
    """One recorder and its data directory."""

    state: Literal["running", "stopped", "never", "imported"]
    """`never`: nobody recorded in this directory, though it may hold a copy; `imported`: it was
    made of files."""
    data_dir: str
    disk: Disk
    version: str = ""
    node: str = ""
    boot_id: str = ""
    pid: int | None = None
    since_wall_ns: int | None = None
    """When this recorder started, or when the last one stopped."""
    updated_wall_ns: int | None = None
    """When the recorder last said all this."""
    event: str = "none"
    """What a sample is taken by: `cpu-clock`, `cycles`, or `none`: only counters are recorded."""
    rate_hz: float | None = None
    """Samples a second and core in force."""
    wanted_rate_hz: float | None = None
    """What was asked for; the rate in force is lower when the recorder would exceed its budget."""
    cores_online: int = 0
    cores_sampled: int = 0
    cost: Cost | None = None
    """None where no recorder runs."""
    sources: tuple[SourceState, ...] = ()
    missing: tuple[Missing, ...] = ()
    imported: Imported | None = None
    """What the recording was made of, where that was files."""
