from __future__ import annotations

import contextlib
import gc
import signal
import time
import weakref
from collections.abc import Callable
from multiprocessing.util import Finalize
from pathlib import Path

import pytest

from exhume.host import Host
from exhume.ingest import room
from exhume.ingest.room import Memory, NoRoomError, Room
from tests.ingest import made

MIB = 1 << 20


def fits(folder: Path, forks: int, own_mib: int) -> bool:
    """Whether a reader and its forks, so many together, may have so much memory each."""
    found = Room(made.memory_of(folder, own_mib * MIB), processes=forks)
    try:
        for number in range(forks - 1):
            found.check(number)
        found.check()
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
    found = Room(made.memory_of(tmp_path, 200 * MIB), processes=4)
    found.check(0)
    made.memory_of(tmp_path, 60 * MIB)
    for number in (1, 2, None, 1):
        found.check(number)
    made.memory_of(tmp_path, 100 * MIB)
    with pytest.raises(NoRoomError):
        found.check()


def test_who_reads_other_inputs_counts_until_it_is_done(tmp_path: Path) -> None:
    whole = Room(made.memory_of(tmp_path, 150 * MIB), 2)
    one, other = whole.of_reader(0), whole.of_reader(1)
    one.check(0)
    one.check()
    with pytest.raises(NoRoomError):
        other.check()
    made.memory_of(tmp_path, 30 * MIB)
    one.leave()
    made.memory_of(tmp_path, 150 * MIB)
    other.check()
    made.memory_of(tmp_path, 450 * MIB)
    with pytest.raises(NoRoomError):
        other.check()
    whole.clear()
    other.check()  # alone again


def test_who_wants_more_processes_has_the_memory_for_them(tmp_path: Path) -> None:
    assert fits(tmp_path, 2, 190)
    whole = Room(made.memory_of(tmp_path, 80 * MIB), 16)
    for number in range(16):
        whole.of_reader(number).check()


def test_what_a_process_held_before_the_import_does_not_count(tmp_path: Path) -> None:
    found = Memory.of(made.memory_of(tmp_path, 900 * MIB).host)
    made.memory_of(tmp_path, 1000 * MIB)
    Room(found, processes=2).check(0)
    assert room.forks(found, 2) == 2
    made.memory_of(tmp_path, 1400 * MIB)
    crowded = Room(found, processes=2)
    crowded.check(0)
    with pytest.raises(NoRoomError):
        crowded.check()
    assert room.forks(found, 2) == 1


def test_where_the_kernel_says_nothing_there_is_room(tmp_path: Path) -> None:
    Room(Memory.of(Host(proc=tmp_path)), 4).check(0)
    (tmp_path / "self").mkdir()
    (tmp_path / "self/statm").write_text("?")
    Room(Memory.of(Host(proc=tmp_path)), 4).check(0)


@pytest.mark.parametrize(("size_mib", "at_once"), [(0, 4), (20, 4), (60, 2), (100, 1), (900, 1)])
def test_the_larger_the_pieces_the_fewer_merge_them_at_once(size_mib: int, at_once: int) -> None:
    assert room.at_once([0, size_mib * MIB, 0], 4) == at_once
    assert room.at_once([], 4) == 4


@pytest.mark.parametrize(("own_mib", "forks"), [(60, 4), (150, 2), (190, 1), (460, 1), (900, 1)])
def test_who_holds_much_is_forked_less(own_mib: int, forks: int, tmp_path: Path) -> None:
    assert room.forks(made.memory_of(tmp_path, own_mib * MIB), 4) == forks


def test_nobody_is_forked_who_need_not_be(tmp_path: Path) -> None:
    assert room.forks(made.memory_of(tmp_path, MIB), 1) == 1


def test_a_watched_process_is_stopped_wherever_it_is(tmp_path: Path) -> None:
    whole = Room(made.memory_of(tmp_path, 300 * MIB), 2)
    one, other = whole.of_reader(0), whole.of_reader(1)
    before = signal.getsignal(signal.SIGPROF)
    with one.watched():
        _compute(0.2)  # alone it may
    with pytest.raises(NoRoomError), other.watched():
        _compute(10)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGPROF) == before


def test_it_is_not_stopped_where_nobody_would_hear_of_it(tmp_path: Path) -> None:
    whole = Room(made.memory_of(tmp_path, 300 * MIB), 2)
    whole.of_reader(0).check()
    done: list[bool] = []

    class Freed:
        def __del__(self) -> None:
            _compute(0.3)
            done.append(True)

    held: list[object] = [Freed()]

    def freed_and_more() -> None:
        held.clear()
        _compute(10)

    with pytest.raises(NoRoomError), whole.of_reader(1).watched():
        freed_and_more()
    assert done == [True]


def test_it_is_not_stopped_where_the_garbage_collection_calls_back(tmp_path: Path) -> None:
    whole = Room(made.memory_of(tmp_path, 300 * MIB), 2)
    whole.of_reader(0).check()
    done: list[str] = []

    def called_back(phase: str, _: dict[str, int]) -> None:
        _compute(0.2)
        done.append(phase)

    def collected_and_more() -> None:
        gc.callbacks.append(called_back)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(called_back)
        _compute(10)

    with pytest.raises(NoRoomError), whole.of_reader(1).watched():
        collected_and_more()
    assert done == ["start", "stop"]


@pytest.mark.parametrize("of", [weakref.finalize, Finalize])
def test_it_is_not_stopped_in_what_is_called_when_something_goes(
    of: Callable[..., object], tmp_path: Path
) -> None:
    whole = Room(made.memory_of(tmp_path, 300 * MIB), 2)
    whole.of_reader(0).check()
    done: list[bool] = []

    class Held:
        pass

    def called_back() -> None:
        _compute(0.2)
        done.append(True)

    def let_go_and_more() -> None:
        held = Held()
        of(held, called_back)
        del held
        _compute(10)

    with pytest.raises(NoRoomError), whole.of_reader(1).watched():
        let_go_and_more()
    assert done == [True]


def test_it_is_stopped_again_where_nobody_heard(tmp_path: Path) -> None:
    whole = Room(made.memory_of(tmp_path, 300 * MIB), 2)
    whole.of_reader(0).check()

    def deaf_at_first() -> None:
        with contextlib.suppress(NoRoomError):
            _compute(10)
        _compute(10)

    with pytest.raises(NoRoomError), whole.of_reader(1).watched():
        deaf_at_first()


def _compute(cpu_seconds: float) -> None:
    end = time.process_time() + cpu_seconds
    while time.process_time() < end:
        pass
