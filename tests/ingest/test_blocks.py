from __future__ import annotations

import numpy as np

from exhume.ingest.blocks import joined_blocks
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
