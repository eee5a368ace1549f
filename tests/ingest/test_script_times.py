from __future__ import annotations

import numpy as np

from exhume.ingest.script_times import ScriptTimes
from exhume.perf.script_scan import NO_NUMBER

MS = 1_000_000


def test_times_of_a_clock_stay_as_they_are() -> None:
    times = ScriptTimes()
    found = times.since_first(np.array([5_000 * MS, 5_010 * MS, 5_005 * MS]))
    assert found.tolist() == [5_000 * MS, 5_010 * MS, 5_005 * MS]
    assert not times.is_relative


def test_times_that_begin_with_nothing_count_from_the_first_line() -> None:
    times = ScriptTimes()
    told = np.arange(0, 400, 10) * MS
    assert times.since_first(told).tolist() == told.tolist()
    assert times.is_relative
    assert not times.is_distance
    assert "--reltime" in times.note()


def test_distances_are_added_up_across_blocks_and_lines_without_a_time() -> None:
    times = ScriptTimes()
    first = np.array([0, *[10, 3] * 10]) * MS
    found = [*times.since_first(first), *times.since_first(np.array([5 * MS, NO_NUMBER, MS]))]
    assert times.is_distance
    assert "--deltatime" in times.note()
    assert found[20] == 130 * MS
    assert found[21:] == [135 * MS, NO_NUMBER, 136 * MS]
