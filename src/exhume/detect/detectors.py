"""Every detector, in one tuple."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from exhume.detect import cgroups, cores, log, loops, memory, network, processes, stalls
from exhume.model.finding import Finding
from exhume.model.observation import Observation

Detector = Callable[[Observation], Iterable[Finding]]

DETECTORS: tuple[Detector, ...] = (
    cores.saturated,
    cores.steal,
    cores.periodic,
    network.starved,
    network.deferred_softirqs,
    network.softnet,
    network.flood,
    network.crowded,
    network.limits,
    cgroups.zombies,
    cgroups.uncounted,
    cgroups.throttled,
    loops.crash_loops,
    loops.fork_storms,
    memory.memory_storms,
    memory.growth,
    processes.held_cores,
    processes.realtime,
    processes.above_baseline,
    processes.locks,
    stalls.pressure,
    stalls.blocked,
    log.signatures,
    log.gaps,
)


def findings(seen: Observation) -> tuple[Finding, ...]:
    """In order of time."""
    found = (one for detector in DETECTORS for one in detector(seen))
    return tuple(sorted(found, key=lambda one: (one.window, one.kind, one.subject)))
