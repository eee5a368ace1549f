"""Twenty minutes of the story, with who was on the cores and somebody with a hostile name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from exhume.model.event import Event
from exhume.model.segment import SegmentData
from exhume.model.series import Block
from exhume.store.writer import write_segment
from tests.cli.story import BURST_AT, START_WALL, segments
from tests.store.make import SECOND, by_hand

HOSTILE = "<img src=x onerror=alert(1)>"
ESCAPES = "\x1b]0;pwned\x07\u202egnp"
BURST = START_WALL + BURST_AT


def written(root: Path) -> Path:
    for index, part in enumerate(segments({"unit": "ecs.service"})):
        write_segment(root, sampled(part, index * 600))
    return root


def sampled(part: SegmentData, first: int) -> SegmentData:
    """The story has counters and events; here is who was on the cores."""
    stacks = (
        ("trainer", "main", "matmul"),
        ("kubelet", "main", "k_seq_read", "k_mem_cgroup_nr_lru_pages"),
        (HOSTILE, ESCAPES, "k_read"),
    )
    threads = (
        (50, 50, "trainer", "/a"),
        (60, 60, "kubelet", "/system.slice/kubelet.service"),
        (70, 70, HOSTILE, f"/{HOSTILE}"),
    )
    rng = np.random.default_rng(first)
    samples = [
        (int(core), float(at), 0, 0)
        for core in range(4)
        for at in np.sort(rng.uniform(0, 600, 900))
        if not (core == 3 and BURST_AT <= first + at < BURST_AT + 6)
    ]
    samples += [(2, float(at), 2, 2) for at in np.arange(0.4, 600, 2.0)]
    if first <= BURST_AT < first + 600:
        samples += [(3, BURST_AT - first + n / 97, 1, 1) for n in range(6 * 97)]
    made = by_hand(samples, stacks=stacks, threads=threads, seconds=600, hz=97.0,
                   start_ns=part.start_ns)  # fmt: skip
    hostile = Event(part.start_ns + 30 * SECOND, "job-log", HOSTILE, ESCAPES,
                    fields={"signature": "ray.actor_died", "class": "job"})  # fmt: skip
    times = np.arange(5, 600, 60, dtype=np.int64) * SECOND + part.start_ns
    nodes = np.tile(np.array([0, 1, 0, 1], np.int64), (len(times), 1))
    numa = Block("topology.numa_node", ("0", "1", "2", "3"), times, nodes)
    return replace(
        part,
        blocks=(*part.blocks, numa),
        samples=made.samples,
        tree=made.tree,
        threads=made.threads,
        stretches=made.stretches,
        events=tuple(sorted((*part.events, hostile), key=lambda event: event.time_ns)),
    )
