"""Writes perf records as the kernel does: what the walker must read back.

Layout of the records: include/uapi/linux/perf_event.h, enum perf_event_type. Numbers are spelled
out here and not imported from exhume, so that one wrong constant cannot hide on both sides.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntFlag

import numpy as np
from msgspec import Struct

from exhume.model.arrays import U8
from exhume.perf.native import Layout

KERNEL = (1 << 64) - 128
USER = (1 << 64) - 512
MISC_KERNEL, MISC_USER = 1, 2
MISC_COMM_EXEC = 1 << 13
MISC_MMAP_BUILD_ID = 1 << 14
NO_CPU = 0xFFFF_FFFF


class Bit(IntFlag):
    """Bits of sample_type, all that the walker knows."""

    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    READ = 1 << 4
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    STREAM_ID = 1 << 9
    RAW = 1 << 10
    BRANCH_STACK = 1 << 11
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    WEIGHT = 1 << 14
    DATA_SRC = 1 << 15
    IDENTIFIER = 1 << 16
    TRANSACTION = 1 << 17
    REGS_INTR = 1 << 18
    PHYS_ADDR = 1 << 19
    CGROUP = 1 << 21
    WEIGHT_STRUCT = 1 << 24


class ReadFormat(IntFlag):
    TIME_ENABLED = 1
    TIME_RUNNING = 2
    ID = 4
    GROUP = 8
    LOST = 16


BRANCH_CALL_STACK = 1 << 11
BRANCH_HW_INDEX = 1 << 17
BRANCH_COUNTERS = 1 << 19


class Shape(Struct, frozen=True):
    """What of an event's attribute decides how its records look."""

    sample_type: int = 0
    read_format: int = 0
    branch_type: int = 0
    regs_user: int = 0
    regs_intr: int = 0
    sample_id_all: bool = True
    dump_regs: int = 0
    deferred: bool = False

    def layout(self) -> Layout:
        return Layout(
            self.sample_type,
            self.read_format,
            self.branch_type,
            self.regs_user,
            self.regs_intr,
            int(self.sample_id_all),
            self.dump_regs,
            int(self.deferred),
        )


class Sample(Struct, frozen=True):
    id: int = 0
    ip: int = 0
    pid: int = 0
    tid: int = 0
    time: int = 0
    cpu: int = 0
    period: int = 0
    members: int = 1
    """Events in the group, where READ is of a group."""
    chain: tuple[int, ...] = ()
    raw: bytes = b""
    branches: int = 0
    has_registers: bool = True
    user_stack: bytes = b""
    cgroup: int = 0
    misc: int = MISC_KERNEL
    registers: tuple[int, ...] = ()
    """Of the program, the first ones; the others are of no meaning."""
    bits: int = 64
    """Of the program."""
    calls: tuple[tuple[int, int], ...] = ()
    """Branches by from and to, instead of `branches` that are of no meaning."""


class Who(Struct, frozen=True):
    """The sample_id trailer of a record that is no sample."""

    pid: int = 0
    tid: int = 0
    time: int = 0
    id: int = 0
    cpu: int = 0


NOBODY = Who()
FILLER = 0x5A5A_5A5A_5A5A_5A5A
"""In fields that nobody reads: a walker that takes them for lengths goes astray."""


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def as_array(*records: bytes) -> U8:
    return np.frombuffer(b"".join(records), np.uint8)


def record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def sample(shape: Shape, s: Sample) -> bytes:
    """perf_output_sample() of kernel/events/core.c, field by field."""
    t = shape.sample_type
    out: list[bytes] = []
    if t & Bit.IDENTIFIER:
        out.append(words(s.id))
    if t & Bit.IP:
        out.append(words(s.ip))
    if t & Bit.TID:
        out.append(struct.pack("<ii", s.pid, s.tid))
    if t & Bit.TIME:
        out.append(words(s.time))
    if t & Bit.ADDR:
        out.append(words(FILLER))
    if t & Bit.ID:
        out.append(words(s.id))
    if t & Bit.STREAM_ID:
        out.append(words(FILLER))
    if t & Bit.CPU:
        out.append(struct.pack("<II", s.cpu, 0xFFFF_FFFF))
    if t & Bit.PERIOD:
        out.append(words(s.period))
    if t & Bit.READ:
        out.append(_read(shape.read_format, s.members))
    if t & Bit.CALLCHAIN:
        out.append(words(len(s.chain), *s.chain))
    if t & Bit.RAW:
        padded = s.raw + bytes(-(4 + len(s.raw)) % 8)
        out.append(struct.pack("<I", len(padded)) + padded)
    if t & Bit.BRANCH_STACK:
        out.append(_branches(shape.branch_type, s.calls or ((FILLER, FILLER),) * s.branches))
    if t & Bit.REGS_USER:
        out.append(_registers(shape.regs_user, s.has_registers, s.registers, s.bits))
    if t & Bit.STACK_USER:
        out.append(_user_stack(s.user_stack))
    if t & (Bit.WEIGHT | Bit.WEIGHT_STRUCT):
        out.append(words(FILLER))
    if t & Bit.DATA_SRC:
        out.append(words(FILLER))
    if t & Bit.TRANSACTION:
        out.append(words(FILLER))
    if t & Bit.REGS_INTR:
        out.append(_registers(shape.regs_intr, s.has_registers))
    if t & Bit.PHYS_ADDR:
        out.append(words(FILLER))
    if t & Bit.CGROUP:
        out.append(words(s.cgroup))
    return record(9, s.misc, b"".join(out))


