"""Zombie memory cgroups, and cgroups that used up their share of the cores."""

from __future__ import annotations

from collections.abc import Iterator

from exhume.derive.rates import rates
from exhume.derive.zombies import known, slope, walker_of
from exhume.detect import shown
from exhume.detect.storms import storms
from exhume.model.finding import Finding
from exhume.model.memcgs import ZombieParent
from exhume.model.observation import Observation
from exhume.model.window import Window

MANY_ZOMBIES = 2_000
"""Walking so many takes longer than a timer tick (0.07 ms each on bare metal)."""
FAST_GROWTH = 300.0
"""An hour: a restart every 10 s makes 360."""
_THROTTLED_NS = 100_000_000
"""Stopped for a tenth of each second."""
_OFTEN, _LEAST_PERIODS = 0.25, 10
"""Of its periods: from here on the usual alert for it goes off (CPUThrottlingHigh)."""


def zombies(seen: Observation) -> Iterator[Finding]:
    answer = seen.zombies
    if answer is None or answer.zombies is None:
        return
    growth = answer.growth.per_hour if answer.growth is not None else 0.0
    if answer.zombies < MANY_ZOMBIES and not (growth >= FAST_GROWTH and answer.zombies >= 50):
        return
    holder = next((one.path for one in answer.parents), "")
    kind = _pin(answer.parents[0]) if answer.parents else ""
    figures: dict[str, str | int | float] = {
        "zombies": answer.zombies,
        "live": answer.live if answer.live is not None else -1,
    }
    if answer.growth is not None:  # one count tells of none
        figures["growth_per_hour"] = round(growth, 1)
    if seen.kernel:
        walker, reschedules = walker_of(seen.kernel)
        figures |= {"walker": walker, "reschedules": "yes" if reschedules else "no"}
    if holder:
        figures |= {"holder": holder, "pinned_by": kind}
    below = f" below {holder}" if holder else ""
    grows = "" if answer.growth is None else f", growing by {growth:,.0f} an hour"
    yield Finding(
        "zombie-cgroups",
        f"{answer.zombies:,} zombie memory cgroups{below}{grows}",
        seen.window,
        subject=holder,
        figures=figures,
        check=f"exhume zombies {shown.span(seen.window)}",
    )


def uncounted(seen: Observation) -> Iterator[Finding]:
    """Where nobody counted those with a directory: that the kernel keeps more and more of them."""
    if seen.zombies is not None and seen.zombies.zombies is not None:
        return
    wall, values = known(seen.node_series("memcg.tracked"))
    found = slope(wall, values.astype(float))
    if found is None or found.low_per_hour < FAST_GROWTH or values[-1] < MANY_ZOMBIES:
        return
    yield Finding(
        "memory-cgroups-growth",
        f"the kernel keeps {values[-1]:,} memory cgroups, {found.per_hour:,.0f} more an hour; "
        "whether they are zombies only a count of directories tells",
        seen.window,
        figures={"tracked": int(values[-1]), "growth_per_hour": round(found.per_hour, 1)},
        check=shown.series("memcg.tracked", seen.window),
    )


def _pin(parent: ZombieParent) -> str:
    """What keeps them, by v1's account of the memory that dead children still hold."""
    sizes = {
        "tmpfs": parent.shmem_bytes or 0,
        "page cache": parent.file_bytes or 0,
        "anonymous memory": parent.anonymous_bytes or 0,
    }
    most = max(sizes, key=lambda name: sizes[name])
    return most if sizes[most] else "not known"


def throttled(seen: Observation) -> Iterator[Finding]:
    """CPU bandwidth: its threads were ready, and stopped until the next period."""
    for series in seen.series.get("cgroup.cpu_throttled_ns", ()):
        long = storms(series, _THROTTLED_NS, times=2.0)
        for one in long:
            stopped = one.mean / 1e9
            # The kernel adds up the cores on which it was stopped.
            how = f"for {stopped:.2f} s of each second"
            if stopped > 1:
                how = f"on {stopped:.1f} cores at a time"
            yield Finding(
                "cpu-throttling",
                f"{series.instance} was stopped {how} by its CPU limit, for "
                f"{one.window.seconds:.0f} s",
                one.window,
                subject=series.instance,
                figures={"throttled_seconds_per_second": round(stopped, 3)},
                unusual=one.times_usual,
                check=shown.series("cgroup.cpu_throttled_ns", one.window, series.instance),
            )
        for window, share in _often(seen, series.instance):
            if not any(window.overlaps(one.window) for one in long):
                yield Finding(
                    "cpu-throttling",
                    f"{series.instance} was stopped by its CPU limit in {100 * share:.0f} % of its "
                    f"periods, for {window.seconds:.0f} s",
                    window,
                    subject=series.instance,
                    figures={"throttled_percent_of_periods": round(100 * share, 1)},
                    check=shown.series("cgroup.cpu_throttled", window, series.instance),
                )


def _often(seen: Observation, cgroup: str) -> Iterator[tuple[Window, float]]:
    """Readings in which so many of its periods ended early, however short each stop was."""
    periods = seen.instance("cgroup.cpu_periods", cgroup)
    stops = seen.instance("cgroup.cpu_throttled", cgroup)
    if periods is None or stops is None:
        return
    passed, stopped = rates(periods), rates(stops)
    by_end = dict(zip(passed.per_second.end_ns.tolist(), passed.rise.tolist(), strict=True))
    for at, rise in enumerate(stopped.rise.tolist()):
        end = int(stopped.per_second.end_ns[at])
        of = by_end.get(end, 0.0)
        if of >= _LEAST_PERIODS and rise >= _OFTEN * of:  # NaN is neither
            yield Window(int(stopped.per_second.start_ns[at]), end), rise / of
