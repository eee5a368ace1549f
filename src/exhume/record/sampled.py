"""A second before it is written: the idle loop goes, whom nobody saw goes, owners are asked for."""

from __future__ import annotations

from operator import neg

import numpy as np
from msgspec import Struct, field

from exhume.host import Host
from exhume.model.arrays import U64
from exhume.perf.native import SampleColumns, busy_rows
from exhume.perf.records import Mappings
from exhume.perf.rings import needed_mappings
from exhume.record.counters import Counters
from exhume.record.scan import read_cgroup
from exhume.sampler.sampler import Drained
from exhume.store.ticks import TickSamples

CGROUP_READS_A_TICK = 100
HOT_PIDS = 10
FEW_MAPPINGS = 200
"""So few a second are not worth a look."""


def without_idle(samples: SampleColumns, idle_ranges: U64, counters: Counters) -> TickSamples:
    """Drop what the idle loop itself did; interrupt work on top of it stays."""
    if len(idle_ranges) and len(samples):
        rows, idle = busy_rows(samples, idle_ranges)
        Counters.add(counters.idle, idle)
    else:
        rows = np.arange(len(samples))
    return TickSamples(
        time=samples.time[rows].view(np.int64),
        core=samples.cpu[rows].astype(np.uint16),
        pid=samples.pid[rows],
        tid=samples.tid[rows],
        stack=samples.stack[rows],
        cgroup=samples.cgroup[rows],
    )


def seen_mappings(drained: Drained, until_ns: int) -> Mappings:
    """Without those that no sample will ask for; all samples until then are in."""
    if len(drained.mappings.pid) < FEW_MAPPINGS:
        return drained.mappings
    return needed_mappings(
        drained.mappings, drained.forks, drained.exits, drained.samples.pid, until_ns
    )


def hottest(pids: list[int], hits: list[int]) -> list[int]:
    """Of those sampled, the processes with the most samples."""
    ranked = sorted(zip(hits, map(neg, pids), strict=True), reverse=True)
    return [-pid for _, pid in ranked if pid < 0][:HOT_PIDS]


class Owners(Struct):
    """Asks once for each process where it belongs, and again after it started a program."""

    host: Host
    _known: set[int] = field(default_factory=set)

    def forget(self) -> None:
        self._known.clear()

    def ask(self, drained: Drained, sampled: list[int]) -> dict[int, str]:
        """The cgroups of processes that were sampled or started a program, if not yet known."""
        started = drained.comms.pid[drained.comms.is_exec].tolist()
        gone = drained.exits.pid.tolist()
        self._known.difference_update(started, gone)
        # By sets, because in a storm there are thousands.
        asked = {*sampled}.difference(self._known, gone)
        fresh = [*asked, *{*started}.difference(self._known, gone, asked)]
        found = {}
        for pid in [pid for pid in fresh if pid > 0][:CGROUP_READS_A_TICK]:
            path = read_cgroup(self.host, pid)
            self._known.add(pid)
            if path is not None:
                found[pid] = path
        return found
