"""Who held cores in the kernel, with real-time priority, or spinning for a lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from exhume.detect import shown
from exhume.model.finding import Finding
from exhume.model.ids import told_id
from exhume.model.observation import Observation
from exhume.model.series import MISSING
from exhume.model.window import Window

HELD_SECONDS = 1.0
FAR_ABOVE = 5.0
_LEAST_SHARE = 0.3
_LOCKS = ("queued_spin_lock_slowpath", "osq_lock", "mutex_spin_on_owner", "rwsem_spin_on_owner")
_LEAST_LOCK_SHARE = 0.1


def held_cores(seen: Observation) -> Iterator[Finding]:
    """A thread that had a core to itself inside the kernel, kernel threads among them."""
    for hold in seen.holds:
        if hold.window.seconds < HELD_SECONDS or not hold.is_alone:
            continue
        kind = "kworker-hog" if hold.comm.startswith("kworker") else "held-core"
        one = "one call of " if hold.is_one_call else ""
        yield Finding(
            kind,
            f"{hold.comm} had CPU {hold.core} for {hold.window.seconds:.1f} s, in "
            f"{one}{hold.call} ({hold.deepest})",
            hold.window,
            subject=hold.comm,
            core=hold.core,
            pid=told_id(hold.pid),
            figures={
                "seconds": round(hold.window.seconds, 3),
                "call": hold.call,
                "function": hold.deepest,
            },
            check=shown.top(hold.window, hold.core),
        )


def realtime(seen: Observation) -> Iterator[Finding]:
    """A real-time process that used much of a core: ordinary threads wait for it."""
    used = {one.instance: one for one in seen.series.get("process.user", ())}
    for series in seen.series.get("process.rt_priority", ()):
        values = series.values[series.values != MISSING]
        if not len(values) or int(values.max()) <= 0:
            continue
        busy = used.get(series.instance)
        share = 0.0
        if busy is not None and len(busy.wall_ns) > 1:
            known = busy.values[busy.values != MISSING]
            lasted = (int(busy.wall_ns[-1]) - int(busy.wall_ns[0])) / 1e9
            share = (int(known[-1]) - int(known[0])) / 100 / lasted if lasted else 0.0
        pid, _, comm = series.instance.partition(" ")
        window = Window(int(series.wall_ns[0]), int(series.wall_ns[-1]) + 1)
        if share >= _LEAST_SHARE:
            yield Finding(
                "realtime-hog",
                f"{comm} with real-time priority {int(values.max())} used {100 * share:.0f} % of a "
                f"core",
                window,
                subject=comm,
                pid=int(pid) if pid.isdigit() else None,
                figures={"rt_priority": int(values.max()), "user_share": round(share, 3)},
                check=shown.series("process.rt_priority", window),
            )


def above_baseline(seen: Observation) -> Iterator[Finding]:
    """A process far above its own usual share, for seconds."""
    for series in seen.series.get("process.system", ()):
        known = series.values != MISSING
        wall, values = series.wall_ns[known], series.values[known]
        if len(values) < 20:
            continue
        seconds = np.diff(wall) / 1e9
        share = np.diff(values) / 100 / np.maximum(seconds, 1e-3)
        usual = float(np.median(share))
        high = share >= max(_LEAST_SHARE, FAR_ABOVE * usual)
        rows = np.flatnonzero(high)
        if not len(rows) or len(rows) > 0.5 * len(share):
            continue
        pid, _, comm = series.instance.partition(" ")
        at = int(rows[share[rows].argmax()])
        window = Window(int(wall[at]), int(wall[at + 1]))
        yield Finding(
            "above-baseline",
            f"{comm} took {100 * share[at]:.0f} % of a core in the kernel, usually "
            f"{100 * usual:.1f} %",
            window,
            subject=comm,
            pid=int(pid) if pid.isdigit() else None,
            figures={"percent": round(100 * float(share[at]), 1), "times": len(rows)},
            unusual=float(share[at]) / usual if usual else None,
            check=shown.top(window, comm=comm),
        )


def locks(seen: Observation) -> Iterator[Finding]:
    """Core time spun away waiting for a lock."""
    for comm, frames in seen.frame_ms.items():
        whole = max(frames.values(), default=0)
        spun = _most(frames, _LOCKS)
        if whole >= 1000 and spun[1] >= _LEAST_LOCK_SHARE * whole:
            share = spun[1] / whole
            yield Finding(
                "lock-contention",
                f"{comm} spent {100 * share:.0f} % of its core time waiting for a lock ({spun[0]})",
                seen.window,
                subject=comm,
                figures={"share": round(share, 3), "function": spun[0]},
                check=shown.top(seen.window, comm=comm),
            )


def _most(frames: Mapping[str, int], parts: Sequence[str]) -> tuple[str, int]:
    """The function of those names with most time in it."""
    found = [(ms, name) for name, ms in frames.items() if any(part in name for part in parts)]
    ms, name = max(found, default=(0, ""))
    return name, ms
