"""Births, removals and releases of cgroups, from the kernel's tracepoints.

perf's own CGROUP records miss the v1 memory hierarchy and never report a removal. A removal
without a release is a zombie, and here it still has its name.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct, field

from exhume.model.arrays import U8
from exhume.perf.attr import Attr, EventType, Flag, RecordType, SampleType
from exhume.perf.rings import Rings
from exhume.sampler.ring import Ring
from exhume.sampler.syscall import OpenEvent, perf_event_open
from exhume.sampler.tracepoints import Tracepoint

NAMES = ("cgroup/cgroup_mkdir", "cgroup/cgroup_rmdir", "cgroup/cgroup_release")
RING_BYTES = 1 << 20
"""Of one core: 7,000 cgroups made and removed within a second. A loop of 2,000 filled 256 KiB."""
LEAST_RING_BYTES = 256 << 10
ALL_RINGS_BYTES = 24 << 20
"""The kernel's memory, for good: with many cores each has less."""
_IOC_SET_OUTPUT = 0x2405
_HEADER = struct.Struct("<IHH")
# After the header: pid and tid, time, then the length of the raw data and the data.
_RAW = 8 + 8 + 8


class CgroupEvent(Struct, frozen=True):
    what: str
    """`mkdir`, `rmdir` or `release`."""
    hierarchy: int
    """As in the second column of /proc/cgroups; 0 is the unified one."""
    id: int
    path: str


class CgroupWatch(Struct):
    tracepoints: tuple[Tracepoint, ...]
    open_event: OpenEvent = perf_event_open
    lost: int = 0
    _ring_of: dict[int, tuple[Ring, list[int]]] = field(default_factory=dict)
    """By core, with the descriptors that write into it."""
    _rings: Rings | None = None
    """All of them; None: they have changed."""
    _buffer: U8 = field(default_factory=lambda: np.empty(RING_BYTES, np.uint8))

    def watch(self, cores: Iterable[int]) -> None:
        wanted = set(cores)
        if wanted == self._ring_of.keys():
            return
        self._rings = None
        for core in set(self._ring_of) - wanted:
            self._drop(core)
        for core in sorted(wanted - set(self._ring_of)):
            self._add(core, ring_bytes(len(wanted)))

    def _add(self, core: int, data_bytes: int) -> None:
        first, *others = (self.open_event(_attr(point), -1, core) for point in self.tracepoints)
        ring = Ring.map(first, core, data_bytes)
        for fd in others:
            fcntl.ioctl(fd, _IOC_SET_OUTPUT, first)
        self._ring_of[core] = (ring, others)
        ring.enable()
        for fd in others:
            fcntl.ioctl(fd, 0x2400, 0)

    def _drop(self, core: int) -> None:
        self._rings = None
        ring, others = self._ring_of.pop(core)
        for fd in others:
            os.close(fd)
        ring.close()

    def drain(self) -> list[CgroupEvent]:
        found: list[CgroupEvent] = []
        by_id = {point.id: point for point in self.tracepoints}
        if self._rings is None:
            self._rings = Rings([ring.place for ring, _ in self._ring_of.values()])
        for room in self._rings.read(self._buffer):
            for kind, record in _records(room.tobytes()):
                if kind == RecordType.SAMPLE:
                    event = decode(record, by_id)
                    if event is not None:
                        found.append(event)
                elif kind == RecordType.LOST and len(record) >= 24:
                    self.lost += int.from_bytes(record[16:24], "little")
        return found

    def close(self) -> None:
        for core in list(self._ring_of):
            self._drop(core)


def ring_bytes(cores: int) -> int:
    size = RING_BYTES
    while size > LEAST_RING_BYTES and size * cores > ALL_RINGS_BYTES:
        size //= 2
    return size


def _attr(point: Tracepoint) -> Attr:
    return Attr(
        type=EventType.TRACEPOINT,
        config=point.id,
        sample_period=1,
        sample_type=SampleType.TID | SampleType.TIME | SampleType.RAW,
        flags=Flag.DISABLED | Flag.WATERMARK,
        wakeup=1 << 30,
    )


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER.size <= len(data):
        kind, _, size = _HEADER.unpack_from(data, at)
        if size < _HEADER.size or at + size > len(data):
            return
        yield kind, data[at : at + size]
        at += size


def decode(record: bytes, by_id: dict[int, Tracepoint]) -> CgroupEvent | None:
    """A sample with raw data; None where it is not one of ours."""
    raw = record[_RAW + 4 :]
    if len(raw) < 8:
        return None
    point = by_id.get(int.from_bytes(raw[:2], "little"))
    if point is None:
        return None

    def number(name: str) -> int:
        offset, size = point.offsets[name]
        return int.from_bytes(raw[offset : offset + size], "little")

    place = number("path")
    begin, length = place & 0xFFFF, place >> 16
    path = raw[begin : begin + length].split(b"\0", 1)[0].decode("utf-8", "replace")
    return CgroupEvent(point.name.rpartition("_")[2], number("root"), number("id"), path)
