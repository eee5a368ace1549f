"""Numbers of processes and threads."""

from __future__ import annotations


def told_id(number: int) -> int | None:
    """As it is shown. None where nobody told it: negative numbers are made up of a name (of text
    without ids), or of a task that was gone when the kernel asked for its number."""
    return number if number >= 0 else None
