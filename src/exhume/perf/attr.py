"""struct perf_event_attr and the constants of include/uapi/linux/perf_event.h that we use."""

from __future__ import annotations

import ctypes
from enum import IntEnum, IntFlag

from exhume.perf.native import Layout


class EventType(IntEnum):
    HARDWARE = 0
    SOFTWARE = 1
    TRACEPOINT = 2


COUNT_HW_CPU_CYCLES = 0
COUNT_SW_CPU_CLOCK = 0
COUNT_SW_DUMMY = 9


class SampleType(IntFlag):
    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    RAW = 1 << 10
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    IDENTIFIER = 1 << 16
    CGROUP = 1 << 21


class Flag(IntFlag):
    """The bit field of perf_event_attr, in the order of its declaration."""

    DISABLED = 1 << 0
    EXCLUDE_USER = 1 << 4
    EXCLUDE_KERNEL = 1 << 5
    MMAP = 1 << 8
    COMM = 1 << 9
    FREQ = 1 << 10
    TASK = 1 << 13
    WATERMARK = 1 << 14
    SAMPLE_ID_ALL = 1 << 18
    EXCLUDE_CALLCHAIN_USER = 1 << 22
    MMAP2 = 1 << 23
    COMM_EXEC = 1 << 24
    USE_CLOCKID = 1 << 25
    WRITE_BACKWARD = 1 << 27
    KSYMBOL = 1 << 29
    BPF_EVENT = 1 << 30
    CGROUP = 1 << 32
    BUILD_ID = 1 << 34
    DEFER_CALLCHAIN = 1 << 38


class RecordType(IntEnum):
    MMAP = 1
    LOST = 2
    COMM = 3
    EXIT = 4
    THROTTLE = 5
    UNTHROTTLE = 6
    FORK = 7
    SAMPLE = 9
    MMAP2 = 10
    LOST_SAMPLES = 13
    KSYMBOL = 17
    BPF_EVENT = 18
    CGROUP = 19
    CALLCHAIN_DEFERRED = 22


MISC_CPUMODE_MASK = 7
MISC_KERNEL = 1
MISC_USER = 2
MISC_COMM_EXEC = 1 << 13
MISC_MMAP_BUILD_ID = 1 << 14

CONTEXT_HV = (1 << 64) - 32
CONTEXT_KERNEL = (1 << 64) - 128
CONTEXT_USER = (1 << 64) - 512
CONTEXT_MAX = (1 << 64) - 4095
"""Words of a call chain from here on are context markers, not addresses."""


class Attr(ctypes.Structure):
    """Up to PERF_ATTR_SIZE_VER7. An older kernel takes it as long as what it lacks is zero."""

    _fields_ = [
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("config1", ctypes.c_uint64),
        ("config2", ctypes.c_uint64),
        ("branch_sample_type", ctypes.c_uint64),
        ("sample_regs_user", ctypes.c_uint64),
        ("sample_stack_user", ctypes.c_uint32),
        ("clockid", ctypes.c_int32),
        ("sample_regs_intr", ctypes.c_uint64),
        ("aux_watermark", ctypes.c_uint32),
        ("sample_max_stack", ctypes.c_uint16),
        ("reserved_2", ctypes.c_uint16),
        ("aux_sample_size", ctypes.c_uint32),
        ("reserved_3", ctypes.c_uint32),
        ("sig_data", ctypes.c_uint64),
    ]

    def layout(self) -> Layout:
        return Layout(
            self.sample_type,
            self.read_format,
            self.branch_sample_type,
            self.sample_regs_user,
            self.sample_regs_intr,
            int(bool(self.flags & Flag.SAMPLE_ID_ALL)),
            deferred=int(bool(self.flags & Flag.DEFER_CALLCHAIN)),
        )
