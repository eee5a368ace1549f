"""Waiting for disks and memory, told by the kernel's account of pressure."""

from __future__ import annotations

from collections.abc import Iterator

from exhume.detect import shown
from exhume.detect.storms import storms
from exhume.model.finding import Finding
from exhume.model.observation import Observation

_PRESSURE: tuple[tuple[str, str, str], ...] = (
    ("pressure.io.full_us", "io-stall", "all threads waited for a disk"),
    ("pressure.memory.full_us", "memory-stall", "all threads waited for memory"),
)
_FLOOR_US = 200_000
"""A fifth of the time."""
_BLOCKED = 8


def pressure(seen: Observation) -> Iterator[Finding]:
    for field, kind, what in _PRESSURE:
        for one in storms(seen.node_series(field), _FLOOR_US, least_seconds=2):
            yield Finding(
                kind,
                f"{what} {one.mean / 1e4:.0f} % of {one.window.seconds:.0f} s",
                one.window,
                figures={"percent": round(one.mean / 1e4, 1)},
                unusual=one.times_usual,
                check=shown.series(field, one.window),
            )


def blocked(seen: Observation) -> Iterator[Finding]:
    for one in storms(seen.node_series("system.blocked"), _BLOCKED, least_seconds=5):
        yield Finding(
            "io-stall",
            f"{one.mean:.0f} threads stood still waiting for I/O for {one.window.seconds:.0f} s",
            one.window,
            figures={"threads": round(one.mean, 1)},
            unusual=one.times_usual,
            check=shown.series("system.blocked", one.window),
        )
