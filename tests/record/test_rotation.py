"""Where one head log ends and the next begins, nothing is missing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from exhume.store.heads import read_heads
from exhume.store.queries import core_map
from exhume.store.recording import Recording
from tests.record.fake import SECOND, Desk, machine


def test_every_second_has_its_core_times_also_the_first_of_each_log(tmp_path: Path) -> None:
    desk = Desk(machine(tmp_path / "host"), tmp_path / "data", segment_seconds=10)
    desk.run_for(35)
    recording = Recording.open(desk.data, heads=read_heads)
    views = recording.views()
    assert len(views) >= 4
    for before, after in pairwise(views):
        assert after.start_ns <= before.end_ns, "the next begins where the last one ended"
    window = recording.window()
    columns = (window.end_ns - window.start_ns) // SECOND
    mean = core_map(recording, window, int(columns)).mean_percent_of_core
    unknown = [
        column for column in range(1, mean.shape[1]) if (mean[:, column] != mean[:, column]).any()
    ]
    assert unknown == [], "a second without core times, though the counters were read"
