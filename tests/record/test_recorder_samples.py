"""Samples on their way into the log: the idle loop, epochs, cgroups."""

from __future__ import annotations

from itertools import pairwise

import pytest

from exhume.record.epoch import EPOCH_NS
from tests.record.fake import (
    BOOT_NS,
    IDLE,
    INTERRUPT,
    SECOND,
    Desk,
    Script,
    drained_of,
    sampler_of,
    samples_at,
    value,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


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
