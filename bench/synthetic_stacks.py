"""The prefix tree of the made-up node: programs and kernel paths with plausible names."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I32
from exhume.model.stack import Frame, FrameKind, Mode, StackTree

HOT_PROCESS = "kubelet"
HOT_LEAF = "cpumask_next"
HOT_PATH = (
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "ksys_read",
    "vfs_read",
    "seq_read",
    "memcg_numa_stat_show",
    "mem_cgroup_nr_lru_pages",
    HOT_LEAF,
)
PROGRAMS: tuple[tuple[str, float, int], ...] = (
    ("ray::TrainWorker", 0.42, 96),
    ("python3", 0.2, 24),
    ("raylet", 0.06, 1),
    ("gcs_server", 0.03, 1),
    ("pt_data_worker", 0.08, 48),
    ("kubelet", 0.04, 1),
    ("containerd", 0.03, 1),
    ("dockerd", 0.02, 1),
    ("aws-k8s-agent", 0.01, 1),
    ("node_exporter", 0.02, 1),
    ("fluent-bit", 0.02, 1),
    ("nv-hostengine", 0.02, 1),
    ("swapper", 0.01, 1),
    ("ksoftirqd", 0.01, 96),
    ("kworker", 0.01, 96),
    ("systemd", 0.005, 1),
    ("sshd", 0.005, 1),
    ("dbus-daemon", 0.01, 1),
)
"""Name, its share of the distinct stacks, how many of it run."""
_KERNEL_TASKS = frozenset({"swapper", "ksoftirqd", "kworker"})
_LIBRARIES = ("libtorch_cpu.so", "libc.so.6", "libpython3.10.so.1.0", "libcuda.so.535", "libc10.so")
_WORDS = (
    "alloc", "copy", "launch", "kernel", "tensor", "queue", "stream", "read", "write", "lock",
    "page", "fault", "sched", "reclaim", "node", "zone", "charge", "flush", "poll", "recv",
    "send", "hash", "index", "walk", "iter", "merge", "split", "pack", "sync", "wait", "wake",
    "timer", "net", "tcp", "skb", "napi", "rx", "tx", "dev", "bio", "block", "inode", "dentry",
    "path", "open", "stat", "map", "mmap", "vma", "futex", "epoll",
)  # fmt: skip


class Forest(Struct, frozen=True):
    processes: tuple[str, ...]
    instances: tuple[int, ...]
    tree: StackTree
    leaves: tuple[I32, ...]
    """Per process the nodes its stacks end at, most seen first."""
    hot_node: int


def grow(stacks: int, rng: np.random.Generator) -> Forest:
    """Each program's tree grows by new branches from old ones: thin, deep, much shared prefix."""
    names = _Names(rng)
    frames: dict[Frame, int] = {Frame("", "", FrameKind.UNKNOWN): 0}
    parent, frame, depth = [-1], [0], [0]
    children: dict[tuple[int, int], int] = {}
    leaves: list[list[int]] = []

    def child(node: int, value: Frame) -> int:
        key = (node, frames.setdefault(value, len(frames)))
        if key not in children:
            children[key] = len(parent)
            parent.append(node)
            frame.append(key[1])
            depth.append(depth[node] + 1)
        return children[key]

    for program, share, _ in PROGRAMS:
        top = child(0, Frame(program, "", FrameKind.PROCESS))
        ends: list[int] = []
        spine = [top]
        in_kernel = program in _KERNEL_TASKS
        for _ in range(max(3, int(share * stacks))):
            at = spine[int(len(spine) * rng.random() ** 0.6)]
            kernel = in_kernel or rng.random() < 0.3
            for _ in range(1 + int(rng.integers(0, 3)) if depth[at] < 90 else 1):
                at = child(at, names.kernel(depth[at]) if kernel else names.user(program))
                if not kernel or in_kernel:
                    spine.append(at)
            ends.append(at)
        leaves.append(list(dict.fromkeys(ends)))
    node = child(0, Frame(HOT_PROCESS, "", FrameKind.PROCESS))
    for name in HOT_PATH:
        node = child(node, Frame(name, "[kernel]", FrameKind.KERNEL))
    order = np.argsort(np.array(depth), kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    parents = np.array(parent, np.int32)[order]
    frame_ids = np.array(frame, np.int32)[order]
    known = tuple(frames)
    tree = StackTree(
        np.where(parents < 0, -1, place[parents]).astype(np.int32),
        frame_ids,
        np.array([_mode(known[index]) for index in frame_ids], np.uint8),
        known,
    )
    ranked = tuple(rng.permutation(place[np.array(ends)]).astype(np.int32) for ends in leaves)
    return Forest(
        tuple(name for name, _, _ in PROGRAMS),
        tuple(count for _, _, count in PROGRAMS),
        tree,
        ranked,
        int(place[node]),
    )


def _mode(frame: Frame) -> int:
    if frame.kind == FrameKind.KERNEL:
        return int(Mode.SOFTIRQ if "napi" in frame.name else Mode.SYSTEM)
    return int(Mode.USER)


class _Names:
    """Names by Zipf: most frames are old acquaintances."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._user: dict[int, Frame] = {}
        self._kernel: dict[int, Frame] = {}

    def user(self, program: str) -> Frame:
        number = min(int(self._rng.zipf(1.25)), 60_000)
        if number not in self._user:
            library = program if number % 3 == 0 else _LIBRARIES[number % len(_LIBRARIES)]
            self._user[number] = Frame(self._name("::"), library, FrameKind.USER)
        return self._user[number]

    def kernel(self, depth: int) -> Frame:
        number = min(int(self._rng.zipf(1.3)) + depth, 6_000)
        if number not in self._kernel:
            self._kernel[number] = Frame(self._name("_"), "[kernel]", FrameKind.KERNEL)
        return self._kernel[number]

    def _name(self, joint: str) -> str:
        words = self._rng.choice(_WORDS, int(self._rng.integers(2, 6)))
        return joint.join(str(word) for word in words)
