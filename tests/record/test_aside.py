from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.record.aside import Aside

SECOND = 1_000_000_000
# Newer Pythons warn of a fork where there are threads, as there are in the recorder (numpy's).
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return set(text.split())


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test may leave a descriptor, a child or a zombie behind."""
    before, family = descriptors(), children()
    yield
    # What other tests left to the garbage collector may be closed meanwhile.
    assert descriptors() <= before
    assert children() <= family


def sleep_long() -> bytes:
    time.sleep(60)
    return b""


def finish(child: Aside, now_ns: int = 0) -> bytes:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        result = child.poll(now_ns)
        if result is not None:
            return result
        time.sleep(0.005)
    child.stop()
    raise AssertionError("it never ended")


def test_the_result_of_the_work_comes_back() -> None:
    child = Aside.start("work", lambda: b"found", 0, 10)
    assert finish(child) == b"found"
    assert child.problem == ""


def test_an_empty_result_is_no_failure() -> None:
    child = Aside.start("work", lambda: b"", 0, 10)
    assert finish(child) == b""
    assert child.problem == ""


def test_a_failure_comes_back_as_text_and_not_as_a_result() -> None:
    def work() -> bytes:
        raise ValueError("line 7 is odd")

    child = Aside.start("scan", work, 0, 10)
    assert finish(child) == b""
    assert child.problem == "scan failed: ValueError: line 7 is odd"


def test_a_child_that_is_killed_is_a_failure() -> None:
    child = Aside.start("scan", sleep_long, 0, 100)
    os.kill(child.pid, signal.SIGKILL)
    assert finish(child) == b""
    assert child.problem.startswith("scan failed")


def test_an_exit_within_the_work_ends_the_child_only() -> None:
    def work() -> bytes:
        raise SystemExit(0)

    child = Aside.start("scan", work, 0, 10)
    assert finish(child) == b""
    assert "SystemExit" in child.problem


def test_polling_never_waits_for_the_child() -> None:
    child = Aside.start("slow", sleep_long, 0, 100)
    try:
        began = time.monotonic()
        assert child.poll(0) is None
        assert time.monotonic() - began < 0.5
    finally:
        child.stop()


def test_one_that_takes_too_long_is_given_up_and_the_caller_goes_on() -> None:
    child = Aside.start("symbols", sleep_long, now_ns=7 * SECOND, timeout_seconds=5)
    assert child.poll(11 * SECOND) is None
    began = time.monotonic()
    assert child.poll(12 * SECOND) == b""
    assert time.monotonic() - began < 0.5
    assert child.problem == "symbols took too long and was given up"
    # Those that were given up are buried by those that come after them.
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child.pid}").exists() and time.monotonic() < deadline:
        assert finish(Aside.start("work", lambda: b"next", 0, 10)) == b"next"
    assert not Path(f"/proc/{child.pid}").exists()


def test_results_larger_than_a_pipe_come_whole_and_in_few_polls() -> None:
    """The recorder polls once a second, and a scan of a large machine is megabytes."""
    content = os.urandom(1 << 10) * (6 << 10)
    child = Aside.start("scan", lambda: content, 0, 60)
    polls, result = 0, None
    deadline = time.monotonic() + 30
    while result is None and time.monotonic() < deadline:
        time.sleep(0.1)
        result, polls = child.poll(0), polls + 1
    assert result == content
    assert polls < 30


def test_many_at_once_do_not_mix_their_results() -> None:
    some = [Aside.start(f"child {n}", lambda n=n: b"%d" % n * 50_000, 0, 20) for n in range(8)]  # type: ignore[misc]
    assert [finish(child) for child in some] == [b"%d" % n * 50_000 for n in range(8)]


def test_stopping_kills_it_at_once() -> None:
    child = Aside.start("slow", sleep_long, 0, 100)
    began = time.monotonic()
    child.stop()
    assert time.monotonic() - began < 2
    assert not Path(f"/proc/{child.pid}").exists()


def test_the_child_keeps_no_descriptor_of_ours(tmp_path: Path) -> None:
    """The recorder's lock, above all: held by a child it would outlive the recorder."""
    held = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    try:
        child = Aside.start("look", lambda: " ".join(os.listdir("/proc/self/fd")).encode(), 0, 10)
        assert set(finish(child).split()) <= {b"0", b"1", b"2", b"3", b"4"}  # 4: the listing itself
    finally:
        os.close(held)


def test_the_child_dies_with_who_started_it() -> None:
    """Killed, the recorder can't stop it; and nobody would wait for its result."""
    read_end, write_end = os.pipe()
    parent = os.fork()
    if parent == 0:
        child = Aside.start("slow", sleep_long, 0, 100)
        os.write(write_end, f"{child.pid}\n".encode())
        time.sleep(60)
        os._exit(0)
    os.close(write_end)
    pid = int(os.read(read_end, 32))
    os.close(read_end)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    deadline = time.monotonic() + 5
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
