from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from exhume.model.answers import Filter
from exhume.model.segment import SegmentData
from exhume.store.memory import MemorySegment
from exhume.store.queries import sub_second
from exhume.store.recording import Recording
from tests.store.make import SECOND, T0, at, busy_node, by_hand, moved_clock


def recording(*parts: SegmentData) -> Recording:
    return Recording(Path("/nonexistent"), lambda _: [MemorySegment(p) for p in parts], 1 << 20)


@pytest.mark.parametrize("rows", [1, 50, 97])
def test_a_cell_counts_the_samples_of_its_slice(rows: int) -> None:
    data = busy_node()
    found = sub_second(recording(data), at(60, 20), rows)
    wall = data.clock.to_wall(data.samples.time_ns)
    inside = wall[(wall >= at(60).start_ns) & (wall < at(80).start_ns)]
    cells = Counter(((inside - T0) * rows // SECOND - 60 * rows).tolist())
    expected = np.array([cells[i] for i in range(20 * rows)]).reshape(20, rows).T
    assert found.counts.shape == (rows, 20)
    # A sample on the very edge may fall either side of it.
    assert np.abs(found.counts - expected).sum() <= 4
    assert found.counts.sum() == len(inside)
    assert (found.core_ns == found.counts * np.int64(round(1e9 / 97))).all()


def test_columns_are_whole_seconds_from_the_one_the_window_begins_in() -> None:
    data = by_hand([(0, 1.2, 0, 0), (0, 1.7, 0, 0), (0, 2.4, 0, 0)])
    found = sub_second(recording(data), at(1.5, 1), rows=2)
    assert found.start_ns == T0 + SECOND
    assert found.counts.tolist() == [[0, 1], [1, 0]]


def test_a_burst_of_300_ms_is_visible() -> None:
    quiet = [(0, second + 0.05, 0, 0) for second in range(10)]
    burst = [(1, 4.4 + i * 0.01, 0, 0) for i in range(30)]
    found = sub_second(recording(by_hand(quiet + burst)), at(0, 10), rows=10)
    assert found.counts[:, 4].tolist() == [1, 0, 0, 0, 10, 10, 10, 0, 0, 0]
    assert found.counts.sum() == 40


def test_a_drifting_clock_moves_the_samples_with_it() -> None:
    data = by_hand([(0, t + 0.05, 0, 0) for t in range(10)])
    drifting = moved_clock(data, [(0, 0), (10, 10.1)])
    stretched = moved_clock(data, [(0, 0), (5, 5.002), (10, 10.004)])
    assert sub_second(recording(stretched), at(0, 11), rows=10).counts.sum() == 10
    found = sub_second(recording(drifting), at(0, 12), rows=10)
    assert found.counts.sum() == 10


def test_filters_apply() -> None:
    found = sub_second(
        recording(busy_node()), at(70, 4), 10, Filter(cores=(2,), comms=("kubelet",))
    )
    assert 380 <= found.counts.sum() <= 389
    assert sub_second(recording(busy_node()), at(70, 4), 10, Filter(pids=(4,))).counts.sum() == 0
