"""/proc/PID/schedstat: how long a thread ran, how long it waited to run, and how often it ran.

For the kernel threads that serve the network (ksoftirqd, NAPI, threaded interrupts). The waiting
time is added only when the thread gets its core, so it proves starvation afterwards; while it
lasts, the proof is state R and a number of slices that stands still.
"""

from __future__ import annotations

import os
import re
from collections import Counter

from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host, read_line
from exhume.model.reading import Reading
from exhume.sources import process_stat

PATH = "proc/PID/schedstat"
_LONGEST = 64
_UNNAMED = "kthreadd\n"
"""What a kernel thread is called until whoever asked for it gives it its name."""

# ksoftirqd/39; napi/eth0-8193 (threaded NAPI); backlog_napi/3; irq/38-eth0-Tx-Rx-5; ktimers/3 and
# ktimersoftd/3 (PREEMPT_RT); vhost-4242 (a guest's network); rcuc/3 runs callbacks in softirq's
# stead; cpuhp and migration serve nobody.
SERVES_NETWORK = re.compile(
    r"ksoftirqd/\d+|napi/.+|backlog_napi/\d+|irq/\d+-.+|ktimers(?:oftd)?/\d+|vhost-\d+|rcuc/\d+"
)
DISCOVERY_NS = 30_000_000_000
AFRESH_ROUNDS = 10
"""How often all kernel threads are looked at, not just those that are new: pids are used again."""
MAX_THREADS = 768
"""Two descriptors each. ksoftirqd of 256 cores and as many interrupt threads fit."""


class SchedStat(Struct, frozen=True):
    run_ns: int
    wait_ns: int
    slices: int


class ThreadSched(Struct, frozen=True):
    pid: int
    name: str
    """`ksoftirqd/39`; with its pid behind it where a name occurs twice."""
    state: str
    sched: SchedStat


class _Kept(Struct):
    pid: int
    name: str
    schedstat: int
    stat: int


class NetworkThreads(Struct):
    """Keeps the descriptors of the threads it follows, and looks for new ones every 30 s."""

    host: Host
    left_out: int = 0
    """Threads found that did not fit MAX_THREADS or the limit of open files."""
    _kept: list[_Kept] = field(default_factory=list)
    _others: set[int] = field(default_factory=set)
    """Kernel threads that serve something else."""
    _rounds: int = 0
    _next_discovery_ns: int = 0

    def read(self) -> tuple[ThreadSched, ...] | None:
        """None where the kernel keeps no schedstat, or shows no kernel threads (a container)."""
        now = self.host.clock.monotonic_ns()
        if now >= self._next_discovery_ns:
            self._discover()
            self._next_discovery_ns = now + DISCOVERY_NS
        found: list[ThreadSched] = []
        for kept in self._kept:
            try:
                schedstat = parse(os.pread(kept.schedstat, 128, 0))
                state = process_stat.state_of(os.pread(kept.stat, 256, 0))
            except ProcessLookupError:
                self._next_discovery_ns = now
                continue
            found.append(ThreadSched(kept.pid, kept.name, state, schedstat))
        return tuple(found) or None

    def close(self) -> None:
        for kept in self._kept:
            os.close(kept.schedstat)
            os.close(kept.stat)
        self._kept.clear()

    def _discover(self) -> None:
        self.close()
        if self._rounds % AFRESH_ROUNDS == 0:
            self._others.clear()
        self._rounds += 1
        found = network_threads(self.host, self._others)
        threads = sorted(found, key=lambda thread: _priority(thread[1]))
        names = Counter(name for _, name in threads)
        self.left_out = max(0, len(threads) - MAX_THREADS)
        for pid, name in threads[:MAX_THREADS]:
            folder = self.host.proc / str(pid)
            unique = name if names[name] == 1 else f"{name} {pid}"
            try:
                schedstat = os.open(folder / "schedstat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:  # no CONFIG_SCHED_INFO, no more descriptors, or just gone
                self.left_out += 1
                continue
            try:
                stat = os.open(folder / "stat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                os.close(schedstat)
                self.left_out += 1
                continue
            self._kept.append(_Kept(pid, unique, schedstat, stat))


def network_threads(host: Host, others: set[int] | None = None) -> list[tuple[int, str]]:
    """Pid and name of every kernel thread that serves the network.

    Passes over `others`, and adds to them who does not; without, everyone is looked at.
    """
    found: list[tuple[int, str]] = []
    # All kernel threads are children of kthreadd, pid 2. CONFIG_PROC_CHILDREN saves a scan.
    children = host.read_proc("2/task/2/children")
    pids = [int(pid) for pid in children.split() if pid.isdigit()] if children else host.pids()
    seen = set() if others is None else others
    for pid in pids:
        if pid in seen:
            continue
        comm = (read_line(f"{host.proc}/{pid}/comm") or b"").decode("utf-8", "replace")
        if not SERVES_NETWORK.fullmatch(comm.rstrip("\n")):
            if comm != _UNNAMED:
                seen.add(pid)
            continue
        # Anyone can call himself ksoftirqd/0.
        stat = process_stat.read(host, pid)
        if stat is not None and stat.is_kernel_thread:
            found.append((pid, comm.rstrip("\n")))
    return found


def read(host: Host, pid: int) -> SchedStat | None:
    data = read_line(f"{host.proc}/{pid}/schedstat")
    return parse(data) if data else None


def parse(text: bytes) -> SchedStat:
    columns = text.split()
    if len(columns) != 3 or not b"".join(columns).isdigit() or len(text) > _LONGEST:
        raise ParseError(PATH, 1, "`run_ns wait_ns slices`")
    run, wait, slices = map(int, columns)
    if max(run, wait, slices) >= 1 << 63:
        raise ParseError(PATH, 1, "numbers that fit 63 bits")
    return SchedStat(run, wait, slices)


def readings(threads: tuple[ThreadSched, ...]) -> tuple[Reading, ...]:
    names = tuple(thread.name for thread in threads)
    return (
        Reading.of_each("netthread.run_ns", names, [t.sched.run_ns for t in threads]),
        Reading.of_each("netthread.wait_ns", names, [t.sched.wait_ns for t in threads]),
        Reading.of_each("netthread.slices", names, [t.sched.slices for t in threads]),
        Reading.of_each("netthread.runnable", names, [int(t.state == "R") for t in threads]),
    )


def _priority(name: str) -> int:
    """What to keep first when there are too many."""
    return next((i for i, part in enumerate(("ksoftirqd", "napi", "irq")) if part in name), 3)
