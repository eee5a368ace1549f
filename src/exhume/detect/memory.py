"""Page faults, reclaim, compaction, swap, and memory of the kernel that only grows."""

from __future__ import annotations

from collections.abc import Iterator

from exhume.derive.zombies import known, slope
from exhume.detect import shown
from exhume.detect.storms import storms
from exhume.model.finding import Finding
from exhume.model.observation import Observation

# Field, what it is, and the rate from which on it is much on any machine.
_STORMS: tuple[tuple[str, str, str, float], ...] = (
    ("vmstat.pgfault", "page-fault-storm", "page faults", 100_000),
    ("vmstat.pgmajfault", "major-fault-storm", "page faults that had to read a disk", 500),
    ("vmstat.pgscan_direct", "direct-reclaim", "pages looked at by those who wait", 20_000),
    ("vmstat.pgscan_kswapd", "background-reclaim", "pages looked at by kswapd", 100_000),
    ("vmstat.allocstall", "allocation-stalls", "allocations that had to free memory first", 20),
    ("vmstat.compact_stall", "compaction-storm", "allocations that had to move memory first", 20),
    ("vmstat.pswpin", "swap-storm", "pages swapped in", 1_000),
    ("vmstat.pswpout", "swap-storm", "pages swapped out", 1_000),
    ("vmstat.drop_slab", "caches-dropped", "writes to drop_caches", 0.01),
)
_GROWING: tuple[tuple[str, str], ...] = (
    ("memory.slab_unreclaimable_bytes", "unreclaimable slab"),
    ("memory.slab_reclaimable_bytes", "reclaimable slab (dentries, inodes)"),
    ("memory.percpu_bytes", "per-CPU memory"),
)
_LEAST_GROWTH = 64 << 20
"""Bytes an hour; and a tenth of what is there."""


def memory_storms(seen: Observation) -> Iterator[Finding]:
    for field, kind, what, floor in _STORMS:
        for one in storms(seen.node_series(field), floor):
            usual = f", usually {one.usual:,.0f}" if one.usual else ""
            yield Finding(
                kind,
                f"{one.mean:,.0f} {what} a second for {one.window.seconds:.0f} s{usual}",
                one.window,
                figures={"mean_per_second": round(one.mean, 1), "peak": round(one.peak, 1)},
                unusual=one.times_usual,
                check=shown.series(field, one.window),
            )


def growth(seen: Observation) -> Iterator[Finding]:
    for field, what in _GROWING:
        wall, values = known(seen.node_series(field))
        found = slope(wall, values.astype(float))
        if found is None or found.low_per_hour <= 0:
            continue
        grown = float(values[-1] - values[0])
        if found.per_hour >= _LEAST_GROWTH and grown >= 0.1 * float(values[0]):
            minutes = (wall[-1] - wall[0]) / 60e9
            yield Finding(
                "kernel-memory-growth",
                f"{what} grew from {_size(values[0])} to {_size(values[-1])} within {minutes:.0f} "
                f"min: {_size(found.per_hour)} an hour at that pace",
                seen.window,
                subject=what,
                figures={"bytes_per_hour": round(found.per_hour), "now_bytes": int(values[-1])},
                check=shown.series(field, seen.window),
            )


def _size(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB" if count >= 2**30 else f"{count / 2**20:,.0f} MiB"
