"""The C record walker (native.c, rings.c) behind typed columns."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exhume.clibrary import C_U32, C_U64, POINTER, Functions, load
from exhume.model.arrays import I32, I64, U8, U16, U32, U64

ABI = 9
STACK_SLOTS_LOG2 = 12
MOST_CORES = 1 << 16


class Layout(ctypes.Structure):
    """How one event's records are laid out: the parts of its perf_event_attr that decide it."""

    _fields_ = [
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("branch_type", ctypes.c_uint64),
        ("regs_user", ctypes.c_uint64),
        ("regs_intr", ctypes.c_uint64),
        ("sample_id_all", ctypes.c_uint64),
        ("dump_regs", ctypes.c_uint64),
        ("deferred", ctypes.c_uint64),
    ]


class Counts(ctypes.Structure):
    """What a walk found, or at most will find."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "samples", "others", "words", "new_stacks", "bad", "consumed", "kinds", "bytes",
        )
    ]  # fmt: skip


Spec = tuple[tuple[str, str, type[np.generic]], ...]
"""Of columns: name, what sizes it, type."""

COLUMNS: Spec = (
    ("time", "samples", np.uint64),
    ("ip", "samples", np.uint64),
    ("period", "samples", np.uint64),
    ("cgroup", "samples", np.uint64),
    ("pid", "samples", np.int32),
    ("tid", "samples", np.int32),
    ("cpu", "samples", np.uint32),
    ("stack", "samples", np.uint32),
    ("event", "samples", np.uint16),
    ("misc", "samples", np.uint16),
    ("words", "words", np.uint64),
    ("word_count", "samples", np.uint32),
    ("offset", "others", np.uint64),
    ("type", "others", np.uint32),
    ("size", "others", np.uint32),
    ("other_misc", "others", np.uint16),
    ("other_time", "others", np.uint64),
    ("other_pid", "others", np.int32),
    ("other_tid", "others", np.int32),
    ("other_cpu", "others", np.uint32),
    ("file_hash", "others", np.uint64),
    ("bytes", "bytes", np.uint8),
)
"""In the order of xh_columns in native.h."""


class Columns(ctypes.Structure):
    """Where the columns are: NULL for those that nobody fills."""

    _fields_ = [(name, ctypes.c_void_p) for name, _, _ in COLUMNS]


class SampleColumns(Struct, frozen=True):
    time: U64
    ip: U64
    period: U64
    cgroup: U64
    """Cgroup id, 0 where the kernel does not say."""
    pid: I32
    """-1 occurs: a task that was already reaped."""
    tid: I32
    cpu: U32
    stack: U32
    """Id in the walker's stack dictionary."""
    event: U16
    """Index of the layout."""
    misc: U16

    def __len__(self) -> int:
        return len(self.time)


_NO_ROWS: dict[str, NDArray[Any]] = {name: np.empty(0, dtype) for name, _, dtype in COLUMNS}
NO_SAMPLES = SampleColumns(*(_NO_ROWS[name] for name in SampleColumns.__struct_fields__))


