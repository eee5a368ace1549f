"""A machine made of files, a clock that is wound by hand, a sampler that says what it is told."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec import Struct

from exhume.host import Host
from exhume.model.event import Event
from exhume.perf.attr import Attr
from exhume.perf.native import NO_SAMPLES, SampleColumns
from exhume.perf.records import NO_COMMS, NO_FORKS, NO_MAPPINGS
from exhume.record.head import Head
from exhume.record.recorder import Options, Recorder, origin_of
from exhume.sampler.kernel_clock import KernelClock
from exhume.sampler.probe import Offer
from exhume.sampler.sampler import Drained, Sampler
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.layout import heads_path, symbols_path
from exhume.store.ticks import Tick, decode_tick

Script = Iterator[object]
"""What happens between ticks: each step is a second."""
SECOND = 1_000_000_000
BOOT_NS = 5_000 * SECOND
WALL_NS = 1_714_532_400 * SECOND  # 03:00:00 UTC, a whole ten minutes
IDLE = 0xFFFFFFFF81000100
"""An address in the idle loop of `KALLSYMS`."""
INTERRUPT = 0xFFFFFFFF81000300
KALLSYMS = """\
ffffffff81000000 T _stext
ffffffff81000100 t default_idle
ffffffff81000200 T do_idle
ffffffff81000300 T handle_softirqs
ffffffff81000400 T net_rx_action
"""


class FakeClock(Struct):
    now_ns: int = BOOT_NS
    wall_offset_ns: int = WALL_NS - BOOT_NS
    slept_ns: int = 0

    def monotonic_ns(self) -> int:
        return self.now_ns

    def boottime_ns(self) -> int:
        return self.now_ns + self.slept_ns

    def wall_ns(self) -> int:
        return self.now_ns + self.wall_offset_ns

    def sleep_until(self, monotonic_ns: int) -> None:
        self.now_ns = max(self.now_ns, monotonic_ns)


def stat_of(cores: Iterable[int], busy: int = 0) -> str:
    lines = ["cpu  0 0 0 0 0 0 0 0 0 0"]
    lines += [f"cpu{core} {busy} 0 {busy} 500 0 0 0 0 0 0" for core in cores]
    return "\n".join([*lines, "ctxt 7", "btime 1", "processes 9", "procs_running 1", ""])


def machine(folder: Path, cores: Iterable[int] = (0, 1)) -> Host:
    """With processes 1 and 7 and two cores; what it lacks, a kernel may lack."""
    proc = folder / "proc"
    for name, text in {
        "stat": stat_of(cores),
        "kallsyms": KALLSYMS,
        "self/statm": "100 20 10 1 0 5 0",
        "self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
        "sys/kernel/random/boot_id": "b0071d00-0000-4000-8000-000000000000\n",
        "sys/kernel/hostname": "node-1\n",
        "sys/kernel/osrelease": "6.18.0\n",
    }.items():
        put(proc / name, text)
    for pid, name in ((1, "init"), (7, "worker")):
        process(proc, pid, name)
    for other in ("sys", "dev", "run"):
        (folder / other).mkdir(parents=True, exist_ok=True)
    return Host(proc, folder / "sys", folder / "dev", folder / "run", FakeClock())


def process(
    proc: Path, pid: int, name: str, *, parent: int = 0, maps: str = "", cgroup: str = "0::/a\n"
) -> None:
    raw = name.encode("utf-8", "surrogateescape")
    put(proc / f"{pid}/stat", b"%d (%s) S %d 1 1 0 -1 4194560 0" % (pid, raw, parent))
    put(proc / f"{pid}/task/{pid}/comm", raw + b"\n")
    put(proc / f"{pid}/maps", maps)
    put(proc / f"{pid}/cgroup", cgroup)


def put(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def fill(folder: Path) -> Path:
    """Until not a byte more goes in; the file to delete."""
    filler = folder / "filler"
    fd = os.open(filler, os.O_CREAT | os.O_WRONLY)
    with suppress(OSError):
        while True:
            os.write(fd, b"x" * 4096)
    os.close(fd)
    return filler


def refuse(attr: Attr, pid: int, cpu: int) -> int:
    raise PermissionError(errno.EACCES, "Permission denied")


def samples_at(*rows: tuple[int, int, int, int]) -> SampleColumns:
    """Of (time, core, pid, address); all with the stack of number 0."""
    table = np.array(rows, np.uint64).reshape(-1, 4)
    zeros = np.zeros(len(table), np.uint64)
    return SampleColumns(
        time=table[:, 0],
        ip=table[:, 3],
        period=zeros,
        cgroup=zeros,
        pid=table[:, 2].astype(np.int32),
        tid=table[:, 2].astype(np.int32),
        cpu=table[:, 1].astype(np.uint32),
        stack=zeros.astype(np.uint32),
        event=zeros.astype(np.uint16),
        misc=zeros.astype(np.uint16),
    )


def drained_of(samples: SampleColumns = NO_SAMPLES, lost: dict[int, int] | None = None) -> Drained:
    """One stack of one word, where there are samples."""
    stacks = min(1, len(samples))
    return Drained(
        samples=samples,
        words=np.full(stacks, IDLE, np.uint64),
        word_count=np.ones(stacks, np.uint32),
        comms=NO_COMMS,
        forks=NO_FORKS,
        exits=NO_FORKS,
        mappings=NO_MAPPINGS,
        files=(),
        kernel_symbols=(),
        cgroups={},
        lost_samples=lost or {},
        lost_sideband={},
    )


class FakeSampler(Sampler):
    """Gives what lies in `gives`, one after the other, then nothing."""

    def __init__(self) -> None:
        self.rate_hz = 97.0
        self.offer = Offer("cpu-clock", Attr(), Attr(), ())
        self.gives: list[Drained | Exception] = []
        self.watched: list[tuple[int, ...]] = []
        self.refuses: set[int] = set()
        self.fails: OSError | None = None
        self.calls: list[str] = []
        self.clock_offset_ns = 0
        self._cores: tuple[int, ...] = ()
        self._stacks = 0

    @property
    def cores(self) -> tuple[int, ...]:
        return self._cores

    @property
    def stack_count(self) -> int:
        return self._stacks

    def watch(self, cores: Iterable[int]) -> tuple[int, ...]:
        self.calls.append("watch")
        wanted = tuple(cores)
        self.watched.append(wanted)
        if self.fails is not None:
            raise self.fails
        self._cores = tuple(core for core in wanted if core not in self.refuses)
        return tuple(core for core in wanted if core in self.refuses)

    def drain(self) -> Drained:
        self.calls.append("drain")
        answer = self.gives.pop(0) if self.gives else drained_of()
        if isinstance(answer, Exception):
            raise answer
        self._stacks += len(answer.word_count)
        return answer

    def set_rate(self, rate_hz: float) -> None:
        self.rate_hz = rate_hz

    def forget_stacks(self) -> None:
        self._stacks = 0

    def forget_files(self) -> None:
        pass

    def close(self) -> None:
        self._cores = ()


@dataclass
class Desk:
    """A recorder on a fake machine, second by second."""

    host: Host
    data: Path
    sampler: FakeSampler | None = None
    segment_seconds: float = 600
    budget_percent: float = 1.0
    rotated: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert isinstance(self.host.clock, FakeClock)
        self.clock = self.host.clock
        for folder in (heads_path(self.data), symbols_path(self.data)):
            folder.mkdir(parents=True, exist_ok=True)
        options = Options(
            self.data,
            budget_percent=self.budget_percent,
            segment_ns=int(self.segment_seconds * SECOND),
        )
        head = Head(heads_path(self.data), origin_of(self.host), lambda _: False)
        self.recorder = Recorder(
            self.host,
            options,
            head,
            self.sampler,
            KernelClock(self.clock, refuse),
            self.rotated.append,
        )

    def run(self, script: Iterator[object]) -> None:
        """Runs the recorder; the script gets a turn before each tick, and its end is the signal."""

        def wait(until_ns: int) -> bool:
            self.clock.now_ns = max(self.clock.now_ns, until_ns)
            return next(script, STOP) is STOP

        self.recorder.run(wait)

    def run_for(self, seconds: int) -> None:
        self.run(iter(range(seconds)))

    def ticks(self) -> list[Tick]:
        return [tick for path in sorted(heads_path(self.data).iterdir()) for tick in ticks_of(path)]

    def events(self, *kinds: str) -> list[Event]:
        return [e for tick in self.ticks() for e in tick.events if not kinds or e.kind in kinds]

    def pairs(self) -> list[tuple[int, int]]:
        """(monotonic, wall) as written."""
        return [
            (int(value["monotonic_ns"]), int(value["wall_ns"]))
            for path in sorted(heads_path(self.data).iterdir())
            for value in HeadFile(path).values(FrameKind.CLOCK)
        ]


STOP = object()


def ticks_of(path: Path) -> list[Tick]:
    head = HeadFile(path)
    assert not head.damage
    instances: dict[str, tuple[str, ...]] = {}
    return [
        decode_tick(head.read(frame), frame.start_ns, frame.end_ns, instances)
        for frame in head.frames
        if frame.kind == FrameKind.TICK
    ]


def value(tick: Tick, field_id: str) -> list[int] | None:
    """What a field read at that tick; None where it was not read."""
    for reading in tick.readings:
        if reading.field == field_id:
            return [int(one) for one in reading.values]
    return None


def sampler_of(desk: Desk) -> FakeSampler:
    assert desk.sampler is not None
    return desk.sampler
