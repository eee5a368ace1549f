"""/proc/PID/stat and schedstat of the processes that use the most CPU.

Looking at every process every second would make us the heaviest of them (18 µs each). So each tick
reads the hot ones and a bounded number of others in turn; a full round takes at least 5 s. The
sampler knows who is hot long before: its word is taken as a hint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources import process_stat, schedstat
from exhume.sources.process_stat import ProcessStat
from exhume.sources.schedstat import SchedStat

READS_PER_TICK = 40
HOT_COUNT = 10
ROUND_NS = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Process:
    stat: ProcessStat
    sched: SchedStat | None
    """Of the main thread alone: the kernel has no sum over threads."""

    @property
    def instance(self) -> str:
        return f"{self.stat.pid} {self.stat.comm}"


@dataclass(slots=True)
class ProcessReader:
    host: Host
    reads_per_tick: int = READS_PER_TICK
    hot_count: int = HOT_COUNT
    broken: int = 0
    """Processes of the last tick whose files made no sense."""
    _seen: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """By pid: start, jiffies used and when, at the last look."""
    _waiting: list[int] = field(default_factory=list)
    _rates: dict[int, float] = field(default_factory=dict)
    _next_round_ns: int = 0

    def read(self, hint: Iterable[int] = ()) -> tuple[Process, ...]:
        """The hot processes now: by the sampler's hint, then by what the rounds found."""
        now = self.host.clock.monotonic_ns()
        self.broken = 0
        if not self._waiting and now >= self._next_round_ns:
            self._start_round(now)
        for pid in self._waiting[-self.reads_per_tick :]:
            self._look(pid, now)
        del self._waiting[-self.reads_per_tick :]
        by_rate = sorted(self._rates, key=lambda pid: -self._rates[pid])
        chosen = list(dict.fromkeys((*hint, *by_rate)))[: self.hot_count]
        found = []
        # In order of pid: the same processes then make the same columns, tick after tick.
        for pid in sorted(chosen):
            stat = self._look(pid, now)
            if stat is not None:
                found.append(Process(stat, self._schedstat(pid)))
        return tuple(found)

    def _start_round(self, now: int) -> None:
        alive = self.host.pids()
        self._waiting = sorted(alive)
        gone = self._seen.keys() - set(alive)
        for pid in gone:
            self._forget(pid)
        self._next_round_ns = now + ROUND_NS

    def _look(self, pid: int, now: int) -> ProcessStat | None:
        try:
            stat = process_stat.read(self.host, pid)
        except (ParseError, OSError):
            self.broken += 1
            stat = None
        if stat is None:
            self._forget(pid)
            return None
        used = stat.user_jiffies + stat.system_jiffies
        start, before, then = self._seen.get(pid, (-1, 0, 0))
        if start != stat.start_jiffies:  # not seen yet, or another process of the same number
            self._rates.pop(pid, None)
            self._seen[pid] = (stat.start_jiffies, used, now)
        elif now > then:
            rate = (used - before) / (now - then)
            if rate > 0:
                self._rates[pid] = rate
            else:
                self._rates.pop(pid, None)
            self._seen[pid] = (stat.start_jiffies, used, now)
        return stat

    def _schedstat(self, pid: int) -> SchedStat | None:
        try:
            return schedstat.read(self.host, pid)
        except (ParseError, OSError):
            self.broken += 1
            return None

    def _forget(self, pid: int) -> None:
        self._seen.pop(pid, None)
        self._rates.pop(pid, None)


def readings(processes: tuple[Process, ...]) -> tuple[Reading, ...]:
    if not processes:
        return ()
    names = tuple(process.instance for process in processes)
    return (
        Reading.of_each("process.user", names, [p.stat.user_jiffies for p in processes]),
        Reading.of_each("process.system", names, [p.stat.system_jiffies for p in processes]),
        Reading.of_each("process.faults", names, [p.stat.minor_faults_total for p in processes]),
        Reading.of_each(
            "process.major_faults", names, [p.stat.major_faults_total for p in processes]
        ),
        Reading.of_each(
            "process.wait_ns", names, [p.sched.wait_ns if p.sched else None for p in processes]
        ),
        Reading.of_each(
            "process.slices", names, [p.sched.slices if p.sched else None for p in processes]
        ),
        Reading.of_each("process.core", names, [p.stat.core for p in processes]),
        Reading.of_each("process.runnable", names, [int(p.stat.state == "R") for p in processes]),
    )
