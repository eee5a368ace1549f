from __future__ import annotations

from exhume.ingest.intervals import clipped, stretches_of
from exhume.ingest.piece import Interval

NS = 1_000_000_000


def told(
    *intervals: tuple[float, float, float], first: float, last: float
) -> list[tuple[float, float]]:
    """(start, rate) of the stretches made of (start, end, rate)."""
    made = [Interval(int(a * NS), int(b * NS), "cpu-clock", rate) for a, b, rate in intervals]
    found = stretches_of(made, int(first * NS), int(last * NS))
    assert all((s.rate_hz == 0) == (s.event == "none") for s in found)
    return [(s.start_ns / NS, s.rate_hz) for s in found]


def test_pieces_that_follow_each_other_are_one_stretch() -> None:
    assert told((0, 120, 97), (120.05, 240, 97), first=0, last=240) == [(0, 97)]
    assert told((0, 120, 1), (121.5, 240, 1), first=0, last=240) == [(0, 1)]


def test_the_second_in_which_the_next_capture_was_not_started_yet_was_not_sampled() -> None:
    assert told((0, 4, 97), (5, 9, 97), first=0, last=9) == [(0, 97), (4, 0), (5, 97)]


def test_a_gap_has_no_samples_and_another_rate_its_own_stretch() -> None:
    assert told((10, 20, 97), (50, 60, 97), (60, 70, 49), first=0, last=80) == [
        (0, 0), (10, 97), (20, 0), (50, 97), (60, 49), (70, 0),
    ]  # fmt: skip


def test_where_two_overlap_the_higher_rate_holds() -> None:
    assert told((0, 60, 97), (20, 40, 997), first=0, last=60) == [(0, 97), (20, 997), (40, 97)]


def test_a_stretch_begins_and_ends_on_the_ticks_that_samples_are_kept_in() -> None:
    one = Interval(1_234_567, 2_345_678, "cpu-clock", 97.0)
    found = stretches_of([one], 34_567, 9_034_567)
    assert [s.start_ns for s in found] == [34_567, 1_234_567, 2_434_567]
    found = stretches_of([one], 0, 9_000_000)
    assert [s.start_ns for s in found] == [0, 1_200_000, 2_400_000]
    assert [s.start_ns for s in stretches_of([one], 0, 2_345_678)] == [0, 1_200_000]


def test_captures_that_watched_other_cores_are_stretches_of_their_own() -> None:
    """Also where one began at once when the other ended: no gap is in between."""
    both = [
        Interval(0, 10 * NS, "cpu-clock", 97.0, (0, 1)),
        Interval(10 * NS + 5_000_000, 20 * NS, "cpu-clock", 97.0, (2,)),
        Interval(15 * NS, 20 * NS, "cpu-clock", 97.0, (3,)),
    ]
    found = stretches_of(both, 0, 20 * NS)
    assert [(s.start_ns, s.rate_hz, s.cores) for s in found] == [
        (0, 97.0, (0, 1)), (10 * NS + 5_000_000, 97.0, (2,)), (15 * NS, 97.0, (2, 3)),
    ]  # fmt: skip


def test_without_samples_there_is_only_that_to_tell() -> None:
    assert told(first=3, last=9) == [(3, 0)]


def test_intervals_are_cut_to_the_segment() -> None:
    some = [Interval(0, 100, "x", 1.0), Interval(300, 400, "x", 1.0)]
    assert list(clipped(some, 1000, 1050, 1200)) == [Interval(1050, 1100, "x", 1.0)]
