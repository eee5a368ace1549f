"""Directories that look like a machine: 2 to 256 cores, kernels old and new, all cgroup layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from exhume.host import Host

Layout = Literal["v1", "v2", "hybrid", "none"]


class FakeClock(Struct):
    now_ns: int = 1_000_000_000_000
    step_ns: int = 0
    """Added at each look: time that passes while the code works."""

    def monotonic_ns(self) -> int:
        self.now_ns += self.step_ns
        return self.now_ns

    def boottime_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return self.now_ns

    def sleep_until(self, monotonic_ns: int) -> None:
        self.now_ns = max(self.now_ns, monotonic_ns)

    def pass_seconds(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)


class Machine(Struct, frozen=True):
    cores: int = 96
    offline: tuple[int, ...] = ()
    is_old: bool = False
    """A kernel of the 4.x years: fewer columns, fewer files, other names."""
    cgroups: Layout = "v2"
    queues: int = 8

    @property
    def online(self) -> tuple[int, ...]:
        return tuple(core for core in range(self.cores) if core not in self.offline)


SIZES = (2, 96, 256)


class Tree(Struct):
    """A machine on disk and its clock."""

    root: Path
    machine: Machine = field(default_factory=Machine)
    clock: FakeClock = field(default_factory=FakeClock)

    @property
    def host(self) -> Host:
        return Host(
            proc=self.root / "proc",
            sys=self.root / "sys",
            dev=self.root / "dev",
            run=self.root / "run",
            root=self.root,
            clock=self.clock,
        )

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def build(self) -> Tree:
        machine = self.machine
        for folder in ("proc", "sys", "dev", "run"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.write("proc/stat", stat(machine))
        self.write("proc/softirqs", softirqs(machine))
        self.write("proc/interrupts", interrupts(machine))
        self.write("proc/net/softnet_stat", softnet(machine))
        self.write("proc/vmstat", vmstat(machine))
        self.write("proc/meminfo", meminfo(machine))
        self.write("sys/devices/system/cpu/online", core_list(machine.online))
        for queue in range(machine.queues):
            core = machine.online[queue * 5 % len(machine.online)]
            name = "smp_affinity_list" if machine.is_old else "effective_affinity_list"
            self.write(f"proc/irq/{30 + queue}/{name}", f"{core}\n")
        if not machine.is_old:
            for resource in ("cpu", "memory", "io"):
                self.write(f"proc/pressure/{resource}", PRESSURE)
            self.write("proc/pressure/irq", PRESSURE.splitlines(keepends=True)[1])
            self.numa(2 if machine.cores > 2 else 1)
        self.network_card("eth0", "0000:00:05.0", "ena")
        (self.root / "sys/class/net/lo").mkdir(parents=True)
        self.kernel_threads()
        self.cgroup_tree()
        return self

    def numa(self, nodes: int) -> None:
        """Hyperthreads as most machines number them: the second half sits beside the first."""
        machine = self.machine
        half = max(1, machine.cores // 2)
        self.write("sys/devices/system/node/online", core_list(tuple(range(nodes))))
        for node in range(nodes):
            cores = tuple(core for core in machine.online if core % half * nodes // half == node)
            self.write(f"sys/devices/system/node/node{node}/cpulist", core_list(cores))

    def network_card(self, name: str, device: str, driver: str) -> None:
        pci = self.root / "sys/bus/pci/devices" / device
        pci.mkdir(parents=True, exist_ok=True)
        drivers = self.root / "sys/bus/pci/drivers" / driver
        drivers.mkdir(parents=True, exist_ok=True)
        (pci / "driver").symlink_to(drivers)
        folder = self.root / "sys/class/net" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "device").symlink_to(pci)

    def kernel_threads(self) -> None:
        pids = []
        for core in range(self.machine.cores):
            pid = 10 + core
            pids.append(pid)
            self.process(pid, f"ksoftirqd/{core}", core=core, flags=0x00200000 | 0x40)
        self.process(5000, "napi/eth0-8193", flags=0x00200000)
        self.process(5001, "kworker/0:1", flags=0x00200000)
        self.process(5002, "ksoftirqd/0")  # somebody who pretends
        self.write("proc/2/task/2/children", " ".join(map(str, [*pids, 5000, 5001])))

    def process(
        self,
        pid: int,
        comm: str,
        *,
        state: str = "S",
        core: int = 0,
        flags: int = 0,
        user: int = 0,
        system: int = 0,
        start: int = 100,
        sched: str = "1000 2000 3\n",
    ) -> None:
        self.write(
            f"proc/{pid}/stat", process_stat(pid, comm, state, core, flags, user, system, start)
        )
        self.write(f"proc/{pid}/schedstat", sched)
        self.write(f"proc/{pid}/comm", f"{comm}\n")

    def cgroup_tree(self) -> None:
        layout = self.machine.cgroups
        if layout == "none":
            return
        is_v1 = layout in ("v1", "hybrid")
        self.write("proc/cgroups", proc_cgroups(4 if is_v1 else 0, 3))
        base = "sys/fs/cgroup"
        if is_v1:
            for controller in ("memory", "cpu"):
                self.cgroup(f"{base}/{controller}", is_root=True)
                self.write(f"{base}/{controller}/release_agent", "")
        if layout == "hybrid":
            self.write(f"{base}/unified/cgroup.controllers", "hugetlb\n")
            self.cgroup(f"{base}/unified", is_root=True)
        if layout == "v2":
            self.write(f"{base}/cgroup.controllers", "cpuset cpu io memory pids\n")
            self.write(f"{base}/cgroup.stat", cgroup_stat(2, 0))
            self.cgroup(base, is_root=True)

    def cgroup(self, path: str, *, is_root: bool = False, procs: str = "1\n") -> None:
        self.write(f"{path}/cgroup.procs", procs)
        if self.machine.cgroups == "v2" and not is_root:
            self.write(f"{path}/cgroup.events", f"populated {int(bool(procs))}\nfrozen 0\n")


PRESSURE = """some avg10=0.36 avg60=11.03 avg300=11.80 total=58650769
full avg10=0.00 avg60=0.00 avg300=0.00 total=1234
"""


def stat(machine: Machine) -> str:
    columns = 7 if machine.is_old else 10
    rows = ["cpu  " + " ".join("9" for _ in range(columns))]
    rows += [
        f"cpu{core} " + " ".join(str(core * 100 + column) for column in range(columns))
        for core in machine.online
    ]
    rows += [
        "intr 12345 " + "0 " * 300,
        "ctxt 398939",
        "btime 1794775446",
        "processes 9575",
        "procs_running 3",
        "procs_blocked 1",
    ]
    if not machine.is_old:
        rows.append("softirq 5 1 2 3")
    return "\n".join(rows) + "\n"


def softirqs(machine: Machine) -> str:
    poll = "BLOCK_IOPOLL" if machine.is_old else "IRQ_POLL"
    names = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", poll, "TASKLET", "SCHED", "HRTIMER", "RCU"]
    header = " " * 20 + "".join(f"CPU{core:<8}" for core in range(machine.cores))
    rows = [header]
    for row, name in enumerate(names):
        rows.append(f"{name:>12}:" + "".join(f" {row * 1000 + c:10}" for c in range(machine.cores)))
    return "\n".join(rows) + "\n"


def interrupts(machine: Machine, bump: int = 0, step: int = 0) -> str:
    """8 queues of an ENA card, others to make up 180 lines.

    `bump` moves queue 3 and the timer, and every `step`th of the others.
    """
    online = machine.online
    rows = ["           " + "".join(f"CPU{core:<8}" for core in online)]

    def line(name: str, counts: list[int], tail: str) -> None:
        rows.append(f"{name:>4}:" + "".join(f" {count:10}" for count in counts) + tail)

    for queue in range(machine.queues):
        counts = [0] * len(online)
        counts[queue * 5 % len(online)] = 1000 + queue + (bump if queue == 3 else 0)
        line(str(30 + queue), counts, f"  PCI-MSI {81920 + queue}-edge      eth0-Tx-Rx-{queue}")
    for other in range(170 if machine.cores > 2 else 3):
        tail = f"  PCI-MSI {524288 + other}-edge      nvme0q{other}"
        moved = bump if step and other % step == 0 else 0
        line(str(60 + other), [other + moved] * len(online), tail)
    line("NMI", [0] * len(online), "   Non-maskable interrupts")
    line("LOC", [5000 + bump] * len(online), "   Local timer interrupts")
    line("RES", [7] * len(online), "   Rescheduling interrupts")
    line("CAL", [8] * len(online), "   Function call interrupts")
    line("TLB", [9] * len(online), "   TLB shootdowns")
    rows += [" ERR:          0", " MIS:          0"]
    return "\n".join(rows) + "\n"


def softnet(machine: Machine) -> str:
    rows = []
    for core in machine.online:
        columns = [core + 10, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4]
        if not machine.is_old:
            columns += [5, core, 6, 7]
        rows.append(" ".join(f"{column:08x}" for column in columns))
    return "\n".join(rows) + "\n"


def vmstat(machine: Machine) -> str:
    rows = {"pgfault": 100, "pgmajfault": 2, "pswpin": 3, "compact_stall": 4, "drop_slab": 5}
    rows |= {"pgscan_direct_throttle": 99}
    if machine.is_old:
        for zone in ("dma", "dma32", "normal", "movable"):
            rows |= {f"pgscan_kswapd_{zone}": 10, f"pgscan_direct_{zone}": 20}
        rows |= {"allocstall": 7, "workingset_refault": 8}
    else:
        rows |= {"pgscan_kswapd": 40, "pgscan_direct": 80, "oom_kill": 1}
        rows |= {"allocstall_normal": 3, "allocstall_movable": 4}
        rows |= {"workingset_refault_anon": 3, "workingset_refault_file": 5}
    return "".join(f"{key} {value}\n" for key, value in rows.items())


def meminfo(machine: Machine) -> str:
    keys = ["MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "Dirty", "Writeback"]
    keys += ["AnonPages", "Shmem", "SReclaimable", "SUnreclaim", "KernelStack", "PageTables"]
    keys += ["SwapTotal", "SwapFree"] + ([] if machine.is_old else ["Percpu"])
    rows = [f"{key + ':':<16}{1000 + index:8} kB" for index, key in enumerate(keys)]
    return "\n".join([*rows, "HugePages_Total:       0"]) + "\n"


def process_stat(
    pid: int,
    comm: str,
    state: str,
    core: int,
    flags: int,
    user: int,
    system: int,
    start: int,
    real_time: tuple[int, int] = (0, 0),
) -> str:
    """`real_time`: priority and policy."""
    columns = [state, 2, 0, 0, 0, -1, flags, 11, 0, 12, 0, user, system, 0, 0, 20, 0, 4, 0, start]
    columns += [0] * 16 + [core, *real_time] + [0] * 11
    return f"{pid} ({comm}) " + " ".join(map(str, columns)) + "\n"


def proc_cgroups(memory_hierarchy: int, memory_count: int | None) -> str:
    rows = ["#subsys_name\thierarchy\tnum_cgroups\tenabled", "cpu\t1\t1\t1"]
    if memory_count is not None:
        rows.append(f"memory\t{memory_hierarchy}\t{memory_count}\t1")
    return "\n".join(rows) + "\n"


def cgroup_stat(live: int, dying: int, *, memory: tuple[int, int] | None = None) -> str:
    text = f"nr_descendants {live}\nnr_dying_descendants {dying}\n"
    if memory is not None:
        text += f"nr_subsys_memory {memory[0]}\nnr_dying_subsys_memory {memory[1]}\n"
    return text


def core_list(cores: tuple[int, ...]) -> str:
    return ",".join(map(str, cores)) + "\n"
