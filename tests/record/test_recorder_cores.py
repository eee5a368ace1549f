"""Cores that come and go, and who was born while nobody listened."""

from __future__ import annotations

import errno
import time

import pytest
from msgspec.structs import replace

from exhume.model.series import MISSING
from exhume.record.hearing import SCAN_AGAIN_NS
from exhume.record.liveness import SILENT_TICKS
from exhume.store.assemble import assemble
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.layout import heads_path, symbols_path
from exhume.store.symbols import SymbolStore
from tests.record.fake import (
    BOOT_NS,
    SECOND,
    Desk,
    Script,
    drained_of,
    put,
    sampler_of,
    samples_at,
    stat_of,
    value,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


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


def scans_of(desk: Desk) -> list[int]:
    """When each began."""
    frames = [f for path in heads_path(desk.data).iterdir() for f in HeadFile(path).frames]
    return [frame.start_ns for frame in frames if frame.kind == FrameKind.STATE]


def until_scanned(desk: Desk, scans: int) -> Script:
    """The scan is a child's work: give it real time."""
    for _ in range(200):
        if len(scans_of(desk)) >= scans:
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
        assert len(scans_of(sampling)) == 1
        put(sampling.host.proc / "stat", stat_of((0,)))
        yield 1
        put(sampling.host.proc / "stat", stat_of((0, 1)))
        yield from until_scanned(sampling, 2)
        yield from range(SCAN_AGAIN_NS // SECOND)
        sampler.gives = [replace(drained_of(), lost_sideband={0: 5})]
        yield from until_scanned(sampling, 3)

    sampling.run(script())
    assert len(scans_of(sampling)) == 3
