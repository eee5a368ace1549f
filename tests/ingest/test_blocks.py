from __future__ import annotations

import numpy as np

from exhume.ingest.blocks import joined_blocks, tells_of
from exhume.model.series import MISSING, Block

NS = 1_000_000_000


def block(field: str, instances: str, ticks: list[int], values: list[list[int]]) -> Block:
    return Block(field, tuple(instances), np.array(ticks, np.int64), np.array(values, np.int64))


def test_readings_are_moved_and_cut_to_the_stretch() -> None:
    gauge = block("irq.core", "01", [1, 2, 3], [[1, 2], [3, 4], [5, 6]])
    (found,) = joined_blocks([((gauge,), 100)], 102, 104)
    assert found.tick_ns.tolist() == [102, 103]
    assert found.values.tolist() == [[3, 4], [5, 6]]
    assert joined_blocks([((gauge,), 100)], 500, 600) == ()


def test_counters_begin_with_the_last_reading_before_the_stretch() -> None:
    ticks = [1 * NS, 2 * NS, 3 * NS, 4 * NS]
    one = block("cpu.user", "01", ticks, [[1, 2], [3, 4], [5, 6], [7, 8]])
    (found,) = joined_blocks([((one,), 0)], 3 * NS, 4 * NS)
    assert found.tick_ns.tolist() == [2 * NS, 3 * NS]
    # Of a stretch in which nothing was read there is nothing to tell.
    assert joined_blocks([((one,), 0)], 5 * NS, 9 * NS) == ()
    # And what was read long before has nothing to do with it.
    late = block("cpu.user", "01", [60 * NS], [[9, 9]])
    (found,) = joined_blocks([((one,), 0), ((late,), 0)], 59 * NS, 99 * NS)
    assert found.tick_ns.tolist() == [60 * NS]


def test_one_field_of_two_inputs_is_one_table_and_the_first_counts() -> None:
    first = block("x", "ab", [1, 3], [[1, 2], [5, MISSING]])
    second = block("x", "bc", [2, 3], [[7, 8], [9, 10]])
    (found,) = joined_blocks([((first,), 0), ((second,), 0)], 0, 10)
    assert found.instances == ("a", "b", "c")
    assert found.tick_ns.tolist() == [1, 2, 3]
    assert found.values.tolist() == [[1, 2, MISSING], [MISSING, 7, 8], [5, 9, 10]]


def test_readings_that_are_far_apart_tell_of_each_stretch_between_them() -> None:
    minute = 60 * NS
    # As sar reads: 600 of user in the first 20 minutes, evenly as far as anybody knows.
    one = block("cpu.user", "0", [5 * minute, 25 * minute, 26 * minute], [[0], [600], [600]])
    found = {
        start: joined_blocks([((one,), 0)], start * minute, (start + 10) * minute)
        for start in (0, 10, 20, 30)
    }
    told = {start: [*zip(b.tick_ns // NS, b.values[:, 0], strict=True)] for start, (b,) in
            ((start, blocks) for start, blocks in found.items() if blocks)}  # fmt: skip
    assert told == {
        0: [(300, 0), (599, 150)],
        10: [(600, 150), (1199, 450)],
        20: [(1200, 450), (1500, 600), (1560, 600)],
    }
    assert tells_of(one, 10 * minute, 20 * minute)
    assert not tells_of(one, 30 * minute, 40 * minute)


def test_nothing_is_told_of_between_readings_that_went_back_or_are_hours_apart() -> None:
    hour = 3600 * NS
    reset = block("cpu.user", "0", [0, 1200 * NS], [[900], [10]])
    (found,) = joined_blocks([((reset,), 0)], 600 * NS, 1800 * NS)
    assert found.values[:, 0].tolist() == [MISSING, 10]
    late = block("cpu.user", "0", [0, 2 * hour], [[0], [10]])
    (found,) = joined_blocks([((late,), 0)], hour, 3 * hour)
    assert found.tick_ns.tolist() == [2 * hour]
