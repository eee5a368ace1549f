from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct, to_builtins

from exhume.errors import ParseError
from exhume.model.clock import ClockPair
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.sample import Stretch
from exhume.model.segment import Origin, SegmentData
from exhume.model.series import MISSING
from exhume.model.stack import Mode
from exhume.perf.records import KernelSymbol
from exhume.perf.symbols.cache import path_of
from exhume.store.assemble import assemble
from exhume.store.columns import Columns
from exhume.store.headlog import FrameKind, HeadFile, HeadWriter
from exhume.store.symbols import SymbolStore, kernel_key
from exhume.store.ticks import (
    FileEntry,
    State,
    Tick,
    TickSamples,
    encode_state,
    encode_tick,
)
from tests.perf.records_encoder import KERNEL, USER
from tests.perf.test_history import Story, child, told
from tests.perf.test_naming import (
    CODE,
    CODE_AT,
    KERNEL_FUNCTIONS,
    USER_FUNCTIONS,
    K,
    k,
    table_of,
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


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A log that stands before its first frame, and the tables to name its addresses by."""
    symbols = tmp_path / "symbols"
    symbols.mkdir()
    table_of(KERNEL_FUNCTIONS, K).save(path_of(symbols, kernel_key(BOOT)))
    table_of(USER_FUNCTIONS, 0).save(path_of(symbols, "abc123"))
    return Log(tmp_path / "x.head")


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


# --- samples -----------------------------------------------------------------------------------


def test_samples_come_back_with_core_thread_stack_mode_and_weight_across_a_change_of_rate(
    log: Log,
) -> None:
    log.begin()
    log.tick(Hit(500, 1, 100, IN_WORK), Hit(400, 0, 100, IN_READ), Hit(600, 1, 0, IN_SOFTIRQ))
    log.scan(NODE)
    log.rate(50, 1)
    log.tick(Hit(0, 0, 200, IN_WORK), Hit(999, 1, 200, IN_MAIN))
    assert seen(log.read()) == [
        Seen(0, 400, "server", 100, PATHS[IN_READ], Mode.SYSTEM, 10),
        Seen(0, 1000, "kubelet", 200, PATHS[IN_WORK], Mode.USER, 20),
        Seen(1, 500, "server", 100, PATHS[IN_WORK], Mode.USER, 10),
        Seen(1, 600, "swapper", 0, PATHS[IN_SOFTIRQ], Mode.SOFTIRQ, 10),
        Seen(1, 1999, "kubelet", 200, PATHS[IN_MAIN], Mode.USER, 20),
    ]


def test_samples_are_ordered_by_core_and_time_and_the_segment_covers_them(log: Log) -> None:
    log.begin().scan(NODE)
    log.tick(Hit(900, 1, 100, IN_MAIN), Hit(100, 1, 100, IN_MAIN), Hit(500, 0, 100, IN_MAIN))
    log.tick(Hit(-20, 1, 100, IN_MAIN))  # a ring may give late what belongs to the second before
    data = log.read()
    assert [(s.core, s.ms) for s in seen(data)] == [(0, 500), (1, 100), (1, 900), (1, 980)]
    assert data.start_ns == T0
    assert T0 + 2 * S <= data.end_ns <= T0 + 2 * S + 1
    assert data.clock.wall(T0 + S) == WALL + S
    assert data.origin.boot_id == BOOT


def test_what_ran_before_the_scan_had_ended_has_its_name_and_its_functions(log: Log) -> None:
    # The scan looked at 300 ms; this sample is older, and the process was there all the time.
    log.begin().tick(Hit(1, 0, 100, IN_WORK)).scan(NODE)
    assert [(s.comm, s.path) for s in seen(log.read())] == [("server", PATHS[IN_WORK])]


def test_a_program_started_while_the_scan_went_on_is_not_taken_for_what_it_became(
    log: Log,
) -> None:
    started = Story(
        named=[(100 * MS, 300, 300, "sh")],
        execs=[(200 * MS, 300, 300, "sleep")],
        forks=[child(50 * MS, 300, 100)],
    )
    found = Story(
        named=[*NODE.named, (T0 + 300 * MS, 300, 300, "sleep")],
        parents=[*NODE.parents, (T0 + 300 * MS, 300, 100)],
        maps=NODE.maps,
    )
    hits = [Hit(ms, 0, 300, IN_MAIN) for ms in (60, 150, 250, 400)]
    log.begin().tick(*hits, story=started).scan(found)
    assert [s.comm for s in seen(log.read())] == ["server", "sh", "sleep", "sleep"]


def test_a_log_without_any_side_band_still_tells_who_ran_where(log: Log) -> None:
    log.begin().tick(Hit(500, 3, 100, IN_READ))
    (sample,) = seen(log.read())
    assert (sample.core, sample.comm, sample.mode) == (3, ":100", Mode.SYSTEM)
    assert sample.path == ("[unknown]", "do_syscall_64", "ksys_read")


def test_a_bpf_program_loaded_since_the_kernels_symbols_were_read_has_its_name(log: Log) -> None:
    at = 0xFFFF_FFFF_C000_0000
    chain = (KERNEL, at + 8, k("ksys_read"))
    loaded = KernelSymbol(T0 + S, at, 64, "bpf_prog_6deef7357e7b4530", False)
    unloaded = KernelSymbol(T0 + S, at + 64, 64, "bpf_prog_gone", True)
    log.begin().tick(Hit(0, 0, 0, chain)).new_epoch()
    log.tick(Hit(0, 0, 0, chain), kernel_symbols=[loaded, unloaded])
    assert [s.path for s in seen(log.read())] == [
        ("ksys_read", "[unknown]"),
        ("ksys_read", "bpf_prog_6deef7357e7b4530"),
    ]


def test_a_live_window_limits_the_samples_and_nothing_else(log: Log) -> None:
    log.begin().scan(NODE)
    for second in range(4):
        at = Reading.of_node("self.rate_hz", second)
        log.tick(
            Hit(500, 0, 100, IN_MAIN), story=Story(exits=[child(0, 900 + second, 1)]), readings=[at]
        )
    data = log.read((T0 + S, T0 + 2 * S + 500 * MS))
    assert [s.ms for s in seen(data)] == [1500]
    assert len(data.blocks[0].tick_ns) == 4
    assert len(data.events) == 4
    assert (data.start_ns, data.end_ns >= T0 + 4 * S) == (T0, True)


# --- epochs ------------------------------------------------------------------------------------


def test_stack_ids_mean_something_else_in_each_epoch(log: Log) -> None:
    log.begin().scan(NODE)
    log.tick(Hit(0, 0, 100, IN_MAIN), Hit(1, 0, 100, IN_READ))
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 0, 100, IN_MAIN))
    log.new_epoch()
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 0, 100, IN_MAIN), Hit(2, 0, 100, IN_WORK))
    order = [IN_MAIN, IN_READ, IN_READ, IN_MAIN, IN_READ, IN_MAIN, IN_WORK]
    assert [s.path for s in seen(log.read())] == [PATHS[chain] for chain in order]


def test_who_is_who_is_remembered_from_one_epoch_to_the_next(log: Log) -> None:
    log.begin().scan(NODE)
    born = Story(forks=[child(5, 300, 100)], execs=[(10, 300, 300, "agent")])
    log.tick(Hit(500, 0, 300, IN_MAIN), story=born).new_epoch()
    log.tick(Hit(500, 0, 300, IN_MAIN), story=Story(exits=[child(900 * MS, 300, 100)])).new_epoch()
    log.tick(Hit(500, 0, 300, IN_MAIN), Hit(500, 1, 100, IN_MAIN))
    assert [s.comm for s in seen(log.read())] == ["agent", "agent", ":300", "server"]


# --- damage ------------------------------------------------------------------------------------


def three_seconds(log: Log) -> Log:
    log.begin().scan(NODE)
    cores = [Reading.of_each(CORE_TIME, ("0", "1"), [10, 20])]
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 1, 100, IN_MAIN), readings=cores)
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 1, 100, IN_WORK), readings=cores)
    log.tick(
        Hit(0, 0, 100, IN_READ), Hit(1, 1, 100, IN_WORK), Hit(2, 1, 0, IN_SOFTIRQ), readings=cores
    )
    return log


def test_a_damaged_tick_costs_its_own_second_and_the_stacks_first_seen_in_it(log: Log) -> None:
    data = three_seconds(log).damage("tick 1").read()
    assert [(s.ms, s.path) for s in seen(data)] == [
        (0, PATHS[IN_READ]),
        (2000, PATHS[IN_READ]),
        (1, PATHS[IN_MAIN]),
        (2001, LOST),  # IN_WORK was told in the second that is gone
        (2002, PATHS[IN_SOFTIRQ]),
    ]
    (block,) = data.blocks
    assert block.tick_ns.tolist() == [T0 + S, T0 + 3 * S]


def test_a_damaged_first_tick_costs_its_stacks_until_the_next_epoch(log: Log) -> None:
    three_seconds(log).new_epoch().tick(Hit(0, 0, 100, IN_READ))
    log.damage("tick 0")
    assert [(s.ms, s.path) for s in seen(log.read())] == [
        (1000, LOST),
        (2000, LOST),
        (3000, PATHS[IN_READ]),
        (1001, PATHS[IN_WORK]),
        (2001, PATHS[IN_WORK]),
        (2002, PATHS[IN_SOFTIRQ]),
    ]


def test_a_damaged_scan_costs_names_and_not_samples(log: Log) -> None:
    data = three_seconds(log).damage("state").read()
    assert {s.comm for s in seen(data)} == {":100", "swapper"}
    assert len(data.samples) == 7


def test_a_damaged_change_of_rate_leaves_the_rate_before(log: Log) -> None:
    log.begin().tick(Hit(0, 0, 0, IN_SOFTIRQ))
    log.clock(1)
    log.value(FrameKind.STRETCH, to_builtins(Stretch(T0 + S, "cpu-clock", 10.0)))
    log.frames[-1] = "slower"
    log.tick(Hit(0, 0, 0, IN_SOFTIRQ))
    assert [s.weight_ms for s in seen(log.read())] == [10, 100]
    assert [s.weight_ms for s in seen(log.damage("slower").read())] == [10, 10]


@pytest.mark.parametrize("frame", ["origin", "clock"])
def test_without_origin_or_clock_the_log_is_refused_with_a_reason(log: Log, frame: str) -> None:
    three_seconds(log).damage(frame)
    with pytest.raises(ParseError) as caught:
        log.read()
    assert "the origin and a pair of clocks" in caught.value.what
    assert caught.value.todo


def test_a_log_with_only_its_origin_is_refused_and_with_a_clock_it_is_empty(log: Log) -> None:
    with pytest.raises(ParseError):
        log.origin().read()
    data = log.clock().read()
    assert len(data.samples) == len(data.threads) == len(data.blocks) == len(data.events) == 0
    assert data.start_ns == T0
    assert data.tree.parent.tolist() == [-1]


def test_a_second_clock_makes_up_for_a_damaged_first_one(log: Log) -> None:
    data = three_seconds(log.origin().clock()).damage("clock").read()
    assert data.clock.wall(T0 + 2 * S) == WALL + 2 * S


def test_frames_of_a_kind_that_nobody_knows_yet_are_passed_over(log: Log) -> None:
    log.begin().tick(Hit(0, 0, 0, IN_SOFTIRQ))
    log.writer.write_packed(99, T0, T0, b"from the future")  # type: ignore[arg-type]
    log.tick(Hit(0, 0, 0, IN_SOFTIRQ))
    assert len(log.read().samples) == 2


@given(st.data())
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_bit_flips_what_is_left_is_true(log: Log, data: st.DataObject) -> None:
    if not log.frames:
        three_seconds(log)
        log.writer.close()
        object.__setattr__(log, "good", log.path.read_bytes())
    good: bytes = log.__dict__["good"]
    log.path.write_bytes(good)
    wanted = {(s.core, s.ms): s for s in seen(log.read())}
    broken = bytearray(good)
    bit = data.draw(st.integers(0, len(good) * 8 - 1))
    broken[bit // 8] ^= 1 << bit % 8
    log.path.write_bytes(broken)
    with suppress(ParseError):
        found = seen(log.read())
        assert len(found) >= len(wanted) - 3
        for s in found:
            true = wanted[s.core, s.ms]
            assert s.comm in (true.comm, f":{true.pid}")
            assert s.path in (true.path, LOST) or s.path[0] == "[unknown]"


# --- counters ----------------------------------------------------------------------------------


def test_instances_that_come_and_go_are_missing_and_not_zero(log: Log) -> None:
    log.begin()
    for cores in ({"0": 1, "1": 2}, {"0": 3}, {"1": 0, "0": 4, "2": None}):
        log.tick(readings=[Reading.of_each(CORE_TIME, tuple(cores), list(cores.values()))])
    log.tick(readings=[Reading.of_node("self.rss_bytes", 7)])
    cpu, rss = log.read().blocks
    assert (cpu.field, cpu.instances) == (CORE_TIME, ("0", "1", "2"))
    assert cpu.tick_ns.tolist() == [T0 + S, T0 + 2 * S, T0 + 3 * S]
    assert cpu.values.tolist() == [[1, 2, MISSING], [3, MISSING, MISSING], [4, 0, MISSING]]
    assert (rss.field, rss.values.tolist()) == ("self.rss_bytes", [[7]])


# --- cgroups -----------------------------------------------------------------------------------


def test_the_kernels_cgroup_of_a_sample_goes_before_that_of_its_process(log: Log) -> None:
    log.begin().scan(NODE, {100: "/system.slice/server", 200: "/kubelet"})
    log.tick(
        Hit(0, 0, 100, IN_MAIN, cgroup=77),
        Hit(1, 0, 200, IN_MAIN, cgroup=1),
        Hit(2, 0, 200, IN_MAIN, cgroup=12345),
        cgroup_names={77: "/kubepods/burstable", 1: "/"},
    )
    # 1 is the root, which only says that another hierarchy knows more; 12345 nobody named.
    assert cgroups_of(log.read()) == {100: {"/kubepods/burstable"}, 200: {"/kubelet"}}


def test_a_process_keeps_the_cgroup_that_was_read_of_it_and_its_children_have_it(log: Log) -> None:
    log.begin().scan(NODE, {100: "/a"})
    log.tick(
        Hit(500, 0, 100, IN_MAIN),
        Hit(500, 1, 300, IN_MAIN),
        story=Story(forks=[child(5, 300, 100)]),
    )
    log.tick(Hit(500, 0, 100, IN_MAIN), pid_cgroups={100: "/moved"})
    log.tick(
        Hit(500, 0, 100, IN_MAIN),
        Hit(500, 1, 301, IN_MAIN),
        story=Story(forks=[child(5, 301, 100)]),
    )
    assert cgroups_of(log.read()) == {100: {"/a", "/moved"}, 300: {"/a"}, 301: {"/moved"}}


def test_a_container_started_within_the_second_is_not_put_into_its_parents_cgroup(log: Log) -> None:
    # The runtime forks, moves the child and starts it; we read its cgroup at the end of the second.
    log.begin().scan(NODE, {100: "/system.slice/containerd"})
    story = Story(
        forks=[child(300 * MS, 300, 100), (350 * MS, 300, 300, 301, 300)],
        execs=[(310 * MS, 300, 300, "agent")],
    )
    log.tick(Hit(400, 0, 300, IN_MAIN), story=story, pid_cgroups={300: "/docker/c0ffee"})
    log.tick(Hit(400, 0, 300, IN_MAIN), Hit(500, 0, 300, IN_MAIN, tid=301))
    assert cgroups_of(log.read()) == {300: {"/docker/c0ffee"}}


def test_a_thread_that_is_born_later_does_not_delay_what_is_known_of_its_process(log: Log) -> None:
    log.begin()
    story = Story(named=[(0, 100, 100, "server")], forks=[(900 * MS, 100, 100, 101, 100)])
    log.tick(Hit(400, 0, 100, IN_MAIN), story=story, pid_cgroups={100: "/a"})
    assert cgroups_of(log.read()) == {100: {"/a"}}


# --- events ------------------------------------------------------------------------------------


def test_events_of_the_recorder_and_of_processes_come_in_order_of_time(log: Log) -> None:
    log.begin().scan(NODE)
    born = Story(forks=[child(200 * MS, 300, 100)], execs=[(210 * MS, 300, 300, "agent")])
    log.tick(story=born, events=[Event(T0 + 500 * MS, "rate", "recorder", "slower")])
    log.tick(story=Story(exits=[child(10 * MS, 300, 100)]), events=[Event(T0, "gap", "recorder")])
    found = [(e.kind, e.subject, (e.time_ns - T0) / MS, dict(e.fields)) for e in log.read().events]
    who = {"parent_pid": 100, "parent": "server"}
    assert found == [
        ("gap", "recorder", 0, {}),
        ("exec", "agent", 210, who),
        ("rate", "recorder", 500, {}),
        ("exit", "agent", 1010, {**who, "lifetime_seconds": 0.8}),
    ]


def test_what_a_scan_found_is_not_an_event(log: Log) -> None:
    log.begin().scan(NODE).tick()
    assert log.read().events == ()
