"""Readings of memory cgroups → how many zombies, how fast they grow, what that will cost. Pure.

Only valid counts are used: a count of live cgroups that was read while they came and went is not
stored, because a stale one invents zombies (`sources.memcg_count`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from exhume.derive.rates import gained
from exhume.model.answers import SeriesAnswer
from exhume.model.arrays import F64, I64
from exhume.model.memcgs import MemcgName, Outlook, Slope, Walk, ZombieParent
from exhume.model.series import MISSING
from exhume.model.window import Window

HOUR_NS = 3600 * 1_000_000_000
SECONDS_PER_ZOMBIE = 0.07e-3
"""One walk on bare metal: 0.7 s for 10,000 (kernel commit dd8657b6c1cb, on memory.numa_stat)."""
WALKS_SECONDS = (1.0, 5.0)
"""5 s is what a network card's watchdog waits for."""
TOGETHER_NS = 1_500_000_000
"""Counts further apart are of two different moments: a stale one invents zombies."""
LEAST_WALKED = 200
"""With fewer zombies a walk takes its time for something else."""
_MOST_POINTS = 400
_LEAST_READINGS = 3
_LEAST_SPAN_NS = 60 * 1_000_000_000
_LEAST_MOVED = 50
"""With less movement the memory of zombies drowns in that of everything else."""
_MOSTLY_GONE = 0.5
_KERNEL = re.compile(r"(\d+)\.(\d+)")


def known(series: SeriesAnswer | None) -> tuple[I64, I64]:
    """Times and values of what was read."""
    if series is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    here = series.values != MISSING
    return series.wall_ns[here], series.values[here]


def last(series: SeriesAnswer | None) -> int | None:
    _, values = known(series)
    return int(values[-1]) if len(values) else None


def at_once(
    zombies: SeriesAnswer | None, tracked: SeriesAnswer | None, live: SeriesAnswer | None
) -> tuple[int | None, int | None, int | None]:
    """The last count of zombies, and how many were tracked and live at that moment.

    What was not read then is what the other two leave. Without zombies the last of each.
    """
    wall, counts = known(zombies)
    if not len(counts):
        return None, last(tracked), last(live)
    dead, at = int(counts[-1]), int(wall[-1])
    kept, seen = _near(tracked, at), _near(live, at)
    if kept is None and seen is not None:
        kept = dead + seen
    if seen is None and kept is not None:
        seen = max(0, kept - dead)
    return dead, kept, seen


def _near(series: SeriesAnswer | None, at_ns: int) -> int | None:
    wall, values = known(series)
    if not len(wall):
        return None
    nearest = int(np.abs(wall - at_ns).argmin())
    return int(values[nearest]) if abs(int(wall[nearest]) - at_ns) <= TOGETHER_NS else None


def growth(series: SeriesAnswer | None, boot: Window | None) -> Slope | None:
    """Of one boot: a reboot takes all zombies with it. None where readings are too few."""
    wall, values = known(series)
    if boot is not None:
        here = (wall >= boot.start_ns) & (wall < boot.end_ns)
        wall, values = wall[here], values[here]
    return slope(wall, values.astype(np.float64))


def since_drop(zombies: SeriesAnswer | None, boot: Window | None) -> Window | None:
    """The boot from when most of the zombies were last let go.

    Somebody freed them, or who leaves them was stopped: how they grew before that says nothing of
    what is to come, nor does the drop itself.
    """
    wall, counts = known(zombies)
    if boot is not None:
        here = (wall >= boot.start_ns) & (wall < boot.end_ns)
        wall, counts = wall[here], counts[here]
    since, most = None, 0
    for at, count in zip(wall.tolist(), counts.tolist(), strict=True):
        if count <= _MOSTLY_GONE * most and most - count >= _LEAST_MOVED:
            since, most = at, count
        most = max(most, count)
    if since is None:
        return boot
    return Window(since, boot.end_ns if boot is not None else int(wall[-1]) + 1)


