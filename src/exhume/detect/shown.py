"""The commands that show what a finding claims."""

from __future__ import annotations

from shlex import quote

from exhume.model.window import Window


def span(window: Window) -> str:
    """As options: epoch seconds are unambiguous wherever they are pasted."""
    return f"--from {window.start_ns / 1e9:.3f} --to {window.end_ns / 1e9:.3f}"


def series(field: str, window: Window, instance: str = "") -> str:
    """The instance comes next to the field: after an option it would not be taken for one."""
    which = f" {quote(instance)}" if instance else ""
    return f"exhume series {field}{which} {span(window)}"


def top(window: Window, core: int | None = None, comm: str = "") -> str:
    where = "" if core is None else f" --core {core}"
    who = f" --comm {comm}" if comm.isidentifier() else ""
    return f"exhume top {span(window)}{where}{who}"
