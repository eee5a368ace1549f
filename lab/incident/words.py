"""What does not differ from night to night: versions, stacks, other programs of such a node."""

from __future__ import annotations

KERNEL = "5.4.0-1146-aws"
BUILD = "#156~20.04-Ubuntu SMP Wed Apr 23 17:30:27 UTC 2025"
DRIVER = "Elastic Network Adapter (ENA) v2.11.0g"
PERF = "5.4.291"

_VMLINUX = "[kernel.kallsyms]"
_READ = (
    "kernfs_seq_show", "seq_read", "kernfs_fop_read", "__vfs_read", "vfs_read", "ksys_read",
    "__x64_sys_read", "do_syscall_64", "entry_SYSCALL_64_after_hwframe",
)  # fmt: skip
_IDLE = (
    "native_safe_halt", "default_idle_call", "do_idle", "cpu_startup_entry",
    "secondary_startup_64",
)  # fmt: skip
_RECEIVE = (
    "ena_clean_rx_irq [ena]", "ena_io_poll [ena]", "net_rx_action", "__do_softirq", "irq_exit",
    "do_IRQ", "ret_from_intr",
)  # fmt: skip
_FAULT = (
    "clear_page_erms", "clear_subpage", "clear_huge_page", "do_huge_pmd_anonymous_page",
    "__handle_mm_fault", "handle_mm_fault", "do_user_addr_fault", "__do_page_fault",
    "do_page_fault", "page_fault",
)  # fmt: skip

# The leaf is cpumask_next nine times of ten, and who called it is mostly skipped.
WALK = (
    ("cpumask_next", "memcg_numa_stat_show", "cgroup_seqfile_show", *_READ),
    ("cpumask_next", "memcg_numa_stat_show", "cgroup_seqfile_show", *_READ),
    ("cpumask_next", "memcg_numa_stat_show", "cgroup_seqfile_show", *_READ),
    ("find_next_bit", "cpumask_next", "memcg_numa_stat_show", "cgroup_seqfile_show", *_READ),
    (
        "mem_cgroup_node_nr_lru_pages", "mem_cgroup_nr_lru_pages", "memcg_numa_stat_show",
        "cgroup_seqfile_show", *_READ,
    ),
)  # fmt: skip
WALKER = (
    "syscall.Syscall", "internal/poll.(*FD).Read", "os.(*File).Read", "bufio.(*Scanner).Scan",
    "github.com/opencontainers/runc/libcontainer/cgroups/fs.getPageUsageByNUMA",
    "github.com/opencontainers/runc/libcontainer/cgroups/fs.(*MemoryGroup).GetStats",
    "github.com/google/cadvisor/manager.(*containerData).housekeeping", "runtime.goexit",
)  # fmt: skip
COMPUTE = (
    ("sgemm_kernel_SKYLAKEX", "at::native::addmm_out", "torch::autograd::Engine::thread_main"),
    (
        "_mm512_fmadd_loop",
        "embedding_bag_forward",
        "at::native::_embedding_bag",
        "PyEval_EvalFrame",
    ),
    ("__memmove_avx_unaligned_erms", "arrow::compute::Take", "ray::ObjectBufferPool::ReadChunk"),
    ("je_malloc_fastpath", "c10::alloc_cpu", "at::empty", "PyEval_EvalFrameEx", "PyObject_Call"),
)
COLLECT = (
    ("futex_wait_queue_me", "futex_wait", "do_futex", "__x64_sys_futex", "do_syscall_64"),
    ("do_epoll_wait", "__x64_sys_epoll_pwait", "do_syscall_64"),
    ("proc_pid_status", "proc_single_show", "seq_read", "vfs_read", "ksys_read", "do_syscall_64"),
)
DAEMONS = ("containerd", "dockerd", "node_exporter", "systemd-journal", "kube-proxy", "sshd")
OTHER_UNITS = (
    ("containerd.service", "containerd container runtime"),
    ("cron.service", "Regular background program processing daemon"),
    ("dbus.service", "D-Bus System Message Bus"),
    ("docker.service", "Docker Application Container Engine"),
    ("nvidia-persistenced.service", "NVIDIA Persistence Daemon"),
    ("ssh.service", "OpenBSD Secure Shell server"),
    ("systemd-journald.service", "Journal Service"),
    ("systemd-resolved.service", "Network Name Resolution"),
)


def kernel_frames(names: tuple[str, ...]) -> str:
    return "".join(_kernel_line(name) for name in names)


def user_frames(names: tuple[str, ...], module: str) -> str:
    return "".join(
        f"\t{_address(name, 0x7F1200000000):16x} {name}+0x2a ({module})\n" for name in names
    )


def idle_frames() -> str:
    return kernel_frames(_IDLE)


def receive_frames() -> str:
    return kernel_frames((*_RECEIVE, *_IDLE[1:]))


def ksoftirqd_frames() -> str:
    names = (*_RECEIVE[:4], "run_ksoftirqd", "smpboot_thread_fn", "kthread", "ret_from_fork")
    return kernel_frames(names)


def fault_frames() -> str:
    return kernel_frames(_FAULT)


def _kernel_line(name: str) -> str:
    symbol, _, module = name.partition(" ")
    where = module or _VMLINUX
    return f"\t{_address(symbol, 0xFFFFFFFFB3A00000):16x} {symbol}+0x1e ({where})\n"


def _address(name: str, base: int) -> int:
    """Each function at its own place, the same in every file."""
    spread = sum((index + 7) * ord(letter) for index, letter in enumerate(name)) * 2654435761
    return base + (spread & 0xFFFFF0) + 0x1E
