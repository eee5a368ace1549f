from __future__ import annotations

import os
import signal

import pytest

from exhume.errors import ExhumeError
from exhume.ingest.pool import Failed, Pool
from exhume.ingest.work import note_progress


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
