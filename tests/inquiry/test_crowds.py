"""Who took the cores while all of them were full."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.diagnose.scene import Stall
from exhume.inquiry.crowds import crowds
from exhume.inquiry.observe import observe
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.diagnose.made_up import symptom
from tests.store.make import SECOND, START, at, by_hand, jiffies

FULL = at(60, 20)
WORKERS = tuple((100 + i, 100 + i, "cc1plus", "") for i in range(10))


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Two cores, which ten compilers fill for 20 s; else one of them runs now and then."""
    samples = [
        (core, step / 10, 1 + step % 10 if 600 <= step < 800 else int(step % 10 == 0), 0)
        for step in range(1800)
        for core in range(2)
        if 600 <= step < 800 or step % 5 == 0
    ]
    blocks = []
    for block in jiffies(180, {core: {"user": 100, "idle": 100} for core in range(2)}):
        is_full = (block.tick_ns > START + 60 * SECOND) & (block.tick_ns <= START + 80 * SECOND)
        gains = np.diff(block.values, axis=0, prepend=0)
        keep = {"cpu.user": is_full, "cpu.idle": ~is_full}.get(block.field, is_full)
        blocks.append(replace(block, values=np.cumsum(gains * keep[:, np.newaxis], axis=0)))
    threads = ((10, 10, "app", ""), *WORKERS)
    data = by_hand(samples, threads=threads, blocks=tuple(blocks), seconds=180, hz=10)
    write_segment(tmp_path, data)
    return Recording.open(tmp_path)


def test_they_are_counted_by_name_beside_what_they_take_else(recording: Recording) -> None:
    seen = observe(recording, at(0, 180))
    first, *_ = crowds(recording, seen, [Stall(symptom(0, 1), FULL, None, None)])
    assert (first.comm, first.processes) == ("cc1plus", 10)
    assert first.share > 0.95
    assert first.usual is not None
    assert first.usual < 0.2


def test_where_the_cores_had_room_nobody_crowds(recording: Recording) -> None:
    seen = observe(recording, at(0, 180))
    assert crowds(recording, seen, [Stall(symptom(0, 1), at(100, 10), None, None)]) == ()
