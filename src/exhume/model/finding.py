"""What a detector claims: something happened, there and then, with these figures."""

from __future__ import annotations

from msgspec import Struct, field

from exhume.model.window import Window

Figure = str | int | float


class Finding(Struct, frozen=True):
    kind: str
    """The detector's word for it: `saturated-core`, `zombie-cgroups`, …"""
    claim: str
    """One sentence with the figures in it."""
    window: Window
    subject: str = ""
    """Who or what: a process name, a cgroup, a unit, a device; empty for the whole node."""
    core: int | None = None
    pid: int | None = None
    figures: dict[str, Figure] = field(default_factory=dict)
    unusual: float | None = None
    """How many times its own usual level it is; None where nothing usual is known."""
    check: str = ""
    """A command that shows the same thing."""
