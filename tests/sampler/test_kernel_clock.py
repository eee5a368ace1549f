from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from exhume.host import SystemClock
from exhume.sampler.kernel_clock import KernelClock
from tests.sampler.kernels import always, kernel, needs_kernel, nothing
from tests.sampler.scene import open_fds

MS = 1_000_000


class ScriptedClock:
    """Answers in a row; each reading of CLOCK_MONOTONIC takes as long as the script says."""

    def __init__(self, *monotonic: int) -> None:
        self._monotonic = list(monotonic)

    def monotonic_ns(self) -> int:
        return self._monotonic.pop(0)

    def boottime_ns(self) -> int:
        return 0

    def wall_ns(self) -> int:
        return self._monotonic[0] + 1_000

    def sleep_until(self, monotonic_ns: int) -> None:
        raise AssertionError("nobody sleeps here")


def test_where_no_event_can_be_had_pairs_go_without_the_kernel_logs_clock() -> None:
    before = open_fds()
    clock = KernelClock(SystemClock(), kernel(always(errno.EACCES)))
    pair = clock.pair()
    clock.close()
    assert pair.kernel_log_ns is None
    assert abs(pair.monotonic_ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) < 1_000 * MS
    assert open_fds() == before


def test_the_quickest_of_a_few_tries_counts() -> None:
    slow = (0, 5, 90 * MS), (100 * MS, 100 * MS + 5, 101 * MS), (200 * MS, 200 * MS, 280 * MS)
    clock = ScriptedClock(*(at for reading in slow for at in reading), 300, 400, 500)
    pair = KernelClock(clock, kernel(always(errno.EACCES))).pair()
    assert pair.monotonic_ns == 350


def test_no_more_tries_are_made_than_it_takes() -> None:
    clock = ScriptedClock(0, 20, 40_000)
    assert KernelClock(clock, kernel(always(errno.EACCES))).pair().monotonic_ns == 10


def test_how_long_the_kernels_clock_takes_does_not_move_wall_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel's is read by a detour of a tenth of a millisecond, or more on a busy machine."""
    clock = KernelClock(ScriptedClock(0, 20, 40_020), kernel(always(errno.EACCES)))
    monkeypatch.setattr(KernelClock, "_kernel_ns", lambda _: 7_000_000 + 20_020)
    pair = clock.pair()
    assert (pair.monotonic_ns, pair.wall_ns) == (10, 1_020)
    assert pair.kernel_log_ns == 7_000_000 + 10


def test_an_event_that_cannot_be_mapped_is_closed() -> None:
    before = open_fds()
    clock = KernelClock(SystemClock(), nothing)
    assert clock.pair().kernel_log_ns is None
    clock.close()
    assert open_fds() == before


class TestOnTheRealKernel:
    pytestmark = needs_kernel

    def test_it_agrees_with_a_line_of_the_kernel_log(self) -> None:
        try:
            log = os.open("/dev/kmsg", os.O_RDWR | os.O_NONBLOCK)
        except OSError as error:
            pytest.skip(f"/dev/kmsg cannot be opened: {error.strerror}")
        clock = KernelClock(SystemClock())
        try:
            os.lseek(log, 0, os.SEEK_END)
            mark = f"exhume test {os.getpid()} {time.time_ns()}"
            pair = clock.pair()
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            os.write(log, f"{mark}\n".encode())
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            record = os.read(log, 8192)
            while mark.encode() not in record:
                record = os.read(log, 8192)
        finally:
            os.close(log)
            clock.close()
        assert pair.kernel_log_ns is not None
        stamp_ns = int(record.split(b",")[2]) * 1_000
        expected = pair.kernel_log_ns + (before + after) // 2 - pair.monotonic_ns
        assert abs(stamp_ns - expected) < 5 * MS

    def test_pairs_taken_one_after_the_other_move_together(self) -> None:
        clock = KernelClock(SystemClock())
        first = clock.pair()
        time.sleep(0.05)
        second = clock.pair()
        clock.close()
        assert first.kernel_log_ns is not None
        assert second.kernel_log_ns is not None
        moved = second.monotonic_ns - first.monotonic_ns
        assert moved >= 50 * MS
        assert abs(second.kernel_log_ns - first.kernel_log_ns - moved) < MS
        assert abs(second.wall_ns - first.wall_ns - moved) < 5 * MS

    def test_the_name_of_the_thread_is_as_before(self) -> None:
        name = Path("/proc/thread-self/comm").read_text()
        clock = KernelClock(SystemClock())
        clock.pair()
        clock.close()
        assert Path("/proc/thread-self/comm").read_text() == name
