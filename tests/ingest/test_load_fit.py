"""Where samples fit the times of cores, near where they are thought to be."""

from __future__ import annotations

import numpy as np
import pytest

from exhume.ingest.load_fit import STEP_NS, Fit, fit_of
from exhume.model.arrays import F64
from exhume.model.series import Block
from tests.ingest.bursts import (
    BOOTED_NS,
    EVENING,
    NS,
    RATE_HZ,
    SECONDS,
    captured,
    counters,
    uneven,
)


def fitted(samples: F64, busy: F64, off_seconds: float) -> Fit | None:
    """`off_seconds`: how much too early the samples are thought to be."""
    begin = EVENING * NS - round(off_seconds * NS)
    wall = begin, begin + SECONDS * NS
    return fit_of(captured(samples), begin - BOOTED_NS, wall, counters(busy), RATE_HZ)


@pytest.mark.parametrize("off_seconds", [-3.4, -0.2, 0, 1.7, 4.5])
def test_samples_are_moved_to_where_the_cores_were_as_busy(off_seconds: float) -> None:
    found = fitted(uneven(), uneven(), off_seconds)
    assert found is not None
    assert abs(found.shift_ns - off_seconds * NS) <= STEP_NS


def test_a_load_that_is_the_same_everywhere_or_comes_again_tells_no_place() -> None:
    steady = np.full((2, 10 * SECONDS), 0.5)
    assert fitted(steady, steady, 1.7) is None
    pulses = np.tile(np.repeat([0.9, 0.1], 15), 2 * SECONDS)[: 10 * SECONDS]
    assert fitted(np.array([pulses, pulses]), np.array([pulses, pulses]), 1.7) is None


@pytest.mark.parametrize(("off_seconds", "is_told"), [(1.2, True), (-1.7, True), (6.4, False)])
def test_what_comes_again_every_ten_seconds_is_placed_where_its_name_is_near(
    off_seconds: float, is_told: bool
) -> None:
    """A name is a second or two off: only then one of two such places is much the likelier."""
    pulses = np.tile(np.repeat([0.9, 0.1], [30, 70]), SECONDS // 10)
    found = fitted(np.array([pulses, pulses]), np.array([pulses, pulses]), off_seconds)
    assert (found is not None) == is_told
    assert found is None or abs(found.shift_ns - off_seconds * NS) <= STEP_NS


def test_nor_do_counters_of_another_load_or_of_too_few_seconds() -> None:
    assert fitted(uneven(), uneven(seed=8), 1.7) is None
    few = [cut_out(block, 15) for block in counters(uneven())]
    wall = EVENING * NS, (EVENING + SECONDS) * NS
    assert fit_of(captured(uneven()), wall[0] - BOOTED_NS, wall, few, RATE_HZ) is None


def cut_out(block: Block, count: int) -> Block:
    cut = slice(20, 20 + count)
    return Block(block.field, block.instances, block.tick_ns[cut], block.values[cut])


def test_who_runs_little_and_wakes_who_runs_much_is_not_moved_to_the_others_time() -> None:
    """A capture of one process: by its shape alone it fits what runs seconds after it best."""
    who, other = np.zeros((2, 1, 10 * SECONDS))
    who[0, 400:450], other[0, 430:480] = 0.2, 0.8
    assert fitted(who, who + other, 0) is None
    assert fitted(other, who + other, 1.7) is not None


def test_further_off_than_a_name_is_it_is_left_where_it_was() -> None:
    assert fitted(uneven(), uneven(), 7.5) is None
