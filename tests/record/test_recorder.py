from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.host import Host
from exhume.model.event import Event
from exhume.model.series import MISSING
from exhume.record.budget import Cost
from exhume.record.epoch import EPOCH_NS
from exhume.record.hearing import SCAN_AGAIN_NS
from exhume.record.liveness import SILENT_TICKS
from exhume.record.recorder import Recorder
from exhume.store.assemble import assemble
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.layout import heads_path, symbols_path
from exhume.store.symbols import SymbolStore
from tests.record.fake import (
    BOOT_NS,
    IDLE,
    INTERRUPT,
    SECOND,
    WALL_NS,
    Desk,
    FakeClock,
    FakeSampler,
    drained_of,
    fill,
    machine,
    put,
    samples_at,
    stat_of,
    ticks_of,
    value,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
Script = Iterator[object]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine(tmp_path / "host")


@pytest.fixture
def desk(host: Host, tmp_path: Path) -> Desk:
    """Counters only."""
    return Desk(host, tmp_path / "data")


@pytest.fixture
def sampling(host: Host, tmp_path: Path) -> Desk:
    return Desk(host, tmp_path / "data", FakeSampler())


def sampler_of(desk: Desk) -> FakeSampler:
    assert desk.sampler is not None
    return desk.sampler


# --- each second ------------------------------------------------------------------------------


def test_every_second_is_a_tick_and_ticks_follow_each_other(desk: Desk) -> None:
    desk.run_for(5)
    ticks = desk.ticks()
    assert [tick.end_ns for tick in ticks] == [BOOT_NS + n * SECOND for n in range(7)]
    assert [tick.start_ns for tick in ticks[1:]] == [tick.end_ns for tick in ticks[:-1]]
    assert all(value(tick, "cpu.idle") == [500, 500] for tick in ticks)


def test_its_own_cost_is_a_reading_like_any_other(desk: Desk) -> None:
    desk.run_for(2)
    last = desk.ticks()[-1]
    cpu, written, rate = (value(last, f"self.{n}") for n in ("cpu_ns", "written_bytes", "rate_hz"))
    assert cpu is not None
    assert cpu[0] > 0
    assert written is not None
    assert written[0] > 0
    assert rate == [97]


def test_start_and_stop_are_events(desk: Desk) -> None:
    desk.run_for(3)
    assert [e.kind for e in desk.events("recorder-start", "recorder-stop")] == [
        "recorder-start",
        "recorder-stop",
    ]
    first, last = desk.ticks()[0], desk.ticks()[-1]
    assert first.events[0].kind == "recorder-start"
    assert last.events[-1].kind == "recorder-stop"


def test_a_late_tick_says_how_late_it_was(desk: Desk) -> None:
    def script() -> Script:
        yield 1
        desk.clock.now_ns += SECOND // 4
        yield 2

    desk.run(script())
    assert [value(tick, "self.lateness_ns") for tick in desk.ticks()] == [
        [0],
        [0],
        [SECOND // 4],
        [0],
    ]


def test_seconds_nobody_had_time_for_are_a_gap_with_its_length(desk: Desk) -> None:
    def script() -> Script:
        yield 1
        desk.clock.now_ns += 10 * SECOND
        yield from range(2)

    desk.run(script())
    (gap,) = desk.events("gap")
    assert gap.time_ns == BOOT_NS + SECOND
    assert gap.text == "nothing was read for 11.0 s"
    assert len(desk.ticks()) == 5  # not made up for


# --- sources that fail ------------------------------------------------------------------------


@pytest.mark.parametrize("garbage", ["", "\0\0\0", "cpu garbage\n", "cpu  1 2\ncpu0 x y z w\n"])
def test_a_garbled_file_is_noted_and_the_rest_goes_on(garbage: str, desk: Desk) -> None:
    def script() -> Script:
        yield 1
        put(desk.host.proc / "stat", garbage)
        yield 2
        yield 3
        assert desk.recorder.source_states()["cpu"].state == "broken"
        put(desk.host.proc / "stat", stat_of((0, 1)))
        yield 4
        yield 5
        assert desk.recorder.source_states()["cpu"].state == "ok"

    desk.run(script())
    readings = [value(tick, "cpu.idle") for tick in desk.ticks()]
    assert readings[2:4] == [None, None]
    assert readings[4:] == [[500, 500]] * len(readings[4:])
    assert all(value(tick, "self.cpu_ns") for tick in desk.ticks())
    assert desk.events("core-offline", "core-online") == []


def test_a_file_that_vanishes_is_absent_and_comes_back(desk: Desk) -> None:
    def script() -> Script:
        yield 1
        (desk.host.proc / "stat").unlink()
        yield 2
        yield 3
        assert desk.recorder.source_states()["cpu"].state == "absent"
        put(desk.host.proc / "stat", stat_of((0, 1)))
        yield 4

    desk.run(script())
    assert [value(tick, "cpu.idle") is None for tick in desk.ticks()] == [
        False, False, True, True, False, False,
    ]  # fmt: skip


def test_a_file_that_cannot_be_read_is_broken(desk: Desk) -> None:
    (desk.host.proc / "stat").unlink()
    (desk.host.proc / "stat").mkdir()  # read(2) gives EISDIR
    desk.run_for(2)
    assert desk.recorder.source_states()["cpu"].state == "broken"
    assert len(desk.ticks()) == 4


def test_a_machine_without_anything_is_recorded_all_the_same(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    desk = Desk(Host(empty, empty, empty, empty, FakeClock()), tmp_path / "data")
    desk.run_for(3)
    assert len(desk.ticks()) == 5
    data = assemble(HeadFile(next(heads_path(desk.data).iterdir())), SymbolStore(tmp_path))
    assert data.origin.boot_id == "unknown"


def test_rings_that_cannot_be_read_cost_samples_only(sampling: Desk) -> None:
    sampler_of(sampling).gives = [drained_of(), drained_of(), OSError(5, "Input/output error")]
    sampling.run_for(4)
    assert "Input/output error" in sampling.recorder.problems["samples"]
    assert len(sampling.ticks()) == 6
    assert all(value(tick, "cpu.idle") for tick in sampling.ticks())


def test_a_full_disk_costs_the_seconds_it_lasts_and_none_after(
    tiny_disk: Path, tmp_path: Path
) -> None:
    """Later frames build on what earlier ones told: names of cores, stacks, files."""
    desk = Desk(machine(tmp_path / "host"), tiny_disk / "data", FakeSampler())
    at = BOOT_NS + 30 * SECOND

    def script() -> Script:
        yield 1
        filler = fill(tiny_disk)
        yield from range(40)  # some fit into the last page
        assert desk.recorder.head.dropped_frames > 10
        put(desk.host.proc / "stat", stat_of((0,)))  # which cores there are is told once
        desk.recorder._events.append(Event(desk.clock.now_ns, "gap", "oom"))
        yield "this one is not written"
        filler.unlink()
        sampler_of(desk).gives = [drained_of(samples_at((at, 0, 7, 0x1234)))]
        yield from range(3)

    desk.run(script())
    last = desk.ticks()[-3:]
    assert [value(tick, "cpu.idle") for tick in last] == [[500]] * 3
    assert "oom" in [event.subject for event in desk.events()]
    written = [tick for tick in desk.ticks() if len(tick.samples.time)]
    assert [(tick.stack_base, len(tick.word_count)) for tick in written] == [(0, 1)]


# --- cores ------------------------------------------------------------------------------------


def test_a_core_that_goes_and_comes_is_told_and_its_times_are_missing_meanwhile(
    sampling: Desk,
) -> None:
    proc = sampling.host.proc

    def script() -> Script:
        yield 1
        put(proc / "stat", stat_of((0,)))
        yield 2
        yield 3
        put(proc / "stat", stat_of((0, 1)))
        yield 4

    sampling.run(script())
    events = sampling.events("core-offline", "core-online")
    assert [(e.kind, e.core, (e.time_ns - BOOT_NS) // SECOND) for e in events] == [
        ("core-offline", 1, 2),
        ("core-online", 1, 4),
    ]
    (path,) = heads_path(sampling.data).iterdir()
    data = assemble(HeadFile(path), SymbolStore(symbols_path(sampling.data)))
    (idle,) = [block for block in data.blocks if block.field == "cpu.idle"]
    column = idle.values[:, idle.instances.index("1")].tolist()
    assert column == [500, 500, MISSING, MISSING, 500, 500]
    assert sampler_of(sampling).watched == [(0, 1), (0,), (0, 1)]


def test_the_last_second_of_a_core_is_read_before_its_ring_is_let_go(sampling: Desk) -> None:

    def script() -> Script:
        sampler_of(sampling).calls.clear()
        put(sampling.host.proc / "stat", stat_of((0,)))
        yield 1

    sampling.run(script())
    assert sampler_of(sampling).calls[:2] == ["drain", "watch"]


def test_a_core_that_refuses_is_tried_each_second_and_told_once(sampling: Desk) -> None:
    sampler = sampler_of(sampling)
    sampler.refuses = {1}

    def script() -> Script:
        yield 1
        yield 2
        assert sampling.recorder.problems["samples"] == "no events on core 1"
        sampler.refuses = set()
        yield 3
        yield 4
        assert "samples" not in sampling.recorder.problems

    sampling.run(script())
    assert sampling.events("core-online", "core-offline") == []
    assert sampler.watched.count((0, 1)) >= 3


def test_events_that_cannot_be_opened_cost_samples_only(sampling: Desk) -> None:
    sampler = sampler_of(sampling)
    sampler.fails = OSError(errno.EMFILE, "Too many open files")
    sampling.run_for(3)
    assert "Too many open files" in sampling.recorder.problems["samples"]
    assert all(value(tick, "cpu.idle") for tick in sampling.ticks())


def test_a_core_that_was_off_between_two_ticks_gets_new_events(sampling: Desk) -> None:
    """It looks as if nothing had happened, but its events are dead: it works and is not heard."""
    sampler = sampler_of(sampling)

    def script() -> Script:
        for second in range(SILENT_TICKS + 3):
            put(sampling.host.proc / "stat", stat_of((0, 1), busy=second * 50))
            at = sampling.clock.now_ns
            sampler.gives = [drained_of(samples_at((at, 0, 7, 0x1234)))]
            yield second

    sampling.run(script())
    assert sampler.watched == [(0, 1), (0,), (0, 1)]


def test_after_a_sleep_every_core_gets_new_events(sampling: Desk) -> None:
    """To sleep, the kernel takes all cores but one off line, and their events with them."""

    def script() -> Script:
        yield 1
        sampling.clock.slept_ns += 3_600 * SECOND
        sampling.clock.wall_offset_ns += 3_600 * SECOND
        yield 2
        yield 3

    sampling.run(script())
    assert sampler_of(sampling).watched == [(0, 1), (), (0, 1)]
    (step,) = sampling.events("clock-step")
    assert step.fields["seconds"] == pytest.approx(3_600)


def scans_of(desk: Desk) -> int:
    frames = [f for path in heads_path(desk.data).iterdir() for f in HeadFile(path).frames]
    return sum(frame.kind == FrameKind.STATE for frame in frames)


def until_scanned(desk: Desk, scans: int) -> Script:
    """The scan is a child's work: give it real time."""
    for _ in range(200):
        if scans_of(desk) >= scans:
            return
        time.sleep(0.02)
        yield "another second"
    raise AssertionError("no scan came back")


def test_who_was_born_while_nobody_listened_is_found_by_another_scan(sampling: Desk) -> None:
    """A core that comes back, and records that the kernel dropped."""
    sampler = sampler_of(sampling)

    def script() -> Script:
        yield from until_scanned(sampling, 1)
        yield from range(SCAN_AGAIN_NS // SECOND)
        assert scans_of(sampling) == 1
        put(sampling.host.proc / "stat", stat_of((0,)))
        yield 1
        put(sampling.host.proc / "stat", stat_of((0, 1)))
        yield from until_scanned(sampling, 2)
        yield from range(SCAN_AGAIN_NS // SECOND)
        sampler.gives = [replace(drained_of(), lost_sideband={0: 5})]
        yield from until_scanned(sampling, 3)

    sampling.run(script())
    assert scans_of(sampling) == 3


def test_in_a_storm_it_scans_ever_less_often(sampling: Desk) -> None:
    sampler = sampler_of(sampling)

    def script() -> Script:
        yield from until_scanned(sampling, 1)
        for second in range(80):
            sampler.gives = [replace(drained_of(), lost_sideband={0: 5})]
            time.sleep(0.01)
            yield second

    sampling.run(script())
    assert 3 <= scans_of(sampling) <= 4  # the first, and after 10, 20 and 40 s


# --- clocks and rotation ----------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [3_600, -3_600, 0.5, -0.5])
def test_a_step_of_the_wall_clock_is_told_and_both_mappings_are_kept(
    seconds: float, desk: Desk
) -> None:
    def script() -> Script:
        yield 1
        yield 2
        desk.clock.wall_offset_ns += int(seconds * SECOND)
        yield 3
        yield 4

    desk.run(script())
    (step,) = desk.events("clock-step")
    assert step.time_ns == BOOT_NS + 3 * SECOND
    assert step.fields["seconds"] == pytest.approx(seconds)
    assert f"{seconds:+.3f} s" in step.text
    old = (step.time_ns - 1, WALL_NS + 3 * SECOND - 1)
    new = (step.time_ns, WALL_NS + 3 * SECOND + int(seconds * SECOND))
    assert {old, new} <= set(desk.pairs())
    data = assemble(HeadFile(min(heads_path(desk.data).iterdir())), SymbolStore(desk.data))
    before, after = BOOT_NS + 2 * SECOND, BOOT_NS + 3 * SECOND + 1
    assert data.clock.wall(before) == WALL_NS + 2 * SECOND
    assert data.clock.wall(step.time_ns - 1) == WALL_NS + 3 * SECOND - 1
    assert data.clock.wall(after) == WALL_NS + 3 * SECOND + 1 + int(seconds * SECOND)


def test_clocks_that_are_merely_slewed_are_no_step(desk: Desk) -> None:
    def script() -> Script:
        for second in range(150):
            desk.clock.wall_offset_ns += 400_000  # 400 ppm
            yield second

    desk.run(script())
    assert desk.events("clock-step") == []
    minutes = [pair for pair in desk.pairs() if pair[0] > BOOT_NS]
    assert len(minutes) == 2  # paired once a minute


def test_logs_begin_at_whole_multiples_of_wall_time(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data", segment_seconds=10)
    desk.clock.wall_offset_ns += 3 * SECOND + 250_000_000
    desk.run_for(40)
    starts = [desk.clock.wall_offset_ns + mono for mono, _ in desk.pairs()]
    logs = sorted(heads_path(desk.data).iterdir())
    assert len(logs) == len(desk.rotated) == 5
    assert [ticks_of(path)[0].end_ns for path in logs[1:]]
    offsets = [(wall - WALL_NS) // SECOND for wall in sorted(starts)][1:]
    assert offsets == [10, 20, 30, 40]
    assert desk.rotated == [path.name for path in logs]


def test_each_log_has_all_that_is_needed_to_read_it(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data", segment_seconds=10)
    desk.run_for(25)
    logs = sorted(heads_path(desk.data).iterdir())
    assert len(logs) == 3
    for path in logs:
        data = assemble(HeadFile(path), SymbolStore(desk.data))
        assert {"cpu.user", "cpu.idle", "self.cpu_ns"} <= {block.field for block in data.blocks}
        (idle,) = [block for block in data.blocks if block.field == "cpu.idle"]
        assert (idle.values == 500).all()


@pytest.mark.parametrize("step_seconds", [-86_400 * 365, -5, 86_400])
def test_a_step_never_leaves_a_log_open_for_longer_than_it_should_be(
    step_seconds: int, host: Host, tmp_path: Path
) -> None:
    desk = Desk(host, tmp_path / "data", segment_seconds=10)

    def script() -> Script:
        yield from range(14)
        desk.clock.wall_offset_ns += step_seconds * SECOND
        yield from range(30)

    desk.run(script())
    lengths = [len(ticks_of(path)) for path in heads_path(desk.data).iterdir()]
    assert max(lengths) <= 16
    assert len({tick.end_ns for tick in desk.ticks()}) == 46


# --- samples ----------------------------------------------------------------------------------


def test_the_idle_loop_is_dropped_and_counted_but_not_the_work_on_top_of_it(
    sampling: Desk,
) -> None:
    sampler = sampler_of(sampling)

    def script() -> Script:
        while not len(sampling.recorder.background.idle_ranges):
            yield "the kernel's symbols are read in a child"
        at = sampling.clock.now_ns
        rows = [(at, 1, 0, IDLE + 4)] * 5  # idle
        rows += [(at, 0, 0, IDLE + 0x150)] * 2  # do_idle, on core 0
        rows += [(at, 1, 0, INTERRUPT + 8)]  # softirq work on an idle core
        rows += [(at, 1, 0, IDLE - 1), (at, 1, 0, 0x55)]  # next to it, and user space
        rows += [(at, 1, 7, IDLE + 4)]  # another thread in the same function (an idle injection)
        sampler.gives = [drained_of(samples_at(*rows))]
        yield "these"
        yield "and none"

    sampling.run(script())
    kept = [tick.samples for tick in sampling.ticks() if len(tick.samples.time)]
    assert [len(samples.time) for samples in kept] == [4]
    assert sorted(kept[0].pid.tolist()) == [0, 0, 0, 7]
    assert kept[0].core.tolist() == [1, 1, 1, 1]
    assert value(sampling.ticks()[-1], "sampler.idle") == [2, 5]


def test_until_the_kernels_symbols_are_known_nothing_is_dropped(sampling: Desk) -> None:
    (sampling.host.proc / "kallsyms").unlink()
    sampler = sampler_of(sampling)
    sampler.gives = [drained_of(), drained_of(samples_at((BOOT_NS + 1, 0, 0, IDLE)))]
    sampling.run_for(2)
    assert sum(len(tick.samples.time) for tick in sampling.ticks()) == 1


def test_samples_from_before_the_tick_widen_it(sampling: Desk) -> None:
    """Nobody read the ring for a while: its samples are older than the last tick."""
    early = BOOT_NS - 5 * SECOND
    sampler_of(sampling).gives = [drained_of(), drained_of(samples_at((early, 0, 7, 0x1234)))]
    sampling.run_for(2)
    tick = sampling.ticks()[1]
    assert tick.start_ns == early
    assert tick.samples.time.tolist() == [early]


def test_lost_samples_are_counted_by_core(sampling: Desk) -> None:
    sampler_of(sampling).gives = [drained_of(), drained_of(lost={1: 40}), drained_of(lost={1: 2})]
    sampling.run_for(4)
    assert value(sampling.ticks()[-1], "sampler.lost") == [0, 42]


def test_a_new_epoch_each_minute_and_stacks_are_told_anew(sampling: Desk) -> None:
    sampler = sampler_of(sampling)

    def script() -> Script:
        for second in range(130):
            at = sampling.clock.now_ns
            sampler.gives = [drained_of(samples_at((at, 0, 7, 0x1234)))]
            yield second

    sampling.run(script())
    ticks = sampling.ticks()
    epochs = [tick.epoch for tick in ticks]
    assert epochs == sorted(epochs)
    assert max(epochs.count(epoch) for epoch in epochs) <= EPOCH_NS // SECOND + 1
    assert len(set(epochs)) == 3
    for before, after in pairwise(ticks):
        if after.epoch != before.epoch and len(after.word_count):
            assert after.stack_base == 0


def test_many_stacks_end_an_epoch_early(sampling: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.record.epoch.EPOCH_WORDS", 2)
    sampler = sampler_of(sampling)

    def script() -> Script:
        for second in range(12):
            at = sampling.clock.now_ns
            sampler.gives = [drained_of(samples_at((at, 0, 7, 0x1234)))]
            yield second

    sampling.run(script())
    assert len({tick.epoch for tick in sampling.ticks()}) >= 4


def test_a_process_gets_its_cgroup_when_it_is_first_sampled(sampling: Desk) -> None:
    sampler = sampler_of(sampling)
    row = samples_at((BOOT_NS + 1, 0, 7, 0x1234), (BOOT_NS + 1, 0, 99, 0x1234))
    sampler.gives = [drained_of(), drained_of(row), drained_of(row)]
    sampling.run_for(3)
    assert [dict(tick.pid_cgroups) for tick in sampling.ticks()][:3] == [{}, {7: "/a"}, {}]


# --- its own cost -----------------------------------------------------------------------------


def test_over_budget_it_lowers_its_rate_says_so_and_weights_the_samples(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(host, tmp_path / "data", FakeSampler(), budget_percent=1.0)
    spent = iter(range(0, 10**15, 20_000_000))  # 2 % of a core
    monkeypatch.setattr("exhume.record.recorder.own_cost", lambda _: Cost(next(spent), 1))
    desk.run_for(125)
    (event,) = desk.events("rate")
    assert event.fields["rate_hz"] == 48.5
    assert "2.00 % of a core, its budget is 1 %" in event.text
    assert sampler_of(desk).rate_hz == 48.5
    data = assemble(HeadFile(next(heads_path(desk.data).iterdir())), SymbolStore(tmp_path))
    assert [stretch.rate_hz for stretch in data.stretches] == [97.0, 48.5]
    assert value(desk.ticks()[-1], "self.rate_hz") == [48]


def test_what_it_holds_does_not_grow_with_time(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data", FakeSampler(), segment_seconds=20)
    sampler = sampler_of(desk)
    recorder: Recorder = desk.recorder

    def script() -> Script:
        for second in range(100):
            at = desk.clock.now_ns
            pids = np.arange(100) + 100 * second
            rows = [(at, 0, int(pid), 0x1234) for pid in pids]
            sampler.gives = [drained_of(samples_at(*rows))]
            yield second

    desk.run(script())
    assert len(recorder._owners._known) <= 100 * 21
    assert recorder._events == []
    assert len(recorder._instances) < 200
