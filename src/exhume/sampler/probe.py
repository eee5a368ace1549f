"""What this kernel offers: each attribute bit is tried, never a version compared.

The story's own kernel was 5.4: no CAP_PERFMON, no build ids in MMAP2, no cgroup in samples.
"""

from __future__ import annotations

import copy
import errno
import os

from msgspec import Struct

from exhume.perf.attr import (
    COUNT_HW_CPU_CYCLES,
    COUNT_SW_CPU_CLOCK,
    COUNT_SW_DUMMY,
    Attr,
    EventType,
    Flag,
    SampleType,
)
from exhume.sampler.syscall import OpenEvent

CLOCK_MONOTONIC = 1
MAX_STACK = 127
"""The kernel's default for kernel.perf_event_max_stack."""


NO_FLAGS, NO_TYPES = Flag(0), SampleType(0)


_CLOCKID = int(Flag.USE_CLOCKID)
"""Asked for each second, and an enumeration takes its time."""


class Feature(Struct, frozen=True):
    """An optional part of an event: what it gives and since when the kernel has it."""

    name: str
    gives: str
    since: str
    flags: Flag = NO_FLAGS
    sample_type: SampleType = NO_TYPES

    def add_to(self, attr: Attr) -> None:
        attr.flags |= self.flags
        attr.sample_type |= self.sample_type
        if self.flags & Flag.USE_CLOCKID:
            attr.clockid = CLOCK_MONOTONIC


# Newest first.
SAMPLE_FEATURES = (
    Feature("sample-cgroup", "the cgroup of each sample", "5.7", sample_type=SampleType.CGROUP),
    Feature("clockid", "sample times on CLOCK_MONOTONIC", "4.1", Flag.USE_CLOCKID),
)
# Build ids (attr.build_id, 5.12 on) are never asked for: the kernel marks a record as having one
# for the listener that wants it, and leaves the mark for the next, who did not (88a16a130933,
# perf_event_mmap_output). A `perf record PROGRAM` beside us then takes device and inode for a
# build id, and perf 6.1 dies of that ("stack smashing detected").
SIDEBAND_FEATURES = (
    Feature("cgroup", "the names of new cgroups", "5.7", Flag.CGROUP),
    Feature("ksymbol", "the names of BPF programs that come and go", "5.1", Flag.KSYMBOL),
    Feature("clockid", "process times on CLOCK_MONOTONIC", "4.1", Flag.USE_CLOCKID),
    Feature("comm-exec", "telling an exec from a renaming", "3.16", Flag.COMM_EXEC),
    Feature("mmap2", "device and inode of each mapped file", "3.16", Flag.MMAP2),
)

# What the kernel answers to a bit it does not know, or cannot do in this configuration.
_REFUSED = {errno.EINVAL, errno.E2BIG, errno.EOPNOTSUPP, errno.ENOENT, errno.ENODEV}


class Offer(Struct, frozen=True):
    """The events to open on each core, and what had to be done without."""

    event: str
    sample: Attr
    sideband: Attr
    missing: tuple[Feature, ...]

    @property
    def has_monotonic_times(self) -> bool:
        return bool(self.sample.flags & self.sideband.flags & _CLOCKID)


def probe(open_event: OpenEvent, core: int, rate_hz: float) -> Offer:
    """Find the richest events this kernel takes. OSError where it takes none at all."""
    event, sample = _sampling_event(open_event, core, rate_hz)
    sideband = Attr(
        type=EventType.SOFTWARE,
        config=COUNT_SW_DUMMY,
        sample_type=SampleType.TID | SampleType.TIME | SampleType.CPU,
        flags=Flag.DISABLED | Flag.COMM | Flag.TASK | Flag.MMAP | Flag.SAMPLE_ID_ALL,
    )
    _accepts(open_event, sideband, core, required=True)
    missing = [f for f in SAMPLE_FEATURES if not _try(open_event, sample, f, core)]
    missing += [f for f in SIDEBAND_FEATURES if not _try(open_event, sideband, f, core)]
    return Offer(event, sample, sideband, tuple(missing))


def _sampling_event(open_event: OpenEvent, core: int, rate_hz: float) -> tuple[str, Attr]:
    """Cycles see into stretches with interrupts off (NMI); cpu-clock is a timer and does not."""
    cycles = Attr(type=EventType.HARDWARE, config=COUNT_HW_CPU_CYCLES)
    clock = Attr(type=EventType.SOFTWARE, config=COUNT_SW_CPU_CLOCK)
    for name, attr in (("cycles", cycles), ("cpu-clock", clock)):
        attr.sample_type = (
            SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.CALLCHAIN
        )
        # exclude_idle stays off: for cpu-clock it would drop interrupt work on an idle core too.
        attr.flags = Flag.DISABLED | Flag.FREQ | Flag.SAMPLE_ID_ALL | Flag.WATERMARK
        attr.sample_period = max(1, round(rate_hz))
        attr.wakeup = 1 << 30  # nobody polls: the rings are read once a second
        attr.sample_max_stack = 0
        if _accepts(open_event, attr, core, required=name == "cpu-clock"):
            return name, attr
    raise AssertionError("unreachable: cpu-clock is required")


def _try(open_event: OpenEvent, attr: Attr, feature: Feature, core: int) -> bool:
    """Add the feature to the attribute if the kernel takes it."""
    trial = copy.copy(attr)
    feature.add_to(trial)
    if not _accepts(open_event, trial, core):
        return False
    feature.add_to(attr)
    return True


def _accepts(open_event: OpenEvent, attr: Attr, core: int, *, required: bool = False) -> bool:
    try:
        fd = open_event(attr, -1, core)
    except OSError as error:
        if required or error.errno not in _REFUSED:
            raise
        return False
    os.close(fd)
    return True
