from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exhume.derive.bursts import bursts
from exhume.model.answers import MAP_MODES, CoreMap
from exhume.model.arrays import F32
from exhume.model.window import Window

NS = 1_000_000_000


def core_map(worst: F32, *, mode: str = "system", seconds: float = 1.0) -> CoreMap:
    cores, columns = worst.shape
    modes = np.where(np.isnan(worst), -1, MAP_MODES.index(mode)).astype(np.int8)
    by_mode = np.zeros((len(MAP_MODES), cores, columns), np.float32)
    node = np.full(columns, 31, np.float32)
    window = Window(100 * NS, 100 * NS + round(columns * seconds) * NS)
    return CoreMap(window, seconds, tuple(range(cores)), worst, modes, worst, by_mode, node)


def quiet(cores: int = 3, columns: int = 20) -> F32:
    return np.full((cores, columns), 20, np.float32)


def test_a_quiet_node_has_none() -> None:
    assert bursts(core_map(quiet())) == ()


def test_a_burst_knows_its_core_time_mode_and_the_mean_beside_it() -> None:
    worst = quiet()
    worst[1, 5:11] = 99
    (burst,) = bursts(core_map(worst))
    assert (burst.core, burst.mode, burst.exact) == (1, "system", True)
    assert burst.window == Window(105 * NS, 111 * NS)
    assert burst.worst_percent_of_core == 99
    assert burst.node_mean_percent_of_machine == 31


def test_a_gap_ends_a_burst_and_is_none_itself() -> None:
    worst = quiet()
    worst[0] = 100
    worst[0, 8:10] = np.nan
    worst[1] = np.nan
    found = bursts(core_map(worst))
    assert [burst.window.seconds for burst in found] == [10, 8]
    assert {burst.core for burst in found} == {0}


def test_long_columns_do_not_claim_that_every_second_was_full() -> None:
    worst = quiet()
    worst[2, 3] = 100
    (burst,) = bursts(core_map(worst, seconds=60))
    assert not burst.exact
    assert burst.window.seconds == 60


def test_user_mode_comes_last_and_long_ones_first() -> None:
    worst = quiet(2, 30)
    worst[0, 0:20] = 100
    worst[1, 0:3] = 100
    worst[1, 10:15] = 100
    answer = core_map(worst)
    answer.worst_mode[0] = MAP_MODES.index("user")
    assert [(b.core, b.window.seconds) for b in bursts(answer)] == [(1, 5), (1, 3), (0, 20)]


@given(arrays(np.float32, (3, 12), elements=st.sampled_from([0.0, 94.0, 95.0, 100.0, np.nan])))
def test_bursts_cover_exactly_the_full_cells(worst: F32) -> None:
    covered = np.zeros(worst.shape, bool)
    for burst in bursts(core_map(worst)):
        first = burst.window.start_ns // NS - 100
        last = burst.window.end_ns // NS - 100
        assert not covered[burst.core, first:last].any()
        covered[burst.core, first:last] = True
    assert (covered == (np.nan_to_num(worst, nan=0.0) >= 95)).all()
