"""The commands that show what a finding claims."""

from __future__ import annotations

import math
from shlex import quote

from exhume.model.window import Window

_NS = 1_000_000_000
_BESIDE_SECONDS = 11
"""Some sources are read every 10 s."""


def span(window: Window) -> str:
    """As options: epoch seconds are unambiguous wherever they are pasted."""
    return f"--from {window.start_ns / 1e9:.3f} --to {window.end_ns / 1e9:.3f}"


def whole_span(window: Window, beside_seconds: int = 0) -> str:
    """The same in whole seconds, so that nothing of it is cut off."""
    start, end = window.start_ns // _NS - beside_seconds, -(-window.end_ns // _NS) + beside_seconds
    return f"--from {start} --to {max(end, start + 1)}"


def span_from(wall_ns: int, seconds: float) -> str:
    """From the second on in which that is."""
    return f"--at {wall_ns // _NS} --for {math.ceil(seconds) + 1}s"


def series(field: str, window: Window, instance: str = "") -> str:
    """With a reading before and after: else there is nothing to take a rate of. The instance comes
    next to the field: after an option it would not be taken for one."""
    which = f" {quote(instance)}" if instance else ""
    return f"exhume series {field}{which} {whole_span(window, _BESIDE_SECONDS)}"


def top(window: Window, core: int | None = None, comm: str = "") -> str:
    where = "" if core is None else f" --core {core}"
    who = f" --comm {comm}" if comm.isidentifier() else ""
    return f"exhume top {span(window)}{where}{who}"
