from __future__ import annotations

from pathlib import Path

import numpy as np

from exhume.model.series import MISSING, Block
from exhume.store.queries.topology import numa_nodes
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, by_hand


def test_the_last_word_on_each_core_counts_and_a_core_without_one_is_left_out(
    tmp_path: Path,
) -> None:
    values = np.array([[0, 0, MISSING, 1], [0, 1, MISSING, 1]], np.int64)
    ticks = np.array([START, START + 5 * SECOND], np.int64)
    block = Block("topology.numa_node", ("0", "1", "2", "10"), ticks, values)
    write_segment(tmp_path, by_hand([], blocks=(block,)))
    found = numa_nodes(Recording.open(tmp_path), at(0, 10))
    assert [(one.core, one.numa_node) for one in found] == [(0, 0), (1, 1), (10, 1)]


def test_where_it_was_not_recorded_nothing_is_made_up(tmp_path: Path) -> None:
    write_segment(tmp_path, by_hand([(0, 1.0, 0, 0)]))
    assert numa_nodes(Recording.open(tmp_path), at(0, 10)) == ()
