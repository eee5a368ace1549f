"""A busy node made up, the same every time: 96 cores, 40,000 named stacks, one core gone wild.

The shape is that of real captures: a few stacks take most of the time (Zipf), a core stays with a
thread for a while, a stack is often seen twice in a row, sampling has a period and little jitter.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bench.synthetic_stacks import HOT_PROCESS, Forest, grow
from exhume.model.arrays import F64, I32, I64, Bool
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.event import Event
from exhume.model.fields import CPU_MODES
from exhume.model.sample import Samples, Stretch, Threads
from exhume.model.segment import Origin, SegmentData
from exhume.model.series import Block
from exhume.model.stack import Mode

HZ = 97.0
SECOND = 1_000_000_000
BOOT = "5e0c1d4e-7a52-4a2b-9d5e-0f6a3b1c2d3e"
START_WALL_NS = 1_794_773_400 * SECOND  # 2026-11-15 20:10:00 UTC
START_NS = 86_400 * SECOND
RUN_SAMPLES = 18  # how long a core stays with one thread, on average


class Burst(Struct, frozen=True):
    """One core at 100 % system in the hot process."""

    core: int
    start_second: float
    seconds: float


class Node(Struct, frozen=True):
    """What stays the same from segment to segment: programs, their stacks, their threads."""

    cores: int
    forest: Forest
    threads: Threads
    process_of_thread: I32
    rank_weight: tuple[F64, ...]
    """Per process: how often each of its stacks is seen, cumulated."""


def make_node(cores: int = 96, stacks: int = 48_000, seed: int = 1) -> Node:
    rng = np.random.default_rng(seed)
    forest = grow(stacks, rng)
    comm: list[str] = []
    pid: list[int] = []
    tid: list[int] = []
    process: list[int] = []
    for index, name in enumerate(forest.processes):
        for instance in range(max(1, min(cores, forest.instances[index]))):
            leader = 1000 + index * 997 + instance * 7
            for thread in range(4 if forest.instances[index] < 8 else 1):
                comm.append(name)
                pid.append(leader)
                tid.append(leader + thread)
                process.append(index)
    threads = Threads(
        np.array(pid, np.int32),
        np.array(tid, np.int32),
        np.ones(len(pid), np.int32),
        tuple(comm),
        tuple(f"/kubepods/burstable/pod{p:08x}" for p in pid),
    )
    weights = tuple(
        np.cumsum(1.0 / np.arange(1, len(leaves) + 1) ** 0.9) for leaves in forest.leaves
    )
    return Node(cores, forest, threads, np.array(process, np.int32), weights)


def make_segment(
    node: Node,
    seconds: float = 120.0,
    start_ns: int = START_NS,
    *,
    busy: float = 1.0,
    burst: Burst | None = None,
    seed: int = 2,
    boot_id: str = BOOT,
    wall_ns: int | None = None,
) -> SegmentData:
    """`busy` is the share of each core's time that is not idle."""
    rng = np.random.default_rng([seed, start_ns // SECOND])
    end_ns = start_ns + int(seconds * SECOND)
    wall = START_WALL_NS + start_ns - START_NS if wall_ns is None else wall_ns
    samples, idle = _samples(node, start_ns, end_ns, rng, busy, burst)
    return SegmentData(
        origin=Origin("gpu-node-1", boot_id, "5.4.0-1146-aws", "x86_64", 100, "synthetic"),
        clock=_clock(start_ns, end_ns, wall),
        start_ns=start_ns,
        end_ns=end_ns,
        stretches=(Stretch(start_ns, "cpu-clock", HZ),),
        samples=samples,
        tree=node.forest.tree,
        threads=node.threads,
        blocks=_blocks(node, samples, idle, start_ns, seconds, rng),
        events=_events(node, start_ns, seconds, rng),
    )


def _clock(start_ns: int, end_ns: int, wall_ns: int) -> ClockMap:
    step = 60 * SECOND
    at = [*range(start_ns, end_ns, step)] or [start_ns]
    return ClockMap.of(
        [ClockPair(t, wall_ns + t - start_ns + (t - start_ns) // 50_000, t + 7) for t in at]
    )


def _samples(
    node: Node,
    start_ns: int,
    end_ns: int,
    rng: np.random.Generator,
    busy: float,
    burst: Burst | None,
) -> tuple[Samples, I64]:
    per_core = int((end_ns - start_ns) / SECOND * HZ)
    period = SECOND / HZ
    parts: list[Samples] = []
    idle = np.zeros((node.cores, int(np.ceil((end_ns - start_ns) / SECOND))), np.int64)
    for core in range(node.cores):
        phase = rng.uniform(0, period)
        jitter = rng.normal(0, 60_000, per_core)
        time = start_ns + (phase + np.arange(per_core) * period + np.abs(jitter)).astype(np.int64)
        thread, stack = _work(node, core, per_core, rng)
        keep = rng.random(per_core) < busy
        if burst is not None and burst.core == core:
            hot = np.abs(time - start_ns - (burst.start_second + burst.seconds / 2) * SECOND)
            inside = hot < burst.seconds / 2 * SECOND
            keep |= inside
            thread[inside] = node.threads.comm.index(HOT_PROCESS)
            stack[inside] = node.forest.hot_node
        seconds = idle.shape[1]  # the last sample of a core may fall a moment behind the end
        idle[core] = np.bincount((time[~keep] - start_ns) // SECOND, minlength=seconds)[:seconds]
        parts.append(
            Samples(
                time[keep],
                np.full(int(keep.sum()), core, np.uint16),
                thread[keep],
                stack[keep],
                np.full(int(keep.sum()), round(period), np.uint32),
            )
        )
    return Samples(
        np.concatenate([p.time_ns for p in parts]),
        np.concatenate([p.core for p in parts]),
        np.concatenate([p.thread for p in parts]),
        np.concatenate([p.stack for p in parts]),
        np.concatenate([p.weight_ns for p in parts]),
    ), idle


def _work(node: Node, core: int, count: int, rng: np.random.Generator) -> tuple[I32, I32]:
    """Runs of threads; within each, stacks of its process by their rank, often repeated."""
    switches = np.flatnonzero(rng.random(count) < 1 / RUN_SAMPLES)
    run = np.zeros(count, np.int32)
    run[switches] = 1
    run = np.cumsum(run, dtype=np.int32)
    runs = int(run[-1]) + 1 if count else 0
    home = core % len(node.threads)
    # Mostly its own worker, at times anyone, small numbers first.
    others = np.minimum(rng.zipf(1.3, runs) - 1, len(node.threads) - 1)
    chosen = np.where(rng.random(runs) < 0.6, home, others).astype(np.int32)
    thread = chosen[run]
    process = node.process_of_thread[thread]
    stack = np.empty(count, np.int32)
    for index in np.unique(process):
        here = np.flatnonzero(process == index)
        weight = node.rank_weight[index]
        rank = np.searchsorted(weight, rng.random(len(here)) * weight[-1])
        stack[here] = node.forest.leaves[index][rank]
    again: Bool = np.zeros(count, np.bool_)
    if count > 1:
        again[1:] = (thread[1:] == thread[:-1]) & (rng.random(count - 1) < 0.25)
    source = np.maximum.accumulate(np.where(again, 0, np.arange(count)))
    return thread, stack[source]


def _blocks(
    node: Node,
    samples: Samples,
    idle: I64,
    start_ns: int,
    seconds: float,
    rng: np.random.Generator,
) -> tuple[Block, ...]:
    """Jiffies that agree with the samples: 100 a second, shared out as they were."""
    whole = int(seconds)
    ticks = start_ns + np.arange(whole + 1) * SECOND + rng.integers(0, 2_000_000, whole + 1)
    second = ((samples.time_ns - start_ns) // SECOND).astype(np.int64)
    mode = node.forest.tree.mode[samples.stack]
    names = tuple(str(core) for core in range(node.cores))
    counts: dict[str, I64] = {}
    for name, wanted in (("user", Mode.USER), ("system", Mode.SYSTEM), ("softirq", Mode.SOFTIRQ)):
        key = samples.core[mode == wanted].astype(np.int64) * (whole + 1) + second[mode == wanted]
        grid = np.bincount(key, minlength=node.cores * (whole + 1))
        counts[name] = grid.reshape(node.cores, -1)[:, :whole]
    total = sum(counts.values(), start=idle[:, :whole])
    blocks = []
    for name in CPU_MODES:
        share = idle[:, :whole] if name == "idle" else counts.get(name, np.zeros_like(total))
        jiffies = np.rint(100 * share / np.maximum(total, 1)).astype(np.int64)
        if name == "idle":
            jiffies[total == 0] = 100
        values = np.zeros((whole + 1, node.cores), np.int64)
        values[1:] = np.cumsum(jiffies, axis=1).T
        blocks.append(Block(f"cpu.{name}", names, ticks, values + 1000 * (name != "guest")))
    idle_rows = np.vstack([np.zeros((1, node.cores), np.int64), np.cumsum(idle[:, :whole].T, 0)])
    blocks.append(Block("sampler.idle", names, ticks, idle_rows))
    nothing = np.zeros((whole + 1, node.cores), np.int64)
    blocks.append(Block("sampler.lost", names, ticks, nothing))
    blocks.append(Block("sampler.lost_sideband", names, ticks, nothing))
    for name, step in (("self.cpu_ns", 25_000_000), ("self.written_bytes", 31_000)):
        rises = rng.integers(step * 9 // 10, step * 11 // 10, whole + 1)
        blocks.append(Block(name, ("",), ticks, np.cumsum(rises)[:, np.newaxis]))
    for name, level in (("self.rss_bytes", 36 << 20), ("self.rate_hz", int(HZ))):
        blocks.append(Block(name, ("",), ticks, np.full((whole + 1, 1), level, np.int64)))
    late = rng.integers(30_000, 400_000, (whole + 1, 1))
    blocks.append(Block("self.lateness_ns", ("",), ticks, late))
    return tuple(blocks)


def _events(
    node: Node, start_ns: int, seconds: float, rng: np.random.Generator
) -> tuple[Event, ...]:
    """A crash loop every 10 s and a handful of short-lived programs a second."""
    events = [
        Event(start_ns + int(at * SECOND), "exec", "amazon-ecs-init", "amazon-ecs-init", None, 900)
        for at in np.arange(3, seconds, 10)
    ]
    for at in np.sort(rng.uniform(0, seconds, int(seconds * 8))):
        pid = int(rng.integers(2000, 4_000_000))
        core = int(rng.integers(0, node.cores))
        subject = ("sh", "iptables", "runc", "nvidia-smi")[pid % 4]
        events.append(Event(start_ns + int(at * SECOND), "exec", subject, subject, core, pid))
    return tuple(sorted(events, key=lambda event: event.time_ns))


def moved(data: SegmentData, by_ns: int) -> SegmentData:
    """The same segment later: quick to make, as large and as varied on disk."""
    samples = replace(data.samples, time_ns=data.samples.time_ns + by_ns)
    pairs = [
        ClockPair(p.monotonic_ns + by_ns, p.wall_ns + by_ns, p.kernel_log_ns)
        for p in data.clock.pairs
    ]
    return replace(
        data,
        start_ns=data.start_ns + by_ns,
        end_ns=data.end_ns + by_ns,
        clock=ClockMap.of(pairs),
        stretches=tuple(replace(s, start_ns=s.start_ns + by_ns) for s in data.stretches),
        samples=samples,
        blocks=tuple(replace(b, tick_ns=b.tick_ns + by_ns) for b in data.blocks),
        events=tuple(replace(e, time_ns=e.time_ns + by_ns) for e in data.events),
    )
