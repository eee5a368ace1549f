"""Work that must not delay the second, done in a forked child that hands its result back by a pipe.

Reading symbol tables and scanning /proc may take long, grow, or hang on a dead file system. In a
child none of that touches the recorder, and its memory is gone when it ends. A fork copies no
perf ring (the kernel marks them so), and costs about a millisecond.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct, field

NS = 1_000_000_000
PIPE_BYTES = 1 << 20
"""What fits into the pipe is what comes through it each second."""
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
_abandoned: list[int] = []


class Aside(Struct):
    """One child. Poll it each second; it ends, fails, or is given up on."""

    name: str
    pid: int
    _fd: int
    _deadline_ns: int
    _chunks: list[bytes] = field(default_factory=list)
    problem: str = ""

    @staticmethod
    def start(
        name: str,
        work: Callable[[], bytes],
        now_ns: int,
        timeout_seconds: float,
        nice: int = 10,
    ) -> Aside:
        _abandoned[:] = [pid for pid in _abandoned if os.waitpid(pid, os.WNOHANG)[0] == 0]
        read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
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
            _child(work, write_end, parent, nice)
        os.close(write_end)
        return Aside(name, pid, read_end, now_ns + int(timeout_seconds * NS))

    def poll(self, now_ns: int) -> bytes | None:
        """None while it works; then its result, empty when it failed (`problem` says why)."""
        while chunk := self._read():
            self._chunks.append(chunk)
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            if now_ns < self._deadline_ns:
                return None
            self.problem = f"{self.name} took too long and was given up"
            os.kill(self.pid, signal.SIGKILL)
            _abandoned.append(self.pid)  # stuck in the kernel it may not die at once: reap it later
            self._end()
            return b""
        while chunk := self._read():
            self._chunks.append(chunk)
        self._end()
        result = b"".join(self._chunks)
        if status != 0:
            self.problem = (
                f"{self.name} failed: {result.decode('utf-8', 'replace').strip() or status}"
            )
            return b""
        return result

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 1 << 20)
        except BlockingIOError:
            return b""

    def _end(self) -> None:
        os.close(self._fd)

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._end()


def die_with(parent_pid: int, by: signal.Signals = signal.SIGKILL) -> None:
    """End with the parent, however it ends: what nobody waits for must not go on working."""
    _libc.prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def _child(work: Callable[[], bytes], write_end: int, parent: int, nice: int) -> None:
    """Never returns."""
    status = 1
    try:
        die_with(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.nice(nice)
        # The recorder's lock must not outlive it in a child: close all but the pipe and stderr.
        os.dup2(write_end, 3)
        os.set_blocking(3, True)
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
