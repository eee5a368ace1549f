from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

import pytest

from exhume.errors import ExhumeError
from exhume.ingest.pool import Failed, Pool
from exhume.ingest.room import Room
from exhume.ingest.work import note_progress
from tests.ingest import made


def work(task: int) -> int:
    note_progress(10)
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == 4:
        raise ExhumeError("it is broken", todo="mend it")
    if task == 5:
        raise FileNotFoundError(2, "No such file or directory", "x")
    return task * 2


def ignore(_: int) -> None:
    pass


def read_together(task: Path) -> int:
    """Goes on when another one has begun as well; who does and how often is noted."""
    with task.open("a") as file:
        file.write(f"{os.getpid()}\n")
    while len(list(task.parent.glob("*.task"))) < 2:
        time.sleep(0.01)
    note_progress(10)
    return len(task.read_text().splitlines())


def test_what_has_no_room_beside_others_is_done_later_and_alone(tmp_path: Path) -> None:
    room = Room(made.memory_of(tmp_path, 300 << 20), 2)
    tasks = [tmp_path / "a.task", tmp_path / "b.task"]
    with Pool(2, 2, room) as pool:
        found = dict(pool.run(read_together, tasks, ignore))
        # One gives way to the other, or, where they look at the same time, each to the other.
        assert sorted(map(str, found.values())) in (["1", "2"], ["2", "2"])
        # A new worker: what others hold on to is given back before.
        assert len({pid for task in tasks for pid in task.read_text().split()}) == 3
        assert dict(pool.run(work, [6, 7], ignore)) == {6: 12, 7: 14}


def test_few_at_once_are_few_workers(tmp_path: Path) -> None:
    tasks = [tmp_path / f"{number}.task" for number in range(4)]
    for task in tasks:
        task.touch()
    with Pool(4, 4) as pool:
        list(pool.run(read_together, tasks, ignore, 2))
        assert len({pid for task in tasks for pid in task.read_text().split()}) <= 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_fails_is_told_and_the_others_go_on(jobs: int) -> None:
    with Pool(jobs, 4) as pool:
        found = dict(pool.run(work, [1, 4, 5, 6], ignore))
    assert found == {
        1: 2,
        4: Failed("it is broken\n  mend it"),
        5: Failed("x: No such file or directory"),
        6: 12,
    }


def test_one_process_tells_how_far_it_is_while_it_works() -> None:
    done: list[int] = []
    with Pool(1, 2) as pool:
        for _ in pool.run(work, [1, 2], done.append):
            assert done[-1] == 10 * len(done)
        list(pool.run(work, [6], done.append))
    assert done == [10, 20, 30]


def test_a_process_that_is_killed_costs_its_own_task_only() -> None:
    done: list[int] = []
    with Pool(2, 6) as pool:
        found = dict(pool.run(work, [0, 1, 2, 3, 7, 8], done.append))
        again = dict(pool.run(work, [9], done.append))
    assert {task: result for task, result in found.items() if task != 3} == {
        0: 0, 1: 2, 2: 4, 7: 14, 8: 16,
    }  # fmt: skip
    assert found[3] == Failed("the process that read it was killed (out of memory?)")
    assert again == {9: 18}
    assert done[-1] >= 60


def fill(task: int) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_where_there_is_no_room_it_is_said_what_to_do() -> None:
    with Pool(1, 1) as pool:
        ((_, failed),) = pool.run(fill, [1], ignore)
    assert isinstance(failed, Failed)
    assert failed.why.startswith("No space left on device where it is imported to: make room")


def where(task: int) -> tuple[int, int]:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == 4:
        raise ExhumeError("it is broken", todo="mend it")
    return task, os.getpid()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_follows_from_one_input_is_done_by_several_processes() -> None:
    with Pool(3, 1) as pool:
        found = dict(pool.run(where, [1, 2, 5, 6], ignore))
        broken = dict(pool.run(where, [1, 4, 2], ignore))
        killed = dict(pool.run(where, [3, 1, 2, 6], ignore))
        alone = dict(pool.run(where, [1, 2, 5], ignore, 1))
    assert alone == {task: (task, os.getpid()) for task in (1, 2, 5)}
    assert list(found) == [1, 2, 5, 6]
    places = [pid for result in found.values() if not isinstance(result, Failed) for pid in result]
    assert len(set(places[1::2][:3])) == 3
    assert places[-1] == os.getpid()  # nothing else was left to do
    assert broken[4] == Failed("it is broken\n  mend it")
    assert broken[2] == (2, os.getpid())
    for task in (3, 1, 2):
        failed = killed[task]
        assert isinstance(failed, Failed)
        assert "was killed (out of memory?)" in failed.why
    assert killed[6] == (6, os.getpid())
