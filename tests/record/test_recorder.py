from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.host import Host
from exhume.model.event import Event
from exhume.record.budget import Cost
from exhume.record.recorder import Recorder
from exhume.store.assemble import assemble
from exhume.store.headlog import HeadFile
from exhume.store.layout import heads_path
from exhume.store.symbols import SymbolStore
from tests.record.fake import (
    BOOT_NS,
    SECOND,
    Desk,
    FakeClock,
    FakeSampler,
    Script,
    drained_of,
    fill,
    machine,
    put,
    sampler_of,
    samples_at,
    stat_of,
    value,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


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
