from __future__ import annotations

import numpy as np

from exhume.ingest import boot_marks
from exhume.perf.records import Mappings

LIBRARY = 0x7F00_0000_0000


def mappings(rows: list[tuple[int, int, int]]) -> Mappings:
    """Of (time, pid, address)."""
    time, pid, start = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    none = np.zeros(len(rows), np.uint64)
    return Mappings(time, pid.astype(np.int32), start.astype(np.uint64), none, none, none)


def marks(*rows: tuple[int, int, int]) -> boot_marks.Marks:
    return boot_marks.of_programs(mappings(list(rows)))


def test_captures_that_found_the_same_process_at_the_same_place_are_of_one_boot() -> None:
    many = [(0, pid, LIBRARY + pid * 4096) for pid in range(100, 120)]
    some = marks(*many, (0, 1, LIBRARY))
    assert boot_marks.is_one_boot(some, marks((0, 1, LIBRARY), (0, 7, LIBRARY + 4096)))
    assert not boot_marks.is_one_boot(some, marks((0, 1, LIBRARY + 4096)))
    assert not boot_marks.is_one_boot(some, marks((0, 2, LIBRARY)))
    assert not boot_marks.is_one_boot((), ())


def test_what_is_at_that_place_in_any_boot_tells_nothing() -> None:
    assert marks((0, 1, 0x40_0000)) == ()
    assert marks((5, 1, LIBRARY)) == (), "it was started while it was recorded"
    assert boot_marks.of_kernel(0xFFFF_FFFF_8100_0000) == ()
    assert boot_marks.of_kernel(0xFFFF_FFFF_B3A0_0000) == (0xFFFF_FFFF_B3A0_0000,)


def test_few_marks_stand_for_many_programs() -> None:
    stayed = [(0, pid, LIBRARY + pid * 4096) for pid in range(1000)]
    before = marks(*stayed, *((0, pid, LIBRARY) for pid in range(5000, 9000)))
    after = marks(*stayed, *((0, pid, LIBRARY) for pid in range(20000, 24000)))
    assert len(before) == len(after) < 100
    assert boot_marks.is_one_boot(before, after)
    assert boot_marks.lowest(before, after) == boot_marks.lowest(after, before)
    assert boot_marks.lowest(before, ()) == before
