from __future__ import annotations

import errno
import os
import subprocess

import pytest

from exhume.perf.attr import Attr, Flag
from exhume.sampler import sampler as sampler_module
from exhume.sampler.sampler import Sampler
from exhume.sampler.syscall import perf_event_open
from tests.sampler.kernels import needs_kernel
from tests.sampler.scene import BUSY_CORE, open_fds, sampling

pytestmark = needs_kernel


def run_programs(count: int) -> set[int]:
    """On the busy core, one after the other; their pids."""
    pids = set()
    for _ in range(count):
        child = subprocess.Popen(
            ["/bin/true"], preexec_fn=lambda: os.sched_setaffinity(0, {BUSY_CORE})
        )
        pids.add(child.pid)
        child.wait()
    return pids


def lost_by(sampler: Sampler) -> int:
    """What was lost until now: the kernel tells of it with the next record that it writes."""
    first = sampler.drain().lost_sideband
    run_programs(1)
    second = sampler.drain().lost_sideband
    return first.get(BUSY_CORE, 0) + second.get(BUSY_CORE, 0)


def test_a_side_band_that_overflowed_gets_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler_module, "SIDEBAND_BYTES", 8192)
    before = open_fds()
    with sampling([BUSY_CORE]) as sampler:
        watched = open_fds()
        for _ in range(8):
            run_programs(30)
            if not lost_by(sampler):
                break
        else:
            raise AssertionError("it overflows for ever")
        run_programs(2)
        sampler.drain()  # and the last of the old rings is gone
        ran = run_programs(30)
        drained = sampler.drain()
        assert drained.lost_sideband == {}
        assert ran <= set(drained.exits.pid.tolist())
        assert ran <= set(drained.mappings.pid.tolist())
        assert open_fds() == watched
    assert open_fds() == before


@pytest.mark.parametrize("limit", ["LARGEST_SIDEBAND_BYTES", "MOST_SIDEBAND_BYTES"])
def test_a_side_band_has_no_more_room_than_it_may(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler_module, "SIDEBAND_BYTES", 4096)
    monkeypatch.setattr(sampler_module, limit, 8192)
    with sampling([BUSY_CORE]) as sampler:
        lost = []
        for _ in range(3):
            run_programs(30)
            lost.append(lost_by(sampler))
        assert lost[-1] > 0
        size = sampler._sideband[BUSY_CORE].data_bytes
    assert size == 8192


def test_where_a_larger_side_band_is_refused_the_old_one_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_event(attr: Attr, pid: int, cpu: int) -> int:
        if trouble and attr.flags & Flag.COMM:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return perf_event_open(attr, pid, cpu)

    trouble = False
    monkeypatch.setattr(sampler_module, "SIDEBAND_BYTES", 4096)
    with sampling([BUSY_CORE], open_event=open_event) as sampler:
        trouble = True
        run_programs(30)
        assert lost_by(sampler) > 0
        ran = run_programs(1)
        assert ran <= set(sampler.drain().exits.pid.tolist())