def allocate(
    columns: Spec, size: str, rows: int, pointers: ctypes.Structure
) -> dict[str, NDArray[Any]]:
    """The columns of that size, all in one block: twenty arrays cost more than a small walk."""
    wanted = [(name, np.dtype(dtype)) for name, sized_by, dtype in columns if sized_by == size]
    block = np.empty(sum(-(-rows * dtype.itemsize // 8) for _, dtype in wanted), np.uint64)
    start, at = block.ctypes.data, 0
    found = {}
    for name, dtype in wanted:
        words = -(-rows * dtype.itemsize // 8)
        found[name] = block[at : at + words].view(dtype)[:rows]
        setattr(pointers, name, start + 8 * at)
        at += words
    return found


class RecordColumns(Struct, frozen=True):
    """Records that are not samples, still in the buffer at `offset`."""

    buffer: U8
    offset: U64
    type: U32
    size: U32
    misc: U16
    time: U64
    """From the sample_id trailer; 0 where there is none."""
    pid: I32
    tid: I32
    cpu: U32
    file_hash: U64
    """Of an MMAP2 record: equal for equal files."""
    kinds: int = -1
    """Which types there are: bit n for type n, bit 63 for all from 63 on."""

    def __len__(self) -> int:
        return len(self.offset)


class Walked(Struct, frozen=True):
    samples: SampleColumns
    records: RecordColumns
    words: U64
    """The stacks first seen in this walk, one after the other, context markers included."""
    word_count: U32
    bad: int
    """Samples whose lengths did not add up; skipped."""
    consumed: int
    """Bytes of whole records; the rest is the start of one that has not fully arrived."""


@cache
def library() -> ctypes.CDLL:
    functions: Functions = {
        "xh_stacks_new": (POINTER, [C_U32]),
        "xh_stacks_free": (None, [POINTER]),
        "xh_stacks_reset": (None, [POINTER]),
        "xh_stacks_count": (C_U32, [POINTER]),
        "xh_count": (None, [POINTER, C_U64, C_U64, C_U64, POINTER]),
        "xh_walk": (None, [POINTER, C_U64, *[POINTER] * 3, C_U64, *[POINTER] * 3]),
        "xh_busy": (
            C_U64,
            [*[POINTER] * 3, C_U64, POINTER, C_U64, POINTER, C_U64, POINTER],
        ),
        "xh_tally": (C_U64, [POINTER, C_U64, POINTER, C_U64, POINTER, POINTER]),
        "xh_rings_count": (None, [POINTER, C_U64, POINTER, POINTER]),
        "xh_rings_walk": (None, [POINTER, C_U64, *[POINTER] * 7]),
        "xh_told_count": (None, [POINTER, C_U64, POINTER, POINTER]),
        "xh_told_walk": (None, [POINTER, C_U64, *[POINTER] * 7]),
        "xh_needed_maps": (
            C_U64,
            [POINTER, POINTER, ctypes.c_int64, POINTER, C_U64, POINTER, POINTER],
        ),
        "xh_rings_read": (C_U64, [POINTER, C_U64, C_U64, POINTER, C_U64, POINTER]),
        "xh_ring_read": (C_U64, [POINTER, POINTER, C_U64, POINTER, C_U64]),
        "xh_ring_pending": (C_U64, [POINTER]),
    }
    return load("perf/_native", ("xh_abi", ABI), functions)


class Walker:
    """Decodes buffers of records; keeps the dictionary of stacks from one buffer to the next."""

    def __init__(self, layouts: Sequence[Layout], ids: Mapping[int, int] | None = None) -> None:
        """`ids` maps an event's id to the index of its layout, where there are several."""
        self._library = library()
        self._layouts = (Layout * max(1, len(layouts)))(*layouts)
        ordered = sorted((ids or {}).items())
        self._ids = np.array([id_ for id_, _ in ordered], np.uint64)
        self._id_layout = np.array([layout for _, layout in ordered], np.uint16)
        self._stacks = self._library.xh_stacks_new(STACK_SLOTS_LOG2)
        if not self._stacks:
            raise MemoryError("no memory for the stack dictionary")

    def __del__(self) -> None:
        if getattr(self, "_stacks", None):
            self._library.xh_stacks_free(self._stacks)

    @property
    def stacks(self) -> int:
        """The dictionary, for the C library."""
        return int(self._stacks)

    @property
    def stack_count(self) -> int:
        return int(self._library.xh_stacks_count(self._stacks))

    def forget_stacks(self) -> None:
        """Start a new dictionary: stack ids count from 0 again."""
        self._library.xh_stacks_reset(self._stacks)

    def walk(self, buffer: U8) -> Walked:
        """All that is in it; records that are no samples stay there."""
        buffer = np.ascontiguousarray(buffer)
        room = _Room(count(buffer), ("samples", "others", "words"))
        self.fill(room, buffer)
        return room.walked(buffer)

    def fill(self, room: _Room, buffer: U8, *, with_samples: bool = True) -> None:
        """There must be room for what is in the buffer."""
        self._library.xh_walk(
            buffer.ctypes.data, len(buffer), ctypes.addressof(self._layouts),
            self._ids.ctypes.data, self._id_layout.ctypes.data, len(self._ids),
            self._stacks if with_samples else None, ctypes.addressof(room.pointers),
            ctypes.addressof(room.counts),
        )  # fmt: skip


class _Room:
    """Room for what walks find, and how much of it is taken."""

    def __init__(self, most: Counts, sizes: Sequence[str]) -> None:
        self.most = most
        self.counts = Counts()
        self.pointers = Columns()
        self._arrays = dict(_NO_ROWS)
        for size in sizes:
            if rows := getattr(most, size):
                self._arrays |= allocate(COLUMNS, size, rows, self.pointers)

    def walked(self, buffer: U8) -> Walked:
        """`buffer`: where the records that are no samples are."""
        arrays, counts = self._arrays, self.counts
        n, others = counts.samples, counts.others
        return Walked(
            samples=SampleColumns(*(arrays[name][:n] for name in SampleColumns.__struct_fields__)),
            records=RecordColumns(
                buffer=buffer,
                offset=arrays["offset"][:others],
                type=arrays["type"][:others],
                size=arrays["size"][:others],
                misc=arrays["other_misc"][:others],
                time=arrays["other_time"][:others],
                pid=arrays["other_pid"][:others],
                tid=arrays["other_tid"][:others],
                cpu=arrays["other_cpu"][:others],
                file_hash=arrays["file_hash"][:others],
                kinds=int(counts.kinds),
            ),
            words=arrays["words"][: counts.words],
            word_count=arrays["word_count"][: counts.new_stacks],
            bad=int(counts.bad),
            consumed=int(counts.consumed),
        )

    @property
    def bytes(self) -> U8:
        """The records that are no samples, where they were copied."""
        found: U8 = self._arrays["bytes"][: self.counts.bytes]
        return found


_MOST_OTHERS = 1 << 16
"""Records that are no samples, in one walk: what is made of them takes ten times their size."""
_LEAST_ROOM = {"samples": 0, "others": 256, "words": 0, "bytes": 1 << 15}


class Gathering:
    """One walk over several buffers, each while it is in the processor's cache.

    Records that are no samples are copied: a buffer may be used again as soon as it was added.
    """

    def __init__(self, walker: Walker, first: Counts, buffers: int) -> None:
        """Of so many buffers at most; there is room for as many as the first one."""
        walker.forget_stacks()
        self._walker = walker
        self._left = buffers
        most = Counts()
        for size, least in _LEAST_ROOM.items():
            setattr(most, size, max(least, buffers * getattr(first, size)))
        most.others = min(most.others, max(_MOST_OTHERS, first.others))
        self._room = _Room(most, tuple(_LEAST_ROOM))

    def has_room(self, bounds: Counts) -> bool:
        most, taken = self._room.most, self._room.counts
        return self._left > 0 and all(
            getattr(taken, size) + getattr(bounds, size) <= getattr(most, size)
            for size in _LEAST_ROOM
        )

    def add(self, buffer: U8, *, with_samples: bool = True) -> None:
        """Whole records, for which there is room."""
        self._left -= 1
        self._walker.fill(self._room, buffer, with_samples=with_samples)

    def walked(self) -> Walked:
        return self._room.walked(self._room.bytes)


def count(buffer: U8, stops: Iterable[int] = (), until: int | None = None) -> Counts:
    """How much there is at most before the first of these types, perf's own (64 to 127).

    `consumed` are bytes of whole records; the last of them begins before `until`.
    """
    mask = sum(1 << (type_ - 64) for type_ in stops)
    found = Counts()
    size = len(buffer)
    library().xh_count(
        buffer.ctypes.data, size, size if until is None else until, mask, ctypes.addressof(found)
    )
    return found


def ring_read(control: int, data: int, data_bytes: int, out: U8) -> int:
    """Move what waits in a ring at these addresses to the start of `out`; how many bytes."""
    return int(library().xh_ring_read(control, data, data_bytes, out.ctypes.data, len(out)))


def ring_pending(control: int) -> int:
    return int(library().xh_ring_pending(control))


def busy_rows(samples: SampleColumns, idle_ranges: U64) -> tuple[I64, dict[int, int]]:
    """Which samples the idle loop itself did not make, and how many it made, by core."""
    ip, pid, cpu = (np.ascontiguousarray(x) for x in (samples.ip, samples.pid, samples.cpu))
    cores = int(cpu.max(initial=0)) + 1
    idle = np.zeros(min(cores, MOST_CORES), np.uint64)
    rows = np.empty(len(ip), np.int64)
    ranges = np.ascontiguousarray(idle_ranges)
    kept = library().xh_busy(
        ip.ctypes.data, pid.ctypes.data, cpu.ctypes.data, len(ip), ranges.ctypes.data,
        len(ranges), idle.ctypes.data, len(idle), rows.ctypes.data,
    )  # fmt: skip
    return rows[:kept], {core: count for core, count in enumerate(idle.tolist()) if count}


def tally(values: I32) -> tuple[list[int], list[int]]:
    """Distinct values, in the order of their first, and how often each occurs."""
    values = np.ascontiguousarray(values)
    table = np.zeros(1 << (2 * len(values) + 1).bit_length(), np.uint32)
    found, counts = np.empty(len(values), np.int32), np.empty(len(values), np.uint32)
    distinct = library().xh_tally(
        values.ctypes.data, len(values), table.ctypes.data, len(table) - 1, found.ctypes.data,
        counts.ctypes.data,
    )  # fmt: skip
    return found[:distinct].tolist(), counts[:distinct].tolist()
