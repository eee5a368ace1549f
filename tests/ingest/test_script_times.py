from __future__ import annotations

import numpy as np

from exhume.ingest.script_times import ScriptTimes
from exhume.model.arrays import I64
from exhume.perf.script_scan import NO_NUMBER

MS = 1_000_000


def told_by(times: ScriptTimes, told: I64) -> list[int]:
    """Lines that are all samples."""
    found: list[int] = times.since_first(told, np.ones(len(told), np.bool_)).tolist()
    return found


def test_times_of_a_clock_stay_as_they_are() -> None:
    times = ScriptTimes()
    found = told_by(times, np.array([5_000 * MS, 5_010 * MS, 5_005 * MS]))
    assert found == [5_000 * MS, 5_010 * MS, 5_005 * MS]
    assert not times.is_relative


def test_times_that_begin_with_nothing_count_from_the_first_line() -> None:
    times = ScriptTimes()
    told = np.arange(0, 400, 10) * MS
    assert told_by(times, told) == told.tolist()
    assert times.is_relative
    assert not times.is_distance
    assert "--reltime" in times.notes()[0]


def test_distances_are_added_up_across_blocks_and_lines_without_a_time() -> None:
    times = ScriptTimes()
    first = np.array([0, *[10, 3] * 10]) * MS
    found = [*told_by(times, first), *told_by(times, np.array([5 * MS, NO_NUMBER, MS]))]
    assert times.is_distance
    assert "--deltatime" in times.notes()[0]
    assert found[20] == 130 * MS
    assert found[21:] == [135 * MS, NO_NUMBER, 136 * MS]


def test_lines_of_processes_that_were_there_before_are_no_beginning() -> None:
    """perf puts them first, at 0 (`--show-task-events`)."""
    times = ScriptTimes()
    told = np.array([0, 0, 5_000 * MS, 5_010 * MS])
    assert times.since_first(told[:2], np.zeros(2, np.bool_)).tolist() == [0, 0]
    is_sample = np.array([False, False, True, True])
    assert times.since_first(told, is_sample).tolist() == told.tolist()
    assert not times.is_relative


def test_a_text_of_several_captures_is_told_by_its_times_going_back() -> None:
    times = ScriptTimes()
    second = np.int64(1_000 * MS)
    times.watch(np.arange(700, 720) * second)
    times.watch(np.array([719, 718, 720]) * second)
    assert times.notes() == []
    times.watch(np.arange(20, 40) * second)
    (note,) = times.notes()
    assert note.startswith("its times go back once, by 700 s at most: it seems to be several")