def _read(read_format: int, members: int) -> bytes:
    times = [FILLER] * (read_format & ReadFormat.TIME_ENABLED != 0)
    times += [FILLER] * (read_format & ReadFormat.TIME_RUNNING != 0)
    each = [FILLER]
    each += [FILLER] * (read_format & ReadFormat.ID != 0)
    each += [FILLER] * (read_format & ReadFormat.LOST != 0)
    if read_format & ReadFormat.GROUP:
        return words(members, *times, *(each * members))
    return words(each[0], *times, *each[1:])


def _branches(branch_type: int, branches: Sequence[tuple[int, int]]) -> bytes:
    head = words(len(branches)) + (words(FILLER) if branch_type & BRANCH_HW_INDEX else b"")
    counters = words(*[FILLER] * len(branches)) if branch_type & BRANCH_COUNTERS else b""
    return head + b"".join(words(*one, FILLER) for one in branches) + counters


def _registers(
    mask: int, has_registers: bool, values: tuple[int, ...] = (), bits: int = 64
) -> bytes:
    if not has_registers:
        return words(0)
    return words(bits // 32, *[*values, *[FILLER] * mask.bit_count()][: mask.bit_count()])


def _user_stack(data: bytes) -> bytes:
    if not data:
        return words(0)
    padded = data + bytes(-len(data) % 8)
    return words(len(padded)) + padded + words(len(data))


def trailer(shape: Shape, who: Who) -> bytes:
    if not shape.sample_id_all:
        return b""
    t = shape.sample_type
    out: list[bytes] = []
    if t & Bit.TID:
        out.append(struct.pack("<ii", who.pid, who.tid))
    if t & Bit.TIME:
        out.append(words(who.time))
    if t & Bit.ID:
        out.append(words(who.id))
    if t & Bit.STREAM_ID:
        out.append(words(FILLER))
    if t & Bit.CPU:
        out.append(struct.pack("<II", who.cpu, 0xFFFF_FFFF))
    if t & Bit.IDENTIFIER:
        out.append(words(who.id))
    return b"".join(out)


def _text(name: bytes) -> bytes:
    """Ended by a zero, padded to 8 bytes."""
    return name + bytes(8 - len(name) % 8)


def comm(
    shape: Shape, pid: int, tid: int, name: bytes, who: Who = NOBODY, *, is_exec: bool = False
) -> bytes:
    body = struct.pack("<ii", pid, tid) + _text(name)
    return record(3, MISC_COMM_EXEC if is_exec else 0, body + trailer(shape, who))


def fork(
    shape: Shape,
    ids: Sequence[int],
    time: int,
    who: Who = NOBODY,
    *,
    is_exit: bool = False,
) -> bytes:
    """`ids`: pid, ppid, tid, ptid."""
    body = struct.pack("<4i", *ids) + words(time)
    return record(4 if is_exit else 7, 0, body + trailer(shape, who))


class Mapped(Struct, frozen=True):
    pid: int = 1
    start: int = 0x400000
    length: int = 0x1000
    file_offset: int = 0
    path: bytes = b"/bin/true"
    device_inode: tuple[int, int, int, int] = (8, 1, 4711, 0)
    build_id: bytes | None = None
    protection: int = 5


def mmap2(shape: Shape, mapped: Mapped, who: Who = NOBODY) -> bytes:
    body = struct.pack(
        "<iiQQQ", mapped.pid, mapped.pid, mapped.start, mapped.length, mapped.file_offset
    )
    misc = MISC_USER
    if mapped.build_id is None:
        body += struct.pack("<IIQQ", *mapped.device_inode)
    else:
        misc |= MISC_MMAP_BUILD_ID
        body += struct.pack("<BBH20s", len(mapped.build_id), 0, 0, mapped.build_id)
    body += struct.pack("<II", mapped.protection, 2) + _text(mapped.path)
    return record(10, misc, body + trailer(shape, who))


def lost(shape: Shape, count: int, who: Who = NOBODY) -> bytes:
    return record(2, 0, words(FILLER, count) + trailer(shape, who))


def lost_samples(shape: Shape, count: int, who: Who = NOBODY) -> bytes:
    return record(13, 0, words(count) + trailer(shape, who))


def ksymbol(
    shape: Shape, start: int, length: int, name: bytes, who: Who = NOBODY, *, is_gone: bool = False
) -> bytes:
    body = struct.pack("<QIHH", start, length, 1, int(is_gone)) + _text(name)
    return record(17, 0, body + trailer(shape, who))


def cgroup(shape: Shape, id_: int, path: bytes, who: Who = NOBODY) -> bytes:
    return record(19, 0, words(id_) + _text(path) + trailer(shape, who))