def slope(wall_ns: I64, values: F64) -> Slope | None:
    """Theil and Sen: outliers move it little."""
    count = len(values)
    if count < _LEAST_READINGS or int(wall_ns[-1] - wall_ns[0]) < _LEAST_SPAN_NS:
        return None
    some = np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).round().astype(np.int64))
    hours, level = (wall_ns[some] - wall_ns[0]) / HOUR_NS, values[some]
    first, second = np.triu_indices(len(some), 1)
    apart = hours[second] - hours[first]
    slopes = (level[second] - level[first])[apart > 0] / apart[apart > 0]
    if not len(slopes):
        return None
    low, middle, high = np.percentile(slopes, (25, 50, 75))
    return Slope(float(middle), float(low), float(high), count, int(wall_ns[-1] - wall_ns[0]))


def bytes_per_zombie(
    zombies: SeriesAnswer | None, memory: Sequence[SeriesAnswer | None], boot: Window | None
) -> float | None:
    """What the kernel's memory gained with each.

    None where the count hardly moved, or the memory did not follow it.
    """
    wall, counts = known(zombies)
    if boot is not None:
        here = (wall >= boot.start_ns) & (wall < boot.end_ns)
        wall, counts = wall[here], counts[here]
    if not len(counts):
        return None
    moved = int(counts.max() - counts.min())
    if moved < _LEAST_MOVED:
        return None
    total = np.zeros(len(wall))
    for part in memory:
        at, level = known(part)
        if not len(at):
            return None
        total += np.interp(wall, at, level)
    # Pairs that moved little say nothing but noise: those that moved most decide.
    first, second = np.triu_indices(len(wall), 1)
    step = (counts[second] - counts[first]).astype(np.float64)
    far = np.abs(step) >= moved / 2
    slopes = (total[second] - total[first])[far] / step[far]
    low, middle, high = np.percentile(slopes, (25, 50, 75))
    return float(middle) if middle > 0 and high - low <= middle else None


def parents(
    held: Sequence[SeriesAnswer],
    shmem: Sequence[SeriesAnswer],
    file: Sequence[SeriesAnswer],
    anonymous: Sequence[SeriesAnswer],
) -> tuple[ZombieParent, ...]:
    """Who held zombies at the last look; the largest first."""
    parts = {
        "zombies": held,
        "shmem_bytes": shmem,
        "file_bytes": file,
        "anonymous_bytes": anonymous,
    }
    times = [known(one)[0] for series in parts.values() for one in series]
    newest = max((int(wall[-1]) for wall in times if len(wall)), default=0)
    found: dict[str, dict[str, int]] = {}
    read: dict[str, int] = {}
    for name, series in parts.items():
        for one in series:
            wall, values = known(one)
            # Whom the last look no longer named holds none any more.
            if len(wall) and newest - int(wall[-1]) < HOUR_NS // 30 and int(values[-1]) > 0:
                found.setdefault(one.instance, {})[name] = int(values[-1])
                read[one.instance] = int(wall[-1])
    made = [
        ZombieParent(
            path,
            sizes.get("zombies"),
            sizes.get("shmem_bytes", 0) if not held else None,
            sizes.get("file_bytes", 0) if not held else None,
            sizes.get("anonymous_bytes", 0) if not held else None,
            read[path],
        )
        for path, sizes in found.items()
    ]
    return tuple(sorted(made, key=lambda one: (-(one.zombies or 0), -pinned_bytes(one), one.path)))


def pinned_bytes(parent: ZombieParent) -> int:
    return (parent.shmem_bytes or 0) + (parent.file_bytes or 0) + (parent.anonymous_bytes or 0)


def names(
    births: Sequence[SeriesAnswer],
    removals: Sequence[SeriesAnswer],
    releases: Sequence[SeriesAnswer],
    boots: Sequence[Window],
    from_ns: int = 0,
) -> tuple[MemcgName, ...]:
    """What was made, removed and let go from then on, by name; who left most comes first."""
    gains: dict[str, dict[str, int]] = {}
    for what, series in (("born", births), ("removed", removals), ("released", releases)):
        since_ns = min((int(one.wall_ns[0]) for one in series if len(one.wall_ns)), default=0)
        for one in series:
            gains.setdefault(one.instance, {})[what] = gained(one, boots, since_ns, from_ns)
    found = [
        MemcgName(name, gain.get("born", 0), gain.get("removed", 0), gain.get("released", 0))
        for name, gain in gains.items()
        if any(gain.values())
    ]
    return tuple(sorted(found, key=lambda one: (-one.left, -one.born, one.name)))


