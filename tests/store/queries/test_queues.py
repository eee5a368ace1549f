from __future__ import annotations

from pathlib import Path

import numpy as np

from exhume.model.series import Block
from exhume.store import queries
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, by_hand

LINES = ("30 eth0-Tx-Rx-0", "31 eth0-Tx-Rx-1", "32 eth0-Tx-Rx-2", "60 nvme0q3", "61 eth1-rx-4")


def test_queues_are_told_by_the_core_that_they_interrupted_last(tmp_path: Path) -> None:
    values = np.array([[0, 0, 5, 2, -1], [39, 39, 5, 2, -1]], np.int64)
    ticks = np.array([START, START + 5 * SECOND], np.int64)
    write_segment(tmp_path, by_hand([], blocks=(Block("irq.core", LINES, ticks, values),)))
    found = queries.queues(Recording.open(tmp_path), at(0, 10))
    assert [(one.core, one.device, one.queues) for one in found] == [
        (5, "eth0", (2,)),
        (39, "eth0", (0, 1)),
    ]
