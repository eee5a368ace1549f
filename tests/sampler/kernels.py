"""Kernels of other ages: they refuse what they do not know, and pass the rest on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from exhume.perf.attr import Attr, EventType, Flag, SampleType
from exhume.sampler.syscall import OpenEvent, perf_event_open

needs_kernel = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: events of the whole machine"),
]

Refuse = Callable[[Attr], int | None]
"""The errno that a kernel answers with, None where it takes the event."""


def nothing(attr: Attr, pid: int, cpu: int) -> int:
    """Opens anything; what it gives can be closed, no more."""
    return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)


def kernel(*refusals: Refuse, real: bool = False) -> OpenEvent:
    def open_event(attr: Attr, pid: int, cpu: int) -> int:
        for refuse in refusals:
            code = refuse(attr)
            if code is not None:
                raise OSError(code, os.strerror(code))
        return perf_event_open(attr, pid, cpu) if real else nothing(attr, pid, cpu)

    return open_event


def without_flag(*flags: Flag) -> Refuse:
    return lambda attr: errno.EINVAL if any(attr.flags & flag for flag in flags) else None


def without_sample_type(*bits: SampleType) -> Refuse:
    return lambda attr: errno.EINVAL if any(attr.sample_type & bit for bit in bits) else None


def without_pmu(attr: Attr) -> int | None:
    return errno.ENOENT if attr.type == EventType.HARDWARE else None


def smaller_attr(known_bytes: int) -> Refuse:
    """perf_copy_attr(): what lies behind the part that a kernel knows must be zero."""
    return lambda attr: errno.E2BIG if any(bytes(attr)[known_bytes:]) else None


def always(code: int) -> Refuse:
    def refuse(attr: Attr) -> int:
        return code

    return refuse


# (since, what): everything that the probe asks for and older kernels do not know.
_SINCE: tuple[tuple[tuple[int, int], Refuse], ...] = (
    ((5, 12), without_flag(Flag.BUILD_ID)),
    ((5, 7), without_flag(Flag.CGROUP)),
    ((5, 7), without_sample_type(SampleType.CGROUP)),
    ((5, 1), without_flag(Flag.KSYMBOL, Flag.BPF_EVENT)),
    ((4, 1), without_flag(Flag.USE_CLOCKID)),
    ((4, 1), smaller_attr(96)),
    ((3, 16), without_flag(Flag.MMAP2, Flag.COMM_EXEC)),
)


def older(major: int, minor: int) -> tuple[Refuse, ...]:
    """What a kernel of that version refuses."""
    return tuple(refuse for since, refuse in _SINCE if since > (major, minor))
