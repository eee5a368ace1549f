"""The one catalogue of what is recorded. Store, metrics, page labels and docs all read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Field:
    id: str
    unit: str
    kind: Literal["counter", "gauge"]
    instance: str
    """What one reading is of: `core`, or `` for the whole node."""
    help: str


@dataclass(frozen=True, slots=True)
class EventKind:
    id: str
    help: str


CPU_MODES = (
    "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice",
)  # fmt: skip
"""The columns of a cpuN line of /proc/stat, in its order."""

FIELDS: tuple[Field, ...] = (
    Field("cpu.user", "jiffies", "counter", "core", "Time in user mode, guests included."),
    Field("cpu.nice", "jiffies", "counter", "core", "Time in user mode at low priority, guests included."),
    Field("cpu.system", "jiffies", "counter", "core", "Time in the kernel, on behalf of a process or thread."),
    Field("cpu.idle", "jiffies", "counter", "core", "Time with nothing to do."),
    Field("cpu.iowait", "jiffies", "counter", "core", "Idle time with an I/O request pending. Not reliable."),
    Field("cpu.irq", "jiffies", "counter", "core", "Time in hardware interrupts; 0 where the kernel accounts by ticks."),
    Field("cpu.softirq", "jiffies", "counter", "core", "Time in software interrupts."),
    Field("cpu.steal", "jiffies", "counter", "core", "Time the hypervisor gave to somebody else."),
    Field("cpu.guest", "jiffies", "counter", "core", "Time running a guest; part of cpu.user."),
    Field("cpu.guest_nice", "jiffies", "counter", "core", "Time running a niced guest; part of cpu.nice."),
    Field("system.context_switches", "switches", "counter", "", "Context switches on all cores."),
    Field("system.forks", "processes", "counter", "", "Processes and threads created."),
    Field("system.running", "threads", "gauge", "", "Threads running or ready to run."),
    Field("system.blocked", "threads", "gauge", "", "Threads waiting for I/O, uninterruptibly."),
    Field("sampler.idle", "samples", "counter", "core", "Samples of the idle loop itself, dropped."),
    Field("sampler.lost", "samples", "counter", "core", "Samples the kernel dropped because a ring was full."),
    Field("sampler.lost_sideband", "records", "counter", "core", "Process and mapping records the kernel dropped."),
    Field("self.cpu_ns", "nanoseconds", "counter", "", "CPU time of the recorder and its helper processes."),
    Field("self.rss_bytes", "bytes", "gauge", "", "Resident memory of the recorder."),
    Field("self.lateness_ns", "nanoseconds", "gauge", "", "How late this tick began."),
    Field("self.written_bytes", "bytes", "counter", "", "Bytes written to the head log since the recorder started."),
    Field("self.rate_hz", "samples per second", "gauge", "", "Sampling rate per core in force."),
)  # fmt: skip

EVENT_KINDS: tuple[EventKind, ...] = (
    EventKind("exec", "A process started a program."),
    EventKind("exit", "A process ended."),
    EventKind("core-offline", "A core was switched off."),
    EventKind("core-online", "A core was switched on."),
    EventKind("clock-step", "The wall clock was set, or the machine slept."),
    EventKind("rate", "The sampling rate was changed to stay within the recorder's own budget."),
    EventKind("recorder-start", "The recorder started."),
    EventKind("recorder-stop", "The recorder stopped as asked."),
    EventKind("gap", "Nothing was recorded for a while, or one source gave nothing; the text says why."),
)

BY_ID: dict[str, Field] = {entry.id: entry for entry in FIELDS}
