"""The only place that knows /proc, /sys, /dev/kmsg and the clock.

Everything that reads the machine takes a `Host`, so a test hands it a directory of files and a
clock of its own, and needs neither root nor sleep.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

# What the kernel answers when it does not offer a file, as opposed to the file being broken.
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP, errno.ESRCH}
_CHUNK = 1 << 18
_FLAGS = os.O_RDONLY | os.O_CLOEXEC


class Clock(Protocol):
    def monotonic_ns(self) -> int: ...
    def boottime_ns(self) -> int: ...
    def wall_ns(self) -> int: ...
    def sleep_until(self, monotonic_ns: int) -> None: ...


class SystemClock(Struct, frozen=True):
    """One is like the other, also in another process."""

    def monotonic_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    def boottime_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def wall_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_REALTIME)

    def sleep_until(self, monotonic_ns: int) -> None:
        wait = monotonic_ns - self.monotonic_ns()
        if wait > 0:
            time.sleep(wait / 1e9)


class Host(Struct, frozen=True):
    """A machine, or a directory that looks like one."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    run: Path = Path("/run")
    clock: Clock = field(default_factory=SystemClock)
    root: Path = Path("/")
    """Where /etc, /usr and /var are."""

    def read_proc(self, name: str) -> str | None:
        """The text of a file in /proc; None where this kernel lacks it; OSError when broken."""
        return read_text(f"{self.proc}/{name}")

    def read_sys(self, name: str) -> str | None:
        return read_text(f"{self.sys}/{name}")

    def boot_id(self) -> str:
        return (self.read_proc("sys/kernel/random/boot_id") or "unknown").strip()

    def hostname(self) -> str:
        text = self.read_proc("sys/kernel/hostname")
        return text.strip() if text else os.uname().nodename

    def kernel_release(self) -> str:
        return (self.read_proc("sys/kernel/osrelease") or os.uname().release).strip()

    def pids(self) -> list[int]:
        return [int(name) for name in os.listdir(self.proc) if name.isdigit()]

    def kmsg_path(self) -> Path:
        return self.dev / "kmsg"


def read_text(path: str | Path) -> str | None:
    data = read_bytes(path)
    return None if data is None else data.decode("utf-8", "replace")


def read_line(path: str, most_bytes: int = 1024) -> bytes | None:
    """A file that the kernel makes in one piece, surely no longer than that: one read is enough.

    For what is read of many processes each second.
    """
    try:
        fd = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    try:
        return os.read(fd, most_bytes)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    finally:
        os.close(fd)


def read_bytes(path: str | Path) -> bytes | None:
    """Read a whole kernel file. Their st_size is 0, and a short read is not the end of the file."""
    try:
        fd = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    try:
        chunk = os.read(fd, _CHUNK)
        if len(chunk) == 0:
            return b""
        chunks = [chunk]
        while chunk := os.read(fd, _CHUNK):
            chunks.append(chunk)
        return b"".join(chunks)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    finally:
        os.close(fd)
