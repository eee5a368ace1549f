from __future__ import annotations

from exhume.model.sample import Stretch
from exhume.model.segment import SegmentData
from exhume.store.queries.seconds_sampled import sampled_windows, seconds_sampled
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
