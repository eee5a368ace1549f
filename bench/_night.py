"""A night of the story on 96 cores: bursts of one core, resets, zombies that grow, a crash loop.

Shared by bench.page and the script that makes the pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from bench.synthetic import SECOND, START_NS, Burst, Node, make_node, make_segment
from exhume.model.event import Event
from exhume.model.segment import SegmentData
from exhume.model.series import Block
from exhume.store.minutes import summarise
from exhume.store.segment import Segment
from exhume.store.writer import write_segment

SEGMENT_SECONDS = 600
HOT_CORE = 39
QUEUES = 8
BURSTS = {7: 214.0, 8: 351.0, 15: 122.0, 20: 77.0, 41: 402.0, 55: 288.0, 66: 130.0}
"""Segment → second in which the core is taken, for some seconds."""
BURST_SECONDS = 6.0


def write_night(root: Path, segments: int = 24, cores: int = 96) -> None:
    """Ten minutes each; a training job runs in the middle."""
    node = make_node(cores, 12_000)
    for index in range(segments):
        trains = segments // 6 <= index < segments * 3 // 4
        data = segment(node, index, 0.3 if trains else 0.05)
        summarise(root, Segment(write_segment(root, data)))


def segment(node: Node, index: int, busy: float) -> SegmentData:
    start_ns = START_NS + index * SEGMENT_SECONDS * SECOND
    burst = None
    if index in BURSTS:
        core = HOT_CORE if node.cores > HOT_CORE else node.cores - 1
        burst = Burst(core, BURSTS[index], BURST_SECONDS)
    data = make_segment(node, float(SEGMENT_SECONDS), start_ns, busy=busy, burst=burst)
    events = sorted((*data.events, *_events(start_ns, index, burst)), key=lambda e: e.time_ns)
    return replace(
        data, blocks=(*data.blocks, *_blocks(node, start_ns, index)), events=tuple(events)
    )


def _blocks(node: Node, start_ns: int, index: int) -> list[Block]:
    begin = index * SEGMENT_SECONDS

    def block(field: str, every: int, names: tuple[str, ...],
              value: Callable[[int, int], int]) -> Block:  # fmt: skip
        ticks = range(0, SEGMENT_SECONDS, every)
        values = [[value(begin + t, column) for column in range(len(names))] for t in ticks]
        times = start_ns + np.array(ticks, np.int64) * SECOND
        return Block(field, names, times, np.array(values, np.int64))

    whole = ("",)
    queues = tuple(f"{30 + queue} eth0-Tx-Rx-{queue}" for queue in range(QUEUES))
    on = [HOT_CORE if queue == 5 else (queue * 11 + 3) % node.cores for queue in range(QUEUES)]
    stalls = [number * SEGMENT_SECONDS + at + 6 for number, at in BURSTS.items()]
    return [
        block("memcg.tracked", 10, whole, lambda t, _: 61_240 + t // 10),
        block("memcg.live", 60, whole, lambda _t, _c: 240),
        block("memcg.zombies", 60, whole, lambda t, _: 61_000 + t // 10),
        block("memcg.births", 10, ("/system.slice/ecs.service", "/docker/*"),
              lambda t, column: t // 10 if column == 0 else t // 40),
        block("memcg.removals", 10, ("/system.slice/ecs.service", "/docker/*"),
              lambda t, column: t // 10 if column == 0 else t // 40),
        block("memcg.releases", 10, ("/system.slice/ecs.service", "/docker/*"),
              lambda t, column: 0 if column == 0 else t // 40),
        block("memcg.pinned_shmem_bytes", 60, ("/system.slice",), lambda t, _: 4096 * (t // 10)),
        block("memcg.pinned_file_bytes", 60, ("/system.slice",), lambda _t, _c: 0),
        block("memory.percpu_bytes", 10, whole, lambda t, _: 20_000_000_000 + 32_500 * t),
        block("memory.slab_unreclaimable_bytes", 10, whole, lambda t, _: 800_000_000 + 1_300 * t),
        block("topology.numa_node", 60, tuple(map(str, range(node.cores))),
              lambda _t, core: core * 4 // node.cores % 2),
        block("irq.core", 60, queues, lambda _t, column: on[column]),
        block("irq.count", 10, queues, lambda t, column: t * (900 - 60 * column)),
        block("vmstat.pgfault", 1, whole, lambda t, _: t * 52_000 + (t % 97) * 400),
        block("system.running", 1, whole, lambda t, _: 6 + (t * 7919) % 5),
        block("pressure.cpu.some_us", 1, whole, lambda t, _: t * 4_000 + (t // 601) * 90_000),
        block("softnet.squeezed", 1, (str(HOT_CORE), "3"),
              lambda t, column: sum(t > at for at in stalls) * 40 if column == 0 else t // 300),
        block("netthread.wait_ns", 1, (f"ksoftirqd/{HOT_CORE}", "ksoftirqd/3"),
              lambda t, column: t * 2_000
              + (sum(t > at for at in stalls) * 6 * SECOND if column == 0 else 0)),
        block("unit.restarts", 10, ("ecs.service", "sshd.service"),
              lambda t, column: t // 10 if column == 0 else 0),
        block("unit.active", 10, ("ecs.service", "sshd.service"), lambda _t, column: column),
        block("container.total", 10, whole, lambda _t, _c: 12),
    ]  # fmt: skip


def _events(start_ns: int, index: int, burst: Burst | None) -> list[Event]:
    def event(second: float, kind: str, subject: str, text: str = "",
              **fields: str | int | float) -> Event:  # fmt: skip
        known = {name.rstrip("_"): value for name, value in fields.items()}
        return Event(start_ns + round(second * SECOND), kind, subject, text, fields=known)

    found: list[Event] = []
    for at in range(3, SEGMENT_SECONDS, 10):
        found.append(event(at, "unit-start", "ecs.service", sub_state="auto-restart"))
        if at % 60 == 3:
            found.append(event(at + 1.2, "unit-failed", "ecs.service",
                               "failed with result 'exit-code'", result="exit-code"))  # fmt: skip
    if burst is not None:
        end = burst.start_second + burst.seconds
        found += [
            event(end, "kernel-log", "eth0",
                  "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
                  "Time since last napi 6328000 usec. napi scheduled: 1",
                  signature="ena.tx_paused", class_="netdev-starve", queue=5, level=3),
            event(end + 1, "kernel-log", "eth0", "ena 0000:00:05.0 eth0: Trigger reset is on",
                  signature="ena.reset_start", class_="netdev-reset", level=3),
            event(end + 3, "job-log", "trainer", "ray.exceptions.ActorDiedError: the actor died",
                  signature="ray.actor_died", class_="job"),
        ]  # fmt: skip
    if index == 30:
        found.append(event(200, "core-offline", "17", "core 17 was switched off"))
        found.append(event(260, "core-online", "17", "core 17 is back"))
    return found
