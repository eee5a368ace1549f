"""Twenty minutes of the story as a recording: a unit that leaks a cgroup every ten seconds, a core
that is full for six seconds, a network reset, and a job that dies of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from exhume.model.event import Event
from exhume.model.segment import Origin, SegmentData
from exhume.model.series import MISSING, Block
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, T0, by_hand, jiffies

MINUTES = 20
SECONDS = MINUTES * 60
STARTS = SECONDS // 10
ZOMBIES_BEFORE = 60_000
BURST_AT = 700
"""Seconds after the start; six seconds of core 3, and the reset at its end."""
START_WALL = T0 // SECOND
RESET_TEXT = (
    "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 6328000 usec. napi scheduled: 1"
)


def record(root: Path, rename: dict[str, str] | None = None) -> str:
    """Written as two segments. `rename`: other names for the unit and the container."""
    for data in segments(rename or {}):
        write_segment(root, data)
    return str(root)


def segments(rename: dict[str, str]) -> list[SegmentData]:
    half = SECONDS // 2
    return [_part(first, half, rename) for first in (0, half)]


def _part(first: int, seconds: int, rename: dict[str, str]) -> SegmentData:
    start_ns = START + first * SECOND
    events = [e for e in _events(rename) if first <= (e.time_ns - START) / SECOND < first + seconds]
    if first == 0:
        events.append(_event(-3000, "kernel-log", "", "replayed from long before", level=4))
    data = by_hand(
        [(0, float(second), 0, 0) for second in range(0, seconds, 2)],
        threads=((50, 50, "amazon-ecs-init", "/system.slice/ecs.service"),),
        blocks=(*_cpu(first, seconds), *_blocks(first, seconds)),
        events=tuple(sorted(events, key=lambda event: event.time_ns)),
        seconds=seconds,
        hz=1.0,
        start_ns=start_ns,
    )
    return replace(data, origin=Origin("node-1", "b0071d00", "5.4.0-1146-aws", "x86_64", 100, "x"))


def _cpu(first: int, seconds: int) -> list[Block]:
    cores = {core: {"user": 20, "system": 5, "idle": 75} for core in range(4)}
    blocks = list(jiffies(seconds, cores, START + first * SECOND))
    burst = slice(BURST_AT - first, BURST_AT - first + 7)
    if not 0 <= burst.start < seconds:
        return blocks
    for index, block in enumerate(blocks):
        each = np.diff(block.values, axis=0)
        each[burst.start : burst.stop - 1, 3] = 100 if block.field == "cpu.system" else 0
        values = np.concatenate([block.values[:1], block.values[:1] + np.cumsum(each, axis=0)])
        blocks[index] = replace(block, values=values)
    return blocks


def _blocks(first: int, seconds: int) -> list[Block]:
    def block(
        field: str, every: int, instances: tuple[str, ...], value: Callable[[int, int], int] | int
    ) -> Block:
        ticks = range(first, first + seconds, every)
        values = [
            [
                value if isinstance(value, int) else value(t, column)
                for column in range(len(instances))
            ]
            for t in ticks
        ]
        times = START + np.array(ticks, np.int64) * SECOND
        return Block(field, instances, times, np.array(values, np.int64).reshape(len(ticks), -1))

    node = ("",)
    queues = tuple(f"{30 + queue} eth0-Tx-Rx-{queue}" for queue in range(4))
    names = ("/system.slice/ecs.service", "/docker/*")
    starved = 6 * SECOND
    return [
        block("memcg.tracked", 10, node, lambda t, _: ZOMBIES_BEFORE + 240 + t // 10),
        block("memcg.live", 60, node, 240),
        block("memcg.zombies", 60, node, lambda t, _: ZOMBIES_BEFORE + t // 10),
        block("memcg.empty", 60, node, 3),
        block("memcg.births", 10, names, lambda t, column: t // 10 if column == 0 else 5),
        block("memcg.removals", 10, names, lambda t, column: t // 10 if column == 0 else 5),
        block("memcg.releases", 10, names, lambda _, column: 0 if column == 0 else 5),
        block("memcg.pinned_shmem_bytes", 60, ("/system.slice",),
              lambda t, _: 4096 * (t // 10 + 9)),
        block("memcg.pinned_file_bytes", 60, ("/system.slice",), 0),
        block("memcg.pinned_anonymous_bytes", 60, ("/system.slice",), 0),
        block("memory.percpu_bytes", 10, node, lambda t, _: 20_000_000_000 + 325_000 * (t // 10)),
        block("memory.slab_unreclaimable_bytes", 10, node,
              lambda t, _: 800_000_000 + 13_000 * (t // 10)),
        block("irq.count", 1, (*queues, "60 nvme0q3", "LOC", "61 idle"),
              lambda t, column: t * (900, 40, 30, 20, 300, 1000, 0)[column]),
        block("irq.core", 60, (*queues, "60 nvme0q3", "61 idle"),
              lambda _, column: (3, 3, 3, 3, 1, -1)[column]),
        block("irq.device", 1, tuple("0123"), lambda t, column: t * (0, 300, 0, 990)[column]),
        block("softirq.net_rx", 1, tuple("0123"), lambda t, column: t * (0, 5, 0, 800)[column]),
        block("softnet.processed", 1, tuple("0123"), lambda t, column: t * (0, 5, 0, 8000)[column]),
        block("softnet.squeezed", 1, tuple("0123"),
              lambda t, column: t // 100 if column == 3 else 0),
        block("softnet.dropped", 1, tuple("0123"),
              lambda t, column: 17 if column == 3 and t > BURST_AT else 0),
        block("netthread.run_ns", 1, ("ksoftirqd/3", "napi/eth0-8193"),
              lambda t, _: t * 10_000_000),
        block("netthread.wait_ns", 1, ("ksoftirqd/3", "napi/eth0-8193"),
              lambda t, column: t * 1000 + (starved if t > BURST_AT + 6 and column == 0 else 0)),
        block("unit.restarts", 10, ("ecs.service", "sshd.service"),
              lambda t, column: t // 10 if column == 0 else 0),
        block("unit.active", 10, ("ecs.service", "sshd.service"), lambda _, column: column),
        block("container.total", 10, node, 12),
        block("container.restarts", 10, ("ecs-agent",), 0),
        block("nic.stat", 10, ("eth0 tx_timeout", "eth0 device_reset"),
              lambda t, column: (t // 10 if t < BURST_AT else t // 10 - 70) if column == 0
              else int(t > BURST_AT)),
        block("process.user", 1, ("50 trainer",), lambda t, _: t * 99 if t % 7 else MISSING),
    ]  # fmt: skip


def _event(
    second: float,
    kind: str,
    subject: str,
    text: str = "",
    *,
    core: int | None = None,
    pid: int | None = None,
    count: int = 1,
    of: Mapping[str, str | int | float] | None = None,
    **fields: str | int | float,
) -> Event:
    """`of`: fields whose names are no identifiers, such as `class`."""
    time_ns = START + round(second * SECOND)
    return Event(time_ns, kind, subject, text, core, pid, count, {**(of or {}), **fields})


def _events(rename: dict[str, str]) -> list[Event]:
    unit, label = rename.get("unit", "ecs.service"), rename.get("container", "ecs-agent")
    found = [_event(0.1, "recorder-start", "exhume", "exhume 0.1.0 began to record")]
    for index in range(STARTS):
        at = 10.0 * index + 0.5
        id_ = f"{index:064x}"
        created = T0 + round(at * SECOND)
        found += [
            _event(at, "unit-start", unit, sub_state="auto-restart", restarts_total=index),
            _event(at + 1.2, "unit-failed", unit, "failed with result 'exit-code'",
                   result="exit-code"),
            _event(at, "container-start", label, id=id_, image="amazon/amazon-ecs-agent",
                   created_wall_ns=created),
            _event(at + 8, "container-exit", label, "gone", id=id_, created_wall_ns=created),
            _event(at, "exec", "amazon-ecs-init", pid=9000 + index, parent="systemd", parent_pid=1),
            _event(at + 1.2, "exit", "amazon-ecs-init", pid=9000 + index, parent="systemd",
                   parent_pid=1, lifetime_seconds=1.2),
        ]  # fmt: skip
    for index in range(300):
        found += [
            _event(100 + index / 5, "exec", "cc1", parent="gcc", parent_pid=20_000 + index),
            _event(100.3 + index / 5, "exit", "cc1", parent="gcc", parent_pid=20_000 + index,
                   lifetime_seconds=0.3),
        ]  # fmt: skip
    starve: dict[str, str | int | float] = {
        "signature": "ena.tx_paused",
        "class": "netdev-starve",
        "queue": 5,
        "level": 3,
    }
    found += [
        _event(BURST_AT + 6, "kernel-log", "eth0", RESET_TEXT, count=2, of=starve),
        _event(BURST_AT + 7, "kernel-log", "eth0", "ena 0000:00:05.0 eth0: Trigger reset is on",
               signature="ena.reset_start", level=3, of={"class": "netdev-reset"}),
        _event(BURST_AT + 9, "job-log", "trainer", "ray.exceptions.ActorDiedError: the actor died",
               signature="ray.actor_died", of={"class": "job"}),
        _event(300, "core-offline", "2", core=2),
        _event(330, "core-online", "2", core=2),
        _event(400, "rate", "recorder", "sampling at 48.5 Hz from now on", rate_hz=48.5),
        _event(20, "container-start", "db", id="d" * 64, image="postgres", created_wall_ns=T0),
        _event(30, "unit-start", "sshd.service", sub_state="running"),
    ]  # fmt: skip
    return found
