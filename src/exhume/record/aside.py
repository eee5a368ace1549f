"""Work that must not delay the second, done in a forked child that is asked for its result.

Reading symbol tables and scanning /proc may take long, grow, or hang on a dead file system. In a
child none of that touches the recorder, and its memory is gone when it ends. A fork copies no
perf ring (the kernel marks them so), and costs about a millisecond.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from msgspec import Struct, field

from exhume.processes import Child, fork

NS = 1_000_000_000
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
        child = fork(work, nice)
        os.set_blocking(child.pipe, False)
        return Aside(name, child.pid, child.pipe, now_ns + int(timeout_seconds * NS))

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
        Child(self.pid, self._fd).stop()
