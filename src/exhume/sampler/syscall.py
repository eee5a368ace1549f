"""perf_event_open(2) and its ioctls. glibc has no wrapper, so the number is ours to know."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from typing import Protocol

from exhume.errors import EXIT_INTERNAL, ExhumeError
from exhume.perf.attr import Attr

_NUMBER = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_FLAG_FD_CLOEXEC = 1 << 3
_IOC_ENABLE = 0x2400
_IOC_DISABLE = 0x2401
_IOC_PERIOD = 0x40082404

_libc = ctypes.CDLL(None, use_errno=True)


class OpenEvent(Protocol):
    """The seam for tests: a kernel that refuses what an older one would refuse."""

    def __call__(self, attr: Attr, pid: int, cpu: int) -> int: ...


def perf_event_open(attr: Attr, pid: int, cpu: int) -> int:
    """A file descriptor; OSError with the kernel's errno where it refuses."""
    machine = os.uname().machine
    if machine not in _NUMBER:
        raise ExhumeError(
            f"the number of perf_event_open on {machine} is not known",
            todo="record without samples: exhume record --no-samples",
            exit_code=EXIT_INTERNAL,
        )
    attr.size = ctypes.sizeof(Attr)
    fd = int(
        _libc.syscall(
            _NUMBER[machine], ctypes.byref(attr), pid, cpu, -1, ctypes.c_ulong(_FLAG_FD_CLOEXEC)
        )
    )
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return fd


def enable(fd: int) -> None:
    fcntl.ioctl(fd, _IOC_ENABLE, 0)


def disable(fd: int) -> None:
    fcntl.ioctl(fd, _IOC_DISABLE, 0)


def set_period(fd: int, period: int) -> None:
    """The unit is the event's own: nanoseconds for cpu-clock, even if opened by frequency."""
    fcntl.ioctl(fd, _IOC_PERIOD, struct.pack("=Q", period))
