"""Forked children: they end with their parent, and hand their result back by a pipe."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

PIPE_BYTES = 1 << 20
"""What fits into the pipe is what comes through it at once."""
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Child(Struct, frozen=True):
    pid: int
    pipe: int
    """What the work returns comes out here; where it fails, why, and the status is 1."""

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


def fork(work: Callable[[], bytes], nice: int = 0) -> Child:
    """Have it done by a child, with everything as it is now. Raises OSError where none can be."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    with suppress(OSError):  # the user has no more pipe memory: the usual 64 KiB then
        fcntl.fcntl(read_end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if pid == 0:
        _run(work, write_end, parent, nice)
    os.close(write_end)
    return Child(pid, read_end)


def die_with(parent_pid: int, by: signal.Signals = signal.SIGKILL) -> None:
    """End with the parent, however it ends: what nobody waits for must not go on working."""
    _libc.prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def _run(work: Callable[[], bytes], write_end: int, parent: int, nice: int) -> None:
    """Never returns."""
    status = 1
    try:
        die_with(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.nice(nice)
        # The parent's locks must not outlive it in a child: close all but the pipe and stderr.
        os.dup2(write_end, 3)
        os.closerange(4, 1 << 16)
        try:
            data = work()
            status = 0
        except BaseException as error:  # the parent reports it; the child must end here
            data = f"{type(error).__name__}: {error}".encode()
        view = memoryview(data)
        while view:
            view = view[os.write(3, view[: 1 << 16]) :]
    finally:
        os._exit(status)