def seconds_per_zombie(
    walks: Sequence[tuple[Window, float]], wall_ns: I64, counts: I64 | F64
) -> float:
    """In the median of walks, given with how long they were on a core; NaN where none tells."""
    if not len(counts):
        return float("nan")
    levels = [float(np.interp(window.start_ns, wall_ns, counts)) for window, _ in walks]
    ratios = [
        seconds / level
        for (_, seconds), level in zip(walks, levels, strict=True)
        if level >= LEAST_WALKED
    ]
    return float(np.median(ratios)) if ratios else float("nan")


def outlook(
    kernel: str,
    zombies: int | None,
    growth_per_hour: float | None,
    per_zombie: float = SECONDS_PER_ZOMBIE,
    measured_walks: int = 0,
    longest_seconds: float = 0.0,
) -> Outlook | None:
    """None where it can't be told how many there are."""
    if zombies is None or not kernel:
        return None
    walker, reschedules = walker_of(kernel)
    walks = []
    for seconds in WALKS_SECONDS:
        needed = round(seconds / per_zombie)
        in_ns: int | None = 0
        if zombies < needed:
            growing = growth_per_hour is not None and growth_per_hour > 0
            in_ns = (
                round((needed - zombies) / growth_per_hour * HOUR_NS)
                if growing and growth_per_hour is not None
                else None
            )
        walks.append(Walk(seconds, needed, in_ns))
    return Outlook(
        kernel, walker, reschedules, per_zombie, tuple(walks), measured_walks, longest_seconds
    )


def outlook_words(ahead: Outlook) -> str:
    """When one walk takes long, and by what that is told; empty where it won't at this rate."""
    one = "a typical walk" if ahead.measured_walks else "one walk"
    walk, what = ahead.walks[-1], f"{one} over them ({ahead.walker})"
    if ahead.longest_seconds >= walk.seconds:
        return f"walks over them ({ahead.walker}) took up to {ahead.longest_seconds:.1f} s already"
    if walk.in_ns is None:
        return ""
    each = f"{ahead.seconds_per_zombie * 1000:.2g} ms a zombie"
    basis = f"assuming {each}, as on bare metal"
    if ahead.measured_walks:
        basis = (
            f"{each} in {ahead.measured_walks} walks, the longest of {ahead.longest_seconds:.1f} s"
        )
    rate, when = "", "now"
    if walk.in_ns:
        rate, when = "at this rate ", _in_about(walk.in_ns)
    return f"{rate}{what} would take {walk.seconds:.0f} s {when} ({basis})"


def _in_about(ns: int) -> str:
    minutes = ns * 60 / HOUR_NS
    if minutes < 1:
        return "within a minute"
    hours = f"{minutes / 60:,.1f} hours"
    return f"in about {hours if minutes >= 120 else f'{minutes:.0f} minutes'}"


def walker_of(kernel: str) -> tuple[str, bool]:
    """What walks all zombies on this kernel, and whether it lets others run meanwhile.

    By version, because nothing in a recording shows it: memory.stat was made cheap in 5.2 (Weiner's
    series of 2019), memory.numa_stat in 5.8 (dd8657b6c1cb). Reclaim walks them on all kernels, and
    calls cond_resched() as it goes.
    """
    version = version_of(kernel) or (99, 0)
    if version < (5, 2):
        return "reading memory.stat or v1's memory.numa_stat of an ancestor", False
    if version < (5, 8):
        return "reading v1's memory.numa_stat of an ancestor", False
    return "reclaim below an ancestor", True


def version_of(kernel: str) -> tuple[int, int] | None:
    """None where it is not known."""
    match = _KERNEL.match(kernel)
    return (int(match[1]), int(match[2])) if match else None
