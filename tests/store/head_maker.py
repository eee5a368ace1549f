"""Head logs written as the recorder does, second by second, and what comes back of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, to_builtins

from exhume.model.clock import ClockPair
from exhume.model.reading import Reading
from exhume.model.sample import Stretch
from exhume.model.segment import Origin, SegmentData
from exhume.model.stack import Mode
from exhume.store.assemble import assemble
from exhume.store.columns import Columns
from exhume.store.headlog import FrameKind, HeadFile, HeadWriter
from exhume.store.symbols import SymbolStore
from exhume.store.ticks import (
    FileEntry,
    State,
    Tick,
    TickSamples,
    encode_state,
    encode_tick,
)
from tests.perf.records_encoder import KERNEL, USER
from tests.perf.test_history import Story, told
from tests.perf.test_naming import (
    CODE,
    CODE_AT,
    k,
    u,
)

S = 1_000_000_000
MS = S // 1000
T0 = 1000 * S
WALL = 1_700_000_000 * S
BOOT = "1f0c2a3b-0000"
CORE_TIME = "cpu.user"

IN_MAIN = (USER, u("main"))
IN_WORK = (USER, u("work"), u("main"))
IN_READ = (KERNEL, k("ksys_read"), k("do_syscall_64"), *IN_WORK)
IN_SOFTIRQ = (KERNEL, k("net_rx_action"), k("__do_softirq"), k("do_idle"))
PATHS = {
    IN_MAIN: ("main",),
    IN_WORK: ("main", "work"),
    IN_READ: ("main", "work", "do_syscall_64", "ksys_read"),
    IN_SOFTIRQ: ("do_idle", "__do_softirq", "net_rx_action"),
}
LOST = ("[stack lost]",)

Chain = tuple[int, ...]


class Hit(Struct):
    """A sample: at so many milliseconds of its second."""

    ms: float
    core: int
    pid: int
    chain: Chain
    tid: int = 0
    cgroup: int = 0


@dataclass
class Log:
    """Writes a head log as the recorder does, second by second."""

    path: Path
    ticks: int = 0
    epoch: int = 0
    stacks: dict[Chain, int] = field(default_factory=dict)
    instances: dict[str, tuple[str, ...]] = field(default_factory=dict)
    frames: list[str] = field(default_factory=list)
    """What each frame is, in order: `tick 3`."""

    def __post_init__(self) -> None:
        self.writer = HeadWriter(self.path)

    def value(self, kind: FrameKind, values: Mapping[str, Any], time_ns: int = T0) -> None:
        self.writer.write(kind, time_ns, time_ns, Columns({}, values))
        self.frames.append(kind.name.lower())

    def origin(self) -> Log:
        origin = Origin("node-1", BOOT, "6.18", "x86_64", 100, "test")
        self.value(FrameKind.ORIGIN, to_builtins(origin))
        return self

    def clock(self, seconds: float = 0, wall_ns: int | None = None) -> Log:
        at = T0 + round(seconds * S)
        wall = WALL + round(seconds * S) if wall_ns is None else wall_ns
        self.value(FrameKind.CLOCK, to_builtins(ClockPair(at, wall)), at)
        return self

    def rate(self, hz: float, seconds: float = 0) -> Log:
        at = T0 + round(seconds * S)
        self.value(FrameKind.STRETCH, to_builtins(Stretch(at, "cpu-clock", hz)), at)
        return self

    def begin(self) -> Log:
        return self.origin().clock().rate(100)

    def scan(self, story: Story, cgroups: Mapping[int, str] | None = None) -> Log:
        """What /proc said of those that were there; the times of the story are the scan's."""
        side = told(story)
        files = [FileEntry(CODE, "abc123", "/usr/bin/server")]
        state = State(side.comms, side.parent_pid, side.mappings, files, cgroups or {})
        self.writer.write(FrameKind.STATE, T0, T0, encode_state(state, T0))
        self.frames.append("state")
        return self

    def new_epoch(self) -> Log:
        self.epoch += 1
        self.stacks.clear()
        self.instances.clear()
        return self

    def tick(
        self,
        *hits: Hit,
        story: Story | None = None,
        readings: Sequence[Reading] = (),
        **more: Any,
    ) -> Log:
        """One second. The times of the story are in nanoseconds since the second began."""
        start = T0 + self.ticks * S
        base = len(self.stacks)
        for hit in hits:
            self.stacks.setdefault(hit.chain, len(self.stacks))
        fresh = list(self.stacks)[base:]
        side = told(story or Story())
        for table in (side.comms, side.forks, side.exits, side.mappings):
            table.time[:] += start
        tick = Tick(
            start_ns=start,
            end_ns=start + S,
            epoch=self.epoch,
            samples=TickSamples(
                np.array([start + round(hit.ms * MS) for hit in hits], np.int64),
                np.array([hit.core for hit in hits], np.uint16),
                np.array([hit.pid for hit in hits], np.int32),
                np.array([hit.tid or hit.pid for hit in hits], np.int32),
                np.array([self.stacks[hit.chain] for hit in hits], np.uint32),
                np.array([hit.cgroup for hit in hits], np.uint64),
            ),
            stack_base=base,
            words=np.array([word for chain in fresh for word in chain], np.uint64),
            word_count=np.array([len(chain) for chain in fresh], np.uint32),
            comms=side.comms,
            forks=side.forks,
            exits=side.exits,
            mappings=side.mappings,
            readings=readings,
            **more,
        )
        self.writer.write(FrameKind.TICK, start, start + S, encode_tick(tick, self.instances))
        self.frames.append(f"tick {self.ticks}")
        self.ticks += 1
        return self

    def damage(self, frame: str) -> Log:
        """Flip a bit in the middle of that frame."""
        info = HeadFile(self.path).frames[self.frames.index(frame)]
        data = bytearray(self.path.read_bytes())
        data[info.offset + info.length // 2] ^= 0x10
        self.path.write_bytes(data)
        return self

    def read(self, window: tuple[int, int] | None = None) -> SegmentData:
        store = SymbolStore(self.path.parent / "symbols")
        return assemble(HeadFile(self.path), store, window)


NODE = Story(
    named=[(T0 + 300 * MS, 100, 100, "server"), (T0 + 300 * MS, 200, 200, "kubelet")],
    parents=[(T0 + 300 * MS, 100, 1), (T0 + 300 * MS, 200, 1)],
    maps=[(T0 + 300 * MS, pid, CODE_AT, 0x1000, CODE) for pid in (100, 200)],
)


class Seen(Struct, frozen=True, order=True):
    """A sample as it came back."""

    core: int
    ms: float
    """Since the log began."""
    comm: str
    pid: int
    path: tuple[str, ...]
    mode: Mode
    weight_ms: float


def seen(data: SegmentData) -> list[Seen]:
    found = []
    rows = data.samples
    for i in range(len(rows)):
        node = int(rows.stack[i])
        mode = Mode(data.tree.mode[node])
        path: list[str] = []
        while node > 0:
            path.append(data.tree.frames[data.tree.frame[node]].name)
            node = int(data.tree.parent[node])
        thread = int(rows.thread[i])
        assert path.pop() == data.threads.comm[thread]
        found.append(
            Seen(
                int(rows.core[i]),
                (int(rows.time_ns[i]) - T0) / MS,
                data.threads.comm[thread],
                int(data.threads.pid[thread]),
                tuple(path[::-1]),
                mode,
                int(rows.weight_ns[i]) / MS,
            )
        )
    return found


def cgroups_of(data: SegmentData) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for pid, path in zip(data.threads.pid.tolist(), data.threads.cgroup, strict=True):
        found.setdefault(pid, set()).add(path)
    return found
