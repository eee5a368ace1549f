from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.model.answers import MAP_MODES
from exhume.store import queries
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import at, by_hand, jiffies


def record(root: Path, *samples: tuple[int, float, int, int]) -> Recording:
    stacks = (("app", "main"), ("app", "k_read"))
    blocks = jiffies(10, {0: {"idle": 100}, 1: {"idle": 100}, 7: {"idle": 100}})
    write_segment(root, by_hand(list(samples), stacks=stacks, blocks=blocks))
    return Recording.open(root)


def test_a_sample_fills_the_period_around_it_and_nothing_else(tmp_path: Path) -> None:
    recording = record(tmp_path, (1, 5.005, 0, 1))  # 100 Hz: stands for 5.000 to 5.010
    found = queries.sample_map(recording, at(4.99, 0.04), 16)
    row = found.worst_percent_of_core[found.cores.index(1)]
    assert row.tolist() == pytest.approx([0] * 4 + [100] * 4 + [0] * 8, abs=0.5)
    assert found.worst_mode[found.cores.index(1)].max() == MAP_MODES.index("system")
    assert found.mode_percent_of_core[MAP_MODES.index("user")].max() == 0


def test_the_sum_over_columns_is_the_time_that_was_sampled(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    times = np.sort(rng.choice(900, 60, replace=False)) / 100 + 0.2
    recording = record(tmp_path, *((0, float(time), 0, 0) for time in times))
    for columns in (7, 100, 1000):
        found = queries.sample_map(recording, at(0, 10), columns)
        seconds = found.worst_percent_of_core[0].sum() / 100 * found.column_seconds
        assert seconds == pytest.approx(0.6, abs=1e-3)


def test_cores_that_never_ran_have_a_row_of_zeros_and_other_times_are_unknown(
    tmp_path: Path,
) -> None:
    recording = record(tmp_path, (0, 5.0, 0, 0))
    found = queries.sample_map(recording, at(-1, 2), 8)
    assert found.cores == (0, 1, 7)
    assert np.isnan(found.worst_percent_of_core[:, :4]).all()
    assert (found.worst_percent_of_core[2, 4:] == 0).all()
    assert (found.worst_mode[2] == -1).all()


def test_where_samples_are_sparse_counters_say_more(tmp_path: Path) -> None:
    blocks = jiffies(10, {0: {"system": 80, "idle": 20}})
    write_segment(tmp_path, by_hand([(0, 5.0, 0, 0)], blocks=blocks, hz=1.0))
    found = queries.sample_map(Recording.open(tmp_path), at(2, 4), 40)
    assert found.worst_percent_of_core.tolist() == [pytest.approx([80] * 40, abs=0.5)]
    assert found.mode_percent_of_core[MAP_MODES.index("system")].min() == pytest.approx(80, abs=0.5)
    assert found.node_mean_percent_of_machine.mean() == pytest.approx(80, abs=0.5)
