from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from exhume.errors import ExhumeError, ParseError
from exhume.ingest.together import together

# Newer Pythons warn of a fork where there are threads, as the one that runs the tests has.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test may leave a descriptor, a child or a zombie behind."""

    def held() -> tuple[set[str], set[str]]:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return set(os.listdir("/proc/self/fd")), set(children)

    descriptors, children = held()
    yield
    after = held()
    # What other tests left to the garbage collector may be closed meanwhile.
    assert after[0] <= descriptors
    assert after[1] <= children


def wait(seconds: float = 0) -> None:
    time.sleep(seconds)


def who(value: object) -> tuple[object, int]:
    return value, os.getpid()


def test_each_is_done_by_a_process_of_its_own_and_the_last_by_this_one() -> None:
    found = dict(together([partial(who, value) for value in ("a", "b", "c")]))
    assert set(found) == {"a", "b", "c"}
    assert len(set(found.values())) == 3
    assert found["c"] == os.getpid()


def test_what_is_done_alone_needs_no_other_process() -> None:
    assert together([partial(who, 1)]) == [(1, os.getpid())]


def test_results_larger_than_a_pipe_come_through() -> None:
    works = [partial(bytes, 5 << 20), partial(bytes, 3 << 20), partial(bytes, 1)]
    assert sorted(map(len, together(works))) == [1, 3 << 20, 5 << 20]


def test_where_no_process_can_be_started_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    found = together([partial(who, value) for value in (1, 2)])
    assert sorted(found) == [(1, os.getpid()), (2, os.getpid())]


@pytest.mark.parametrize(
    "error",
    [
        ExhumeError("it is broken", todo="mend it"),
        ParseError("perf.data", "offset 7", "a record", todo="copy it again"),
        FileNotFoundError(2, "No such file or directory", "x"),
        MemoryError("no memory for the tree"),
    ],
)
@pytest.mark.parametrize("where", [0, 1])
def test_what_is_wrong_with_the_input_is_raised_as_it_was(error: Exception, where: int) -> None:
    def fail() -> None:
        raise error

    works: list[Callable[[], None]] = [wait, wait]
    works[where] = fail
    with pytest.raises(type(error)) as found:
        together(works)
    assert str(found.value) == str(error)


def test_the_others_are_stopped_where_one_fails() -> None:
    def fail() -> None:
        raise ExhumeError("it is broken")

    began = time.monotonic()
    with pytest.raises(ExhumeError):
        together((partial(wait, 60), partial(wait, 60), fail))
    assert time.monotonic() - began < 30


def test_a_process_that_is_killed_is_told_with_what_to_do() -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ExhumeError, match=r"was killed.*\n.*--jobs 1"):
        together((die, wait))


def test_what_we_did_wrong_ourselves_says_what_it_was() -> None:
    def fail() -> None:
        raise KeyError("oops")

    with pytest.raises(RuntimeError, match="KeyError: 'oops'"):
        together((fail, wait))


def test_they_end_with_whoever_started_them() -> None:
    code = (
        "import os, time; from exhume.ingest.together import together\n"
        "def work(): os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)\n"
        "together([work, work])"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = {int(parent.stdout.readline()) for _ in range(2)}
        (child,) = pids - {parent.pid}
        parent.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{child}").exists()
