"""What could be the cause: one function each, all of them tried each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from exhume.diagnose.hypotheses import (
    births,
    bystanders,
    devices,
    full_cores,
    hogs,
    memory,
    network,
    out_of_memory,
    overload,
    taken_cores,
    zombie_cgroups,
)
from exhume.diagnose.scene import Scene, Suspicion

Hypothesis = Callable[[Scene], Iterable[Suspicion]]

HYPOTHESES: tuple[Hypothesis, ...] = (
    taken_cores.steal,
    taken_cores.throttling,
    zombie_cgroups.suspects,
    out_of_memory.suspects,
    memory.reclaim,
    memory.cgroup_limit,
    memory.page_faults,
    network.softirq_flood,
    network.imbalance,
    network.network_limit,
    births.crash_loop,
    births.fork_storm,
    devices.told_by_kernel,
    devices.io_stall,
    devices.lock_contention,
    hogs.suspects,
    overload.suspects,
    full_cores.suspects,
    bystanders.suspects,
)
