from __future__ import annotations

from pathlib import Path

import pytest

from exhume.model.sample import Stretch
from exhume.model.segment import SegmentData
from exhume.store import layout
from exhume.store.queries.flame import flame
from exhume.store.queries.seconds_sampled import sampled_windows, seconds_sampled
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, by_hand
from tests.store.queries.test_holds import of


def test_where_a_capture_ends_before_the_counters_samples_end() -> None:
    stretches = (Stretch(START, "cpu-clock", 100.0), Stretch(START + 6 * SECOND, "none", 0.0))
    recording = of(by_hand([(0, 1.0, 0, 0)], stretches=stretches))
    assert sampled_windows(recording, at(0, 10)) == (at(0, 6),)
    assert seconds_sampled(recording, at(0, 10)) == 6.0


def test_segments_that_meet_are_one_stretch_and_a_gap_parts_them() -> None:
    def part(first: int) -> SegmentData:
        return by_hand([(0, 1.0, 0, 0)], start_ns=START + first * SECOND)

    recording = of(*(part(first) for first in (0, 10, 30)))
    assert sampled_windows(recording, at(0, 40)) == (at(0, 20), at(30, 10))


def test_what_proved_to_be_damaged_is_no_time_that_shares_are_of(tmp_path: Path) -> None:
    for first in (0, 10):
        samples = [(0, n / 10, 0, 0) for n in range(100)]
        write_segment(tmp_path, by_hand(samples, start_ns=START + first * SECOND))
    (damaged, _) = sorted((tmp_path / "segments").iterdir())
    (damaged / layout.SAMPLES).write_bytes(b"PAR1")
    recording = Recording.open(tmp_path)
    window = at(1, 14)
    tree = flame(recording, window)
    assert tree.samples == 50
    assert seconds_sampled(recording, window) == pytest.approx(5.0)
