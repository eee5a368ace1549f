"""A second's samples before they are written: idle ones go, owners are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from exhume.host import Host
from exhume.model.arrays import U64
from exhume.perf.native import SampleColumns
from exhume.record.counters import Counters
from exhume.record.scan import read_cgroup
from exhume.sampler.sampler import Drained

CGROUP_READS_A_TICK = 100
HOT_PIDS = 10


def without_idle(samples: SampleColumns, idle_ranges: U64, counters: Counters) -> SampleColumns:
    """Drop what the idle loop itself did; interrupt work on top of it stays."""
    if not len(idle_ranges) or not len(samples):
        return samples
    starts, ends = idle_ranges[:, 0], idle_ranges[:, 1]
    at = np.searchsorted(starts, samples.ip, "right") - 1
    is_idle = (samples.pid == 0) & (at >= 0) & (samples.ip < ends[np.maximum(at, 0)])
    cores, counts = np.unique(samples.cpu[is_idle], return_counts=True)
    Counters.add(counters.idle, dict(zip(cores.tolist(), counts.tolist(), strict=True)))
    keep = ~is_idle
    return SampleColumns(*(getattr(samples, name)[keep] for name in SampleColumns.__slots__))


def hottest(samples: SampleColumns) -> list[int]:
    """The processes with the most samples."""
    pids, hits = np.unique(samples.pid, return_counts=True)
    ranked = pids[np.argsort(-hits, kind="stable")]
    return [int(pid) for pid in ranked[ranked > 0][:HOT_PIDS]]


@dataclass(slots=True)
class Owners:
    """Asks once for each process where it belongs, and again after it started a program."""

    host: Host
    _known: set[int] = field(default_factory=set)

    def forget(self) -> None:
        self._known.clear()

    def ask(self, drained: Drained, samples: SampleColumns) -> dict[int, str]:
        """The cgroups of processes that were sampled or started a program, if not yet known."""
        started = drained.comms.pid[drained.comms.is_exec].tolist()
        gone = drained.exits.pid.tolist()
        self._known.difference_update(started, gone)
        ended = set(gone)
        seen = dict.fromkeys((*np.unique(samples.pid).tolist(), *started))
        fresh = [p for p in seen if p > 0 and p not in self._known and p not in ended]
        found = {}
        for pid in fresh[:CGROUP_READS_A_TICK]:
            path = read_cgroup(self.host, pid)
            self._known.add(pid)
            if path is not None:
                found[pid] = path
        return found
