"""Something with a time: an exec, an exit, a core going off line, a change of rate."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Event(Struct, frozen=True):
    time_ns: int
    kind: str
    """One of `EVENT_KINDS` of `model.fields`."""
    subject: str
    """Who or what it happened to: a process name, a unit, a device, a core."""
    text: str = ""
    core: int | None = None
    pid: int | None = None
    count: int = 1
    """More than one when like events of one second were folded together (a fork storm)."""
    fields: Mapping[str, str | int | float] = field(default_factory=dict)
