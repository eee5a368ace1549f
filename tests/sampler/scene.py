"""A sampler on this machine's cores, closed whatever happens."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from exhume.sampler.sampler import Sampler
from exhume.sampler.syscall import OpenEvent, perf_event_open

HZ = 400
CORES = sorted(os.sched_getaffinity(0))
BUSY_CORE = CORES[-1]


@contextmanager
def sampling(
    cores: Sequence[int] = CORES, hz: float = HZ, open_event: OpenEvent = perf_event_open
) -> Iterator[Sampler]:
    sampler = Sampler(hz, CORES[0], open_event)
    try:
        assert sampler.watch(cores) == ()
        yield sampler
    finally:
        sampler.close()


def open_fds() -> int:
    return len(os.listdir("/proc/self/fd"))
