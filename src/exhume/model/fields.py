"""The one catalogue of what is recorded. Store, metrics, page labels and docs all read it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Field(Struct, frozen=True):
    id: str
    unit: str
    kind: Literal["counter", "gauge"]
    instance: str
    """What one reading is of: `core`, `irq`, `thread`, `cgroup`, …, or `` for the whole node."""
    help: str


class EventKind(Struct, frozen=True):
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
    Field("cpu.run_delay_ns", "nanoseconds", "counter", "core", "Time threads were ready and waited for this core; only in copies of /proc/schedstat that were imported."),
    Field("topology.numa_node", "number", "gauge", "core", "The NUMA node a core belongs to; absent on kernels without NUMA, and in imported files."),
    Field("system.context_switches", "switches", "counter", "", "Context switches on all cores."),
    Field("system.forks", "processes", "counter", "", "Processes and threads created."),
    Field("system.running", "threads", "gauge", "", "Threads running or ready to run."),
    Field("system.blocked", "threads", "gauge", "", "Threads waiting for I/O, uninterruptibly."),
    Field("softirq.hi", "runs", "counter", "core", "High-priority tasklets run."),
    Field("softirq.timer", "runs", "counter", "core", "Timer softirqs run."),
    Field("softirq.net_tx", "runs", "counter", "core", "Transmit softirqs run."),
    Field("softirq.net_rx", "runs", "counter", "core", "Receive softirqs run. Flat while irq.timer rises: network work is put off."),
    Field("softirq.block", "runs", "counter", "core", "Block softirqs run."),
    Field("softirq.irq_poll", "runs", "counter", "core", "Interrupt-polling softirqs run."),
    Field("softirq.tasklet", "runs", "counter", "core", "Tasklets run."),
    Field("softirq.sched", "runs", "counter", "core", "Scheduler softirqs run."),
    Field("softirq.hrtimer", "runs", "counter", "core", "High-resolution timer softirqs run."),
    Field("softirq.rcu", "runs", "counter", "core", "RCU softirqs run."),
    Field("irq.count", "interrupts", "counter", "irq", "Interrupts of one line of /proc/interrupts, all cores together."),
    Field("irq.core", "core", "gauge", "irq", "The core an interrupt goes to; -1 where it goes to several."),
    Field("irq.device", "interrupts", "counter", "core", "Interrupts of devices on this core."),
    Field("irq.timer", "interrupts", "counter", "core", "Local timer interrupts: go on while a core starves its softirqs."),
    Field("irq.reschedule", "interrupts", "counter", "core", "Rescheduling interrupts."),
    Field("irq.call", "interrupts", "counter", "core", "Function call interrupts from other cores."),
    Field("irq.tlb", "interrupts", "counter", "core", "TLB shootdowns."),
    Field("softnet.processed", "packets", "counter", "core", "Packets taken off the network; 32-bit, wraps."),
    Field("softnet.dropped", "packets", "counter", "core", "Packets dropped because the backlog was full."),
    Field("softnet.squeezed", "times", "counter", "core", "Times the receive softirq ran out of budget with work left."),
    Field("softnet.received_rps", "times", "counter", "core", "Wake-ups from another core for receive steering."),
    Field("softnet.flow_limited", "packets", "counter", "core", "Packets dropped by the flow limit."),
    Field("softnet.backlog", "packets", "gauge", "core", "Packets waiting."),
    Field("vmstat.pgfault", "faults", "counter", "", "Page faults."),
    Field("vmstat.pgmajfault", "faults", "counter", "", "Page faults that had to read from disk."),
    Field("vmstat.pgpgin", "KiB", "counter", "", "Read from disk."),
    Field("vmstat.pgpgout", "KiB", "counter", "", "Written to disk."),
    Field("vmstat.pswpin", "pages", "counter", "", "Swapped in."),
    Field("vmstat.pswpout", "pages", "counter", "", "Swapped out."),
    Field("vmstat.pgscan_kswapd", "pages", "counter", "", "Looked at by background reclaim."),
    Field("vmstat.pgscan_direct", "pages", "counter", "", "Looked at by reclaim that somebody waits for."),
    Field("vmstat.pgsteal_kswapd", "pages", "counter", "", "Freed by background reclaim."),
    Field("vmstat.pgsteal_direct", "pages", "counter", "", "Freed by reclaim that somebody waits for."),
    Field("vmstat.allocstall", "stalls", "counter", "", "Allocations that had to reclaim first."),
    Field("vmstat.slabs_scanned", "objects", "counter", "", "Slab objects looked at by shrinkers."),
    Field("vmstat.workingset_refault", "pages", "counter", "", "Pages evicted and soon needed again."),
    Field("vmstat.compact_stall", "stalls", "counter", "", "Allocations that had to compact memory first."),
    Field("vmstat.compact_fail", "times", "counter", "", "Compactions that found nothing."),
    Field("vmstat.compact_success", "times", "counter", "", "Compactions that made room."),
    Field("vmstat.compact_migrate_scanned", "pages", "counter", "", "Looked at for moving by compaction."),
    Field("vmstat.compact_free_scanned", "pages", "counter", "", "Looked at as targets by compaction."),
    Field("vmstat.compact_daemon_wake", "times", "counter", "", "Wake-ups of kcompactd."),
    Field("vmstat.pgmigrate_success", "pages", "counter", "", "Pages moved."),
    Field("vmstat.numa_pages_migrated", "pages", "counter", "", "Pages moved between NUMA nodes."),
    Field("vmstat.thp_fault_alloc", "pages", "counter", "", "Huge pages given at a fault."),
    Field("vmstat.thp_fault_fallback", "faults", "counter", "", "Faults that wanted a huge page and got small ones."),
    Field("vmstat.thp_collapse_alloc", "pages", "counter", "", "Huge pages made from small ones."),
    Field("vmstat.thp_split_page", "pages", "counter", "", "Huge pages split."),
    Field("vmstat.drop_pagecache", "times", "counter", "", "Writes to drop_caches that dropped the page cache."),
    Field("vmstat.drop_slab", "times", "counter", "", "Writes to drop_caches that dropped slab."),
    Field("vmstat.oom_kill", "processes", "counter", "", "Processes killed for want of memory."),
    Field("memory.total_bytes", "bytes", "gauge", "", "Usable memory."),
    Field("memory.free_bytes", "bytes", "gauge", "", "Memory nobody uses."),
    Field("memory.available_bytes", "bytes", "gauge", "", "Memory that can be had without swapping."),
    Field("memory.buffers_bytes", "bytes", "gauge", "", "Block device cache."),
    Field("memory.cached_bytes", "bytes", "gauge", "", "Page cache and tmpfs."),
    Field("memory.dirty_bytes", "bytes", "gauge", "", "Waiting to be written."),
    Field("memory.writeback_bytes", "bytes", "gauge", "", "Being written."),
    Field("memory.anonymous_bytes", "bytes", "gauge", "", "Memory of processes that no file backs."),
    Field("memory.shmem_bytes", "bytes", "gauge", "", "tmpfs and shared memory."),
    Field("memory.slab_reclaimable_bytes", "bytes", "gauge", "", "Kernel objects that can be freed."),
    Field("memory.slab_unreclaimable_bytes", "bytes", "gauge", "", "Kernel objects that can't; some 13 KB for each zombie cgroup."),
    Field("memory.percpu_bytes", "bytes", "gauge", "", "Per-CPU data; grows with each zombie cgroup by kilobytes for every possible core."),
    Field("memory.kernel_stack_bytes", "bytes", "gauge", "", "Stacks of threads in the kernel."),
    Field("memory.page_tables_bytes", "bytes", "gauge", "", "Page tables."),
    Field("memory.swap_total_bytes", "bytes", "gauge", "", "Swap space."),
    Field("memory.swap_free_bytes", "bytes", "gauge", "", "Swap space nobody uses."),
    Field("pressure.cpu.some_us", "microseconds", "counter", "", "Time in which some thread waited for a core. Averaged over cores: one starved core of 96 shows as 1 %."),
    Field("pressure.cpu.full_us", "microseconds", "counter", "", "Time in which all threads waited for a core."),
    Field("pressure.memory.some_us", "microseconds", "counter", "", "Time in which some thread waited for memory. Averaged over cores: one starved core of 96 shows as 1 %."),
    Field("pressure.memory.full_us", "microseconds", "counter", "", "Time in which all threads waited for memory."),
    Field("pressure.io.some_us", "microseconds", "counter", "", "Time in which some thread waited for a disk. Averaged over cores: one starved core of 96 shows as 1 %."),
    Field("pressure.io.full_us", "microseconds", "counter", "", "Time in which all threads waited for a disk."),
    Field("pressure.irq.full_us", "microseconds", "counter", "", "Time in which all threads waited for an interrupt to end."),
    Field("netthread.run_ns", "nanoseconds", "counter", "thread", "Time on a core of a kernel thread that serves the network."),
    Field("netthread.wait_ns", "nanoseconds", "counter", "thread", "Time it was ready and not run; added when it gets its core."),
    Field("netthread.slices", "times", "counter", "thread", "Times it was run."),
    Field("netthread.runnable", "0 or 1", "gauge", "thread", "1 while it is running or ready; with flat slices it is starving now."),
    Field("process.user", "jiffies", "counter", "process", "User time of one of the processes that use or await the most CPU, all its threads."),
    Field("process.system", "jiffies", "counter", "process", "System time of it."),
    Field("process.faults", "faults", "counter", "process", "Its page faults served from memory."),
    Field("process.major_faults", "faults", "counter", "process", "Its page faults that had to read from disk."),
    Field("process.wait_ns", "nanoseconds", "counter", "process", "Time its main thread was ready and not run."),
    Field("process.slices", "times", "counter", "process", "Times its main thread was run."),
    Field("process.core", "core", "gauge", "process", "The core its main thread last ran on."),
    Field("process.runnable", "0 or 1", "gauge", "process", "1 while its main thread is running or ready."),
    Field("process.rt_priority", "priority", "gauge", "process", "Real-time priority of its main thread: 1 to 99, 100 for a deadline thread, 0 for a fair one."),
    Field("memcg.tracked", "cgroups", "gauge", "", "Memory cgroups the kernel keeps, dying ones included."),
    Field("memcg.live", "cgroups", "gauge", "", "Memory cgroups with a directory."),
    Field("memcg.zombies", "cgroups", "gauge", "", "Memory cgroups without a directory that some page still pins."),
    Field("memcg.empty", "cgroups", "gauge", "", "Memory cgroups with a directory but without processes or children: leaked ones."),
    Field("memcg.births", "cgroups", "counter", "name", "Memory cgroups made, by name with ids and digits folded."),
    Field("memcg.removals", "cgroups", "counter", "name", "Memory cgroups whose directory was removed."),
    Field("memcg.releases", "cgroups", "counter", "name", "Removed memory cgroups that the kernel let go; the rest are zombies."),
    Field("memcg.held", "cgroups", "gauge", "cgroup", "Zombies below this parent that no child explains (v2)."),
    Field("memcg.pinned_shmem_bytes", "bytes", "gauge", "cgroup", "tmpfs and shared memory charged to dead children of this parent (v1)."),
    Field("memcg.pinned_file_bytes", "bytes", "gauge", "cgroup", "Page cache charged to dead children of this parent (v1)."),
    Field("memcg.pinned_anonymous_bytes", "bytes", "gauge", "cgroup", "Anonymous memory charged to dead children of this parent (v1)."),
    Field("cgroup.cpu_periods", "periods", "counter", "cgroup", "Periods in which a cgroup with a CPU limit ran."),
    Field("cgroup.cpu_throttled", "periods", "counter", "cgroup", "Periods in which it used up its limit and was stopped."),
    Field("cgroup.cpu_throttled_ns", "nanoseconds", "counter", "cgroup", "Time its threads were stopped."),
    Field("nic.stat", "events", "counter", "counter", "A network driver's own counter of resets, stops, drops or exceeded limits. A decrease is a device reset."),
    Field("nic.level", "items", "gauge", "counter", "A network driver's own gauge."),
    Field("unit.restarts", "restarts", "counter", "unit", "Automatic restarts of a systemd service; a manual start sets it back."),
    Field("unit.active", "0 or 1", "gauge", "unit", "1 while a systemd service is active."),
    Field("container.total", "containers", "gauge", "", "Containers of any state."),
    Field("container.running", "containers", "gauge", "", "Containers that run."),
    Field("container.restarts", "restarts", "counter", "container", "Restarts by the container's supervisor."),
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
    EventKind(
        "kernel-log", "A line of the kernel log: one that a signature knows, or a warning or worse."
    ),
    EventKind("job-log", "A line of a followed log file that a signature knows."),
    EventKind(
        "unit-start",
        "A systemd service was started, or a program by cron; the count says how often since the "
        "last look.",
    ),
    EventKind("unit-failed", "A systemd service ended with a result other than success."),
    EventKind(
        "unit-waiting", "A service had ended and waited for its restart when somebody looked."
    ),
    EventKind("unit-seen", "A service that had failed before somebody first looked."),
    EventKind("container-start", "A container appeared, or was started again."),
    EventKind(
        "container-seen", "A container that was there when somebody looked; every ten minutes."
    ),
    EventKind("container-exit", "A container ended or is gone."),
    EventKind("container-removed", "A container that had ended is no longer listed."),
    EventKind("log-lost", "Kernel log records were overwritten before they were read."),
    EventKind("core-offline", "A core was switched off."),
    EventKind("core-online", "A core was switched on."),
    EventKind("clock-step", "The wall clock was set, or the machine slept."),
    EventKind("rate", "The sampling rate was changed to stay within the recorder's own budget."),
    EventKind("recorder-start", "The recorder started."),
    EventKind("recorder-stop", "The recorder stopped as asked."),
    EventKind(
        "gap", "Nothing was recorded for a while, or one source gave nothing; the text says why."
    ),
)

BY_ID: dict[str, Field] = {entry.id: entry for entry in FIELDS}
