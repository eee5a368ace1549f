from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exhume.derive.cpu import core_shares
from exhume.model.answers import MAP_MODES
from exhume.model.series import MISSING, Block
from exhume.model.window import Window
from exhume.store.memory import MemorySegment
from exhume.store.queries import core_map, core_times
from exhume.store.queries.core_map import COARSE_NS
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, T0, at, busy_node, by_hand, jiffies

SYSTEM = MAP_MODES.index("system")


def recording(*blocks: Block, seconds: float = 10.0) -> Recording:
    data = by_hand([], blocks=blocks, seconds=seconds)
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(data)], 1 << 20)


def node() -> Recording:
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(busy_node())], 1 << 20)


@pytest.mark.parametrize("columns", [1, 13, 26, 130])
def test_cells_hold_the_worst_second_and_the_mean_of_their_seconds(columns: int) -> None:
    found = core_map(node(), at(0, 130), columns)
    shares = core_shares(busy_node().blocks)
    assert shares is not None
    middle = (shares.start_ns + shares.end_ns) / 2 - START
    column = (middle // (130 * SECOND / columns)).astype(int)
    for at_column in range(columns):
        here = column == at_column
        busy = shares.busy[:, here]
        np.testing.assert_allclose(
            found.worst_percent_of_core[:, at_column], busy.max(axis=1), atol=0.35
        )
        np.testing.assert_allclose(
            found.mean_percent_of_core[:, at_column], busy.mean(axis=1), atol=0.35
        )
        np.testing.assert_allclose(
            found.mode_percent_of_core[:, :, at_column],
            shares.percent[:, :, here].max(axis=2),
            atol=0.06,
        )
        assert found.node_mean_percent_of_machine[at_column] == pytest.approx(busy.mean(), abs=0.35)


@pytest.mark.parametrize("columns", [18, 9, 3])
def test_wide_columns_of_a_closed_segment_are_the_same_by_coarse_intervals(
    columns: int, tmp_path: Path
) -> None:
    write_segment(tmp_path, busy_node())
    closed = Recording.open(tmp_path)
    begin = T0 // COARSE_NS * COARSE_NS
    window = Window(begin, begin + 18 * COARSE_NS)
    shifted = Window(begin + 1, begin + 1 + 18 * COARSE_NS)  # 1 ns off: second by second
    for _ in range(2):  # made, and kept
        quick, slow = core_map(closed, window, columns), core_map(closed, shifted, columns)
        assert quick.cores == slow.cores
        for name in ("worst_percent_of_core", "worst_mode", "mode_percent_of_core"):
            np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))
        np.testing.assert_allclose(quick.mean_percent_of_core, slow.mean_percent_of_core, rtol=1e-5)
        np.testing.assert_allclose(
            quick.node_mean_percent_of_machine, slow.node_mean_percent_of_machine, rtol=1e-5
        )
    assert np.isfinite(quick.worst_percent_of_core).any()


def test_a_burst_of_four_seconds_survives_in_one_column_of_two_minutes() -> None:
    found = core_map(node(), at(0, 130), 1)
    assert found.worst_percent_of_core[2, 0] == 100
    assert found.worst_mode[2, 0] == SYSTEM
    assert found.node_mean_percent_of_machine[0] < 65
    assert found.mode_percent_of_core[SYSTEM, 2, 0] == 100
    assert found.mode_percent_of_core[SYSTEM, 1, 0] < 60


def test_columns_narrower_than_a_second_show_the_second_they_lie_in() -> None:
    found = core_map(recording(*jiffies(10, {0: {"user": 40, "idle": 60}})), at(2, 2), 20)
    assert found.column_seconds == pytest.approx(0.1)
    assert found.worst_percent_of_core[0].tolist() == pytest.approx([40] * 20)
    assert found.mean_percent_of_core[0].tolist() == pytest.approx([40] * 20)


def test_what_was_not_recorded_is_nan_and_never_zero() -> None:
    found = core_map(recording(*jiffies(10, {0: {"idle": 100}})), at(-10, 30), 3)
    assert np.isnan(found.worst_percent_of_core[0]).tolist() == [True, False, True]
    assert np.isnan(found.mean_percent_of_core[0]).tolist() == [True, False, True]
    assert np.isnan(found.node_mean_percent_of_machine).tolist() == [True, False, True]
    assert found.worst_mode[0].tolist() == [-1, -1, -1]
    assert found.worst_percent_of_core[0, 1] == 0


def test_a_core_off_line_is_nan_while_it_is() -> None:
    blocks = jiffies(10, {0: {"user": 100}, 1: {"user": 100}})
    for block in blocks:
        block.values[4:7, 1] = MISSING
    found = core_map(recording(*blocks), at(0, 10), 10)
    assert np.isnan(found.worst_percent_of_core[1]).tolist() == [
        *[False] * 3, *[True] * 4, *[False] * 3,
    ]  # fmt: skip
    assert found.node_mean_percent_of_machine.tolist() == pytest.approx([100] * 10)


def test_without_any_readings_there_are_no_cores() -> None:
    found = core_map(recording(), at(0, 10), 5)
    assert found.cores == ()
    assert found.node_mean_percent_of_machine.shape == (5,)


def test_core_times_weigh_seconds_by_what_lies_in_the_window() -> None:
    blocks = jiffies(2, {0: {"user": 100}})
    for block in blocks:
        if block.field == "cpu.user":
            block.values[:, 0] = [0, 100, 100]
        if block.field == "cpu.idle":
            block.values[:, 0] = [0, 0, 100]
    (times,) = core_times(recording(*blocks), at(0.5, 0.75))
    assert times.user_percent == pytest.approx(100 * 0.5 / 0.75)
    assert times.idle_percent == pytest.approx(100 * 0.25 / 0.75)
    assert times.worst_second_percent == 100


def test_core_times_are_only_of_the_cores_asked_for() -> None:
    blocks = jiffies(4, {0: {"user": 100}, 7: {"iowait": 20, "steal": 30, "idle": 50}})
    (times,) = core_times(recording(*blocks), at(0, 4), (7, 8))
    assert (times.core, times.steal_percent, times.iowait_percent) == (7, 30, 20)
    assert times.idle_percent == pytest.approx(50)
    assert times.worst_second_percent == 30


def test_the_window_of_the_answer_is_the_one_asked_for() -> None:
    window = at(3, 4)
    found = core_map(node(), window, 8)
    assert (found.window, found.column_seconds) == (window, 0.5)
    assert found.window.start_ns == T0 + 3 * SECOND
