"""A stretch of wall time, half open: [start, end)."""

from __future__ import annotations

from msgspec import Struct


class Window(Struct, frozen=True, order=True):
    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9

    def contains(self, wall_ns: int) -> bool:
        return self.start_ns <= wall_ns < self.end_ns

    def overlaps(self, other: Window) -> bool:
        return self.start_ns < other.end_ns and other.start_ns < self.end_ns

    def clip(self, other: Window) -> Window | None:
        """The part of this window that lies in the other; None where there is none."""
        start, end = max(self.start_ns, other.start_ns), min(self.end_ns, other.end_ns)
        return Window(start, end) if start < end else None


class Ended(Struct, frozen=True):
    """A recording into which nothing more comes: an imported one."""

    whole: Window
    measured: Window
    """Of that, where something was counted or sampled: a kernel log may reach back for weeks."""
