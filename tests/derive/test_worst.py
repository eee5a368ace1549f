from __future__ import annotations

import numpy as np

from exhume.derive.worst import worst_cores, worst_seen
from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.window import Window

USER, SYSTEM = MAP_MODES.index("user"), MAP_MODES.index("system")


def core_map(percent: list[list[float]], mode: list[list[int]]) -> CoreMap:
    """Cores 4, 12, 17 … by rows."""
    table = np.array(percent, np.float32)
    return CoreMap(
        window=Window(0, 10),
        column_seconds=1.0,
        cores=(4, 12, 17)[: len(percent)],
        worst_percent_of_core=table,
        worst_mode=np.array(mode, np.int8),
        mean_percent_of_core=table,
        mode_percent_of_core=np.zeros((len(MAP_MODES), *table.shape), np.float32),
        node_mean_percent_of_machine=np.zeros(table.shape[-1], np.float32),
    )


def test_of_many_full_cores_the_one_in_the_kernel_is_the_worst() -> None:
    found = core_map(
        [[100.0, 40.0, 100.0], [100.0, 70.0, 90.0], [99.8, 60.0, 98.0]],
        [[USER, USER, USER], [USER, USER, SYSTEM], [SYSTEM, SYSTEM, SYSTEM]],
    )
    worst, core = worst_cores(found, found.worst_percent_of_core)
    assert core.tolist() == [17, 12, 4]
    assert worst.tolist() == [100.0, 70.0, 100.0]


def test_where_nothing_is_known_nobody_is() -> None:
    found = core_map([[float("nan"), 5.0]], [[-1, USER]])
    worst, core = worst_cores(found, found.worst_percent_of_core)
    assert core.tolist() == [-1, 4]
    assert np.isnan(worst[0])
    assert worst[1] == 5.0
    empty = core_map([], [])
    assert worst_cores(empty, np.empty((0, 3), np.float32))[1].tolist() == [-1, -1, -1]


def test_of_columns_that_are_as_bad_those_of_the_core_that_was_so_most_often_count() -> None:
    worst = np.array([100.0, np.nan, 99.8, 60.0, 99.6, 100.0], np.float32)
    core = np.array([4, -1, 12, 12, 12, 17], np.int32)
    assert worst_seen(worst, core) == 2
    assert worst_seen(worst[:2], core[:2]) == 0
    assert worst_seen(worst[1:2], core[1:2]) is None
