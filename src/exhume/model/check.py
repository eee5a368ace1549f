"""What `exhume check` sees of a node as it is now, and what it answers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from exhume.model.case import Risk
from exhume.model.container import Container
from exhume.model.evidence import IrqLine


class UnitNow(Struct, frozen=True):
    """A service as systemd tells of it; None where it does not."""

    name: str
    active_state: str | None = None
    sub_state: str | None = None
    result: str | None = None
    restarts_total: int | None = None
    unit_file_state: str | None = None


class EnabledUnit(Struct, frozen=True):
    """A unit that the machine starts by itself."""

    name: str
    path: str
    """Its file, as the node sees it."""
    wanted_by: tuple[str, ...]
    is_packaged: bool


class NodeNow(Struct, frozen=True):
    """One look at a node, without a recording. None: not there, or not to be seen."""

    kernel: str
    uptime_seconds: float
    cores: int
    units: tuple[UnitNow, ...] | None
    containers: tuple[Container, ...] | None
    zombies: int | None
    lines: tuple[IrqLine, ...] | None
    """Interrupts, with their mean rate since boot."""
    agents: tuple[EnabledUnit, ...] | None = None
    known: tuple[str, ...] | None = None
    """Patterns of the units that the user expects; None: whatever a package brought."""


class CheckAnswer(Struct, frozen=True):
    """`exhume check`."""

    wall_ns: int
    node: str
    kernel: str
    status: Literal["clean", "risks", "unknown"]
    risks: tuple[Risk, ...]
    looked: tuple[str, ...]
    """What was looked at."""
    missing: tuple[str, ...]
    """What should be there and could not be seen; with that, no risks is no clean node."""
    harmed: str = ""
    """What harm was recorded in that time already, and how to ask why; empty where none was."""
