"""/proc/PID/stat and schedstat of the processes that use the most CPU, or wait for it.

Looking at every process every second would make us the heaviest of them. So each tick reads the
chosen ones and a bounded number of others in turn; a full round takes at least 5 s. The sampler
knows who is hot long before: its word is taken as a hint. It never sees who gets no core at all:
the victim of a starved core is by definition not busy. Who is ready to run when its turn in the
round comes, and did not run much, is looked at more closely, and kept for as long as it waits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources import process_stat, schedstat
from exhume.sources.process_stat import ProcessStat, Usage
from exhume.sources.schedstat import SchedStat

READS_PER_TICK = 40
HOT_COUNT = 10
WAITING_COUNT = 5
ROUND_NS = 5_000_000_000
KERNEL_ROUNDS = 6
"""Kernel threads, mostly half of all or more, come last, and not in every round."""
LEAST_WAIT_RATIO = 0.05
"""Of its time: less is the ordinary jostling of a busy machine."""
FORGET_RATIO = 0.97
"""A tick later a wait counts as much: of two bursts a minute apart both are seen from the start."""
_JIFFY_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Process(Struct, frozen=True):
    stat: ProcessStat
    sched: SchedStat | None
    """Of the main thread alone: the kernel has no sum over threads."""

    @property
    def instance(self) -> str:
        return f"{self.stat.pid} {self.stat.comm}"


class ProcessReader(Struct):
    host: Host
    reads_per_tick: int = READS_PER_TICK
    hot_count: int = HOT_COUNT
    waiting_count: int = WAITING_COUNT
    broken: int = 0
    """Processes of the last tick whose files made no sense."""
    _seen: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """By pid: start, jiffies used and when, at the last look."""
    _round: list[int] = field(default_factory=list)
    """Whose turn is still to come."""
    _rates: dict[int, float] = field(default_factory=dict)
    """Share of a core, of those that used any."""
    _waits: dict[int, float] = field(default_factory=dict)
    """Share of its time that it waited, of those that did."""
    _guesses: dict[int, float] = field(default_factory=dict)
    """The same of those that look as if they did, until they were looked at twice."""
    _scheds: dict[int, tuple[SchedStat, int]] = field(default_factory=dict)
    """Of the chosen ones, and when."""
    _kernel: set[int] = field(default_factory=set)
    """Kernel threads, as far as known."""
    _asleep: dict[int, bytes] = field(default_factory=dict)
    """The line of each that was neither running nor ready at the last look."""
    _rounds: int = 0
    _next_round_ns: int = 0

    def read(self, hint: Iterable[int] = ()) -> tuple[Process, ...]:
        """The hot processes now: by the sampler's hint, then by what the rounds found."""
        now = self.host.clock.monotonic_ns()
        self.broken = 0
        if not self._round and now >= self._next_round_ns:
            self._start_round(now)
        for pid in self._round[-self.reads_per_tick :]:
            self._look(pid, now)
        del self._round[-self.reads_per_tick :]
        found = []
        # In order of pid: the same processes then make the same columns, tick after tick.
        for pid in sorted(self._choose(hint)):
            process = self._look_closely(pid, now)
            if process is not None:
                found.append(process)
        chosen = {process.stat.pid for process in found}
        self._scheds = {pid: last for pid, last in self._scheds.items() if pid in chosen}
        return tuple(found)

    def _choose(self, hint: Iterable[int]) -> list[int]:
        by_rate = sorted(self._rates, key=self._rates.__getitem__, reverse=True)
        chosen = list(dict.fromkeys((*hint, *by_rate)))[: self.hot_count]
        waits = self._waits | self._guesses
        waiting = (pid for pid in waits if pid not in chosen)
        ranked = sorted(waiting, key=waits.__getitem__, reverse=True)
        return chosen + ranked[: self.waiting_count]

    def _start_round(self, now: int) -> None:
        alive = set(self.host.pids())
        for pid in self._seen.keys() - alive:
            self._forget(pid)
        # Taken from the end.
        self._round = sorted(alive - self._kernel)
        if self._rounds % KERNEL_ROUNDS == 0:
            self._round = sorted(self._kernel) + self._round
        self._rounds += 1
        self._guesses = {pid: x for pid, x in self._guesses.items() if pid in self._scheds}
        self._next_round_ns = now + ROUND_NS

    def _look(self, pid: int, now: int) -> None:
        try:
            line = process_stat.read_line_of(self.host, pid)
            if line and line == self._asleep.get(pid):
                self._rest(pid, now)
                return
            usage = process_stat.parse_usage(line) if line else None
        except (ParseError, OSError):
            self.broken += 1
            usage = None
        if usage is None:
            self._forget(pid)
            return
        self._use(pid, usage, now)
        if usage.state != "R":
            self._asleep[pid] = line or b""
        elif pid not in self._scheds:
            guess = 1 - self._rates.get(pid, 0.0)
            if guess >= LEAST_WAIT_RATIO:
                self._guesses[pid] = guess

    def _look_closely(self, pid: int, now: int) -> Process | None:
        try:
            stat = process_stat.read(self.host, pid)
        except (ParseError, OSError):
            self.broken += 1
            stat = None
        if stat is None:
            self._forget(pid)
            return None
        used = stat.user_jiffies + stat.system_jiffies
        usage = Usage(stat.state, stat.is_kernel_thread, stat.start_jiffies, used)
        self._use(pid, usage, now)
        try:
            sched = schedstat.read(self.host, pid)
        except (ParseError, OSError):
            self.broken += 1
            sched = None
        if sched is None:
            self._guesses.pop(pid, None)
        else:
            self._wait(pid, stat.state, sched, now)
        return Process(stat, sched)

    def _use(self, pid: int, usage: Usage, now: int) -> None:
        start, before, then = self._seen.get(pid, (-1, 0, 0))
        if start != usage.start_jiffies:  # not seen yet, or another process of the same number
            self._forget(pid)
            if usage.is_kernel_thread:
                self._kernel.add(pid)
        elif now > then:
            if usage.used_jiffies > before:
                self._rates[pid] = (usage.used_jiffies - before) * _JIFFY_NS / (now - then)
            else:
                self._rates.pop(pid, None)
        else:
            return
        self._seen[pid] = (usage.start_jiffies, usage.used_jiffies, now)

    def _rest(self, pid: int, now: int) -> None:
        """What most do most of the time: its line is the same to the last figure."""
        start, used, _ = self._seen[pid]
        self._seen[pid] = (start, used, now)
        self._rates.pop(pid, None)

    def _wait(self, pid: int, state: str, sched: SchedStat, now: int) -> None:
        last = self._scheds.get(pid)
        self._scheds[pid] = (sched, now)
        if last is None or now <= last[1]:
            return
        before, then = last
        # A wait is added up when it ends. One that lasts shows as ready, and run not once.
        lasts = state == "R" and sched.slices == before.slices and sched.run_ns == before.run_ns
        ratio = 1.0 if lasts else min(1.0, (sched.wait_ns - before.wait_ns) / (now - then))
        wait = max(ratio, FORGET_RATIO * self._waits.get(pid, 0.0))
        self._guesses.pop(pid, None)
        if wait >= LEAST_WAIT_RATIO:
            self._waits[pid] = wait
        else:
            self._waits.pop(pid, None)

    def _forget(self, pid: int) -> None:
        for table in (
            self._seen, self._rates, self._waits, self._guesses, self._scheds, self._asleep
        ):  # fmt: skip
            table.pop(pid, None)
        self._kernel.discard(pid)


def readings(processes: tuple[Process, ...]) -> tuple[Reading, ...]:
    if not processes:
        return ()
    names = tuple(process.instance for process in processes)
    stats = [process.stat for process in processes]
    # The kernel's own housekeeping keeps nobody waiting when it waits; of its threads those that
    # serve the network have a source of their own.
    waits = [None if one.stat.is_kernel_thread else one.sched for one in processes]
    return (
        Reading.of_each("process.user", names, [stat.user_jiffies for stat in stats]),
        Reading.of_each("process.system", names, [stat.system_jiffies for stat in stats]),
        Reading.of_each("process.faults", names, [stat.minor_faults_total for stat in stats]),
        Reading.of_each("process.major_faults", names, [stat.major_faults_total for stat in stats]),
        Reading.of_each("process.wait_ns", names, [one.wait_ns if one else None for one in waits]),
        Reading.of_each("process.slices", names, [one.slices if one else None for one in waits]),
        Reading.of_each("process.core", names, [stat.core for stat in stats]),
        Reading.of_each("process.runnable", names, [int(stat.state == "R") for stat in stats]),
        Reading.of_each("process.rt_priority", names, [s.real_time_priority for s in stats]),
    )
