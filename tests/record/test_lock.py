from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.record import lock
from tests.record.fake import fill


@pytest.fixture
def held(tmp_path: Path) -> Iterator[int]:
    fd = lock.acquire(tmp_path)
    yield fd
    os.close(fd)


def test_nobody_holds_it_before(tmp_path: Path) -> None:
    assert lock.holder(tmp_path) is None
    assert lock.holder(tmp_path / "none") is None


def test_who_holds_it_is_told(tmp_path: Path, held: int) -> None:
    assert lock.holder(tmp_path) == os.getpid()


def test_a_second_one_is_refused_and_told_who_the_first_is(tmp_path: Path, held: int) -> None:
    with pytest.raises(ExhumeError) as caught:
        lock.acquire(tmp_path)
    assert f"another recorder (pid {os.getpid()})" in caught.value.what
    assert f"`exhume status --data {tmp_path}`" in caught.value.todo
    assert "exhume status" in caught.value.todo
    assert caught.value.exit_code == EXIT_PERMISSION


def test_asking_does_not_take_it_away(tmp_path: Path, held: int) -> None:
    for _ in range(3):
        assert lock.holder(tmp_path) == os.getpid()
    with pytest.raises(ExhumeError):
        lock.acquire(tmp_path)


def test_it_is_free_again_when_the_process_is_gone_however_it_went(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from exhume.record import lock\n"
        "held = lock.acquire(Path(sys.argv[1])); print(held, flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        assert lock.holder(tmp_path) == child.pid
    finally:
        child.kill()
        child.communicate()
    assert lock.holder(tmp_path) is None
    os.close(lock.acquire(tmp_path))


def test_one_who_only_asks_at_that_instant_is_not_taken_for_a_recorder(tmp_path: Path) -> None:
    """`exhume status` holds the lock for a moment itself."""
    lock.lock_path(tmp_path).touch()
    fd = os.open(lock.lock_path(tmp_path), os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)

    def let_go() -> None:
        time.sleep(0.03)
        os.close(fd)

    thread = threading.Thread(target=let_go)
    thread.start()
    os.close(lock.acquire(tmp_path))
    thread.join()


def test_a_lock_without_a_number_is_still_a_lock(tmp_path: Path, held: int) -> None:
    os.ftruncate(held, 0)
    assert lock.holder(tmp_path) == 0
    with pytest.raises(ExhumeError, match="pid unknown"):
        lock.acquire(tmp_path)


def test_a_directory_that_is_not_there_gives_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ExhumeError, match="cannot write to") as caught:
        lock.acquire(tmp_path / "none")
    assert caught.value.exit_code == EXIT_PERMISSION


def test_on_a_full_disk_the_lock_holds_all_the_same(tiny_disk: Path) -> None:
    lock.lock_path(tiny_disk).touch()
    fill(tiny_disk)
    fd = lock.acquire(tiny_disk)
    assert lock.holder(tiny_disk) == 0
    os.close(fd)
