"""A gap between samples is a finding only if idleness, steal and losses can't explain it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.model.segment import SegmentData
from exhume.model.series import MISSING, Block
from exhume.store.memory import MemorySegment
from exhume.store.queries import late_samples
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, by_hand, jiffies

STACKS = (("app", "main"), ("app", "k_unlock", "k_irqrestore"))
GAP = 1.3


def recording(data: SegmentData) -> Recording:
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(data)], 1 << 20)


def starved(mode: str = "system", extra: tuple[Block, ...] = ()) -> SegmentData:
    """Core 1 is sampled at 100 Hz but for 1.3 s from 4.2 s on; `mode` took those seconds."""
    times = [t / 100 for t in range(420)] + [4.2 + GAP - 0.01 + t / 100 for t in range(440)]
    samples = [(1, t, 0, 1 if round(t, 2) == 5.49 else 0) for t in times]
    blocks = jiffies(10, {1: {"user": 100}, 2: {"idle": 100}})
    for block in blocks:
        if block.field == "cpu.user":
            block.values[:, 0] = [0, 100, 200, 300, 400, 420, 470, 570, 670, 770, 870]
        if block.field == f"cpu.{mode}":
            block.values[:, 0] += np.array([0, 0, 0, 0, 0, 80, 130, 130, 130, 130, 130])
    return by_hand(samples, stacks=STACKS, blocks=(*blocks, *extra))


def test_a_sample_late_on_a_busy_core_is_found_with_its_caller() -> None:
    (late,) = late_samples(recording(starved()), at(0, 10))
    assert late.core == 1
    assert late.gap_seconds == pytest.approx(GAP, abs=0.001)
    assert late.periods == pytest.approx(130, abs=0.1)
    assert late.wall_ns == pytest.approx(at(5.49).start_ns, abs=1_000_000)
    assert late.leaf.name == "k_irqrestore"
    assert late.caller is not None
    assert late.caller.name == "k_unlock"
    assert late.comm == "app"


def test_it_is_found_on_disk_as_well(tmp_path: Path) -> None:
    write_segment(tmp_path, starved())
    (late,) = late_samples(Recording.open(tmp_path), at(0, 10))
    assert late.gap_seconds == pytest.approx(GAP, abs=0.001)


def test_a_core_whose_ticks_stood_still_was_not_idle() -> None:
    """With interrupts off nothing is accounted at all; mpstat would call that second idle."""
    (late,) = late_samples(recording(starved(mode="none")), at(0, 10))
    assert late.core == 1


@pytest.mark.parametrize("mode", ["idle", "iowait", "steal"])
def test_time_the_core_had_nothing_to_do_or_was_taken_away_excuses_a_gap(mode: str) -> None:
    assert late_samples(recording(starved(mode)), at(0, 10)) == []


def test_samples_that_were_lost_are_not_late() -> None:
    ticks = START + np.arange(11, dtype=np.int64) * SECOND
    lost = np.array([0, 0, 0, 0, 0, 90, 130, 130, 130, 130, 130], np.int64)[:, np.newaxis]
    data = starved(extra=(Block("sampler.lost", ("1",), ticks, lost),))
    assert late_samples(recording(data), at(0, 10)) == []


def test_a_core_that_was_off_line_is_not_accused() -> None:
    data = starved()
    for block in data.blocks:
        block.values[5, 0] = MISSING
    assert late_samples(recording(data), at(0, 10)) == []


def test_only_the_cores_and_the_window_asked_for_count() -> None:
    assert late_samples(recording(starved()), at(0, 10), cores=(2,)) == []
    assert late_samples(recording(starved()), at(0, 5)) == []
    assert len(late_samples(recording(starved()), at(5, 1), cores=(1,))) == 1
