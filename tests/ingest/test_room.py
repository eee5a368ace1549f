from __future__ import annotations

from pathlib import Path

import pytest

from exhume.host import Host
from exhume.ingest import room
from exhume.ingest.room import Memory, NoRoomError, Room
from tests.ingest import made

MIB = 1 << 20


def fits(folder: Path, processes: int, own_mib: int, beside: int = 0) -> bool:
    """Whether so many processes of so much memory each do."""
    found = Room(made.memory_of(folder, own_mib * MIB), processes, beside)
    try:
        for number in range(processes):
            found.check(number)
    except NoRoomError:
        return False
    return True


@pytest.mark.parametrize("processes", [2, 3, 4])
def test_all_together_have_less_than_there_is(processes: int, tmp_path: Path) -> None:
    assert fits(tmp_path, processes, 390 // processes)
    assert not fits(tmp_path, processes, 440 // processes)


def test_one_alone_is_held_by_bounds_only(tmp_path: Path) -> None:
    assert fits(tmp_path, 1, 900)


def test_one_may_have_what_the_others_have_not(tmp_path: Path) -> None:
    found = Room(made.memory_of(tmp_path, 200 * MIB), 4)
    found.check(0)
    made.memory_of(tmp_path, 60 * MIB)
    for number in (1, 2, 3, 1):
        found.check(number)
    made.memory_of(tmp_path, 100 * MIB)
    with pytest.raises(NoRoomError):
        found.check(3)


def test_who_reads_other_inputs_has_a_part_too(tmp_path: Path) -> None:
    assert fits(tmp_path, 2, 150)
    assert not fits(tmp_path, 2, 150, beside=2)


def test_who_wants_more_processes_has_the_memory_for_them(tmp_path: Path) -> None:
    assert fits(tmp_path, 2, 80, beside=14)


def test_what_a_process_held_before_the_import_does_not_count(tmp_path: Path) -> None:
    found = Memory.of(made.memory_of(tmp_path, 900 * MIB).host)
    made.memory_of(tmp_path, 1000 * MIB)
    Room(found, 2).check(0)
    assert room.forks(found, 2) == 2
    made.memory_of(tmp_path, 1400 * MIB)
    with pytest.raises(NoRoomError):
        Room(found, 2).check(0)
    assert room.forks(found, 2) == 1


def test_where_the_kernel_says_nothing_there_is_room(tmp_path: Path) -> None:
    Room(Memory.of(Host(proc=tmp_path)), 4).check(0)
    (tmp_path / "self").mkdir()
    (tmp_path / "self/statm").write_text("?")
    Room(Memory.of(Host(proc=tmp_path)), 4).check(0)


@pytest.mark.parametrize(("own_mib", "forks"), [(60, 4), (150, 2), (190, 1), (460, 1), (900, 1)])
def test_who_holds_much_is_forked_less(own_mib: int, forks: int, tmp_path: Path) -> None:
    assert room.forks(made.memory_of(tmp_path, own_mib * MIB), 4) == forks


def test_nobody_is_forked_who_need_not_be(tmp_path: Path) -> None:
    assert room.forks(made.memory_of(tmp_path, MIB), 1) == 1
