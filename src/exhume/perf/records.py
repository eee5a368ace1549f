"""The side band: what the kernel tells about processes and mappings, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct

from exhume.derive.runs import positions
from exhume.derive.sets import distinct
from exhume.model.arrays import I32, I64, U8, U64, Bool
from exhume.perf.attr import MISC_COMM_EXEC, MISC_MMAP_BUILD_ID, RecordType
from exhume.perf.native import RecordColumns

COMM_BYTES = 16
"""TASK_COMM_LEN."""


class Comms(Struct, frozen=True):
    """A thread got a name; `is_exec` where it did so by starting a program."""

    time: I64
    pid: I32
    tid: I32
    comm: U8
    """Shape (rows, COMM_BYTES), padded with zeros."""
    is_exec: Bool


class Forks(Struct, frozen=True):
    """A thread began (FORK) or ended (EXIT); its parent as the kernel names it."""

    time: I64
    pid: I32
    parent_pid: I32
    tid: I32
    parent_tid: I32


class Mappings(Struct, frozen=True):
    """A process mapped a file executable."""

    time: I64
    pid: I32
    start: U64
    length: U64
    file_offset: U64
    file_hash: U64
    """Names a `MappedFile`; equal for equal files."""


class FileIdentity(Struct, frozen=True):
    """What MMAP2 says about a file: its build id, or device and inode where the kernel is older."""

    path: str
    build_id: bytes
    """Empty where the kernel did not give one."""
    device_inode: tuple[int, int, int, int]
    """major, minor, inode, generation; zeros where the build id is given."""


class KernelSymbol(Struct, frozen=True):
    """Code that appeared in the kernel (a BPF program, a trampoline), or went."""

    time_ns: int
    start: int
    length: int
    name: str
    is_gone: bool


class DeferredChains(Struct, frozen=True):
    """Call chains of programs, taken when the kernel returned to them: of all samples until then.

    Chain i is words[start[i] : start[i] + count[i]], with perf's mark of a program's addresses.
    """

    time: I64
    tid: I32
    cookie: U64
    """What those samples have instead."""
    start: I64
    count: I64
    words: U64


_T, _I, _U = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint64)
NO_COMMS = Comms(_T, _I, _I, np.empty((0, COMM_BYTES), np.uint8), np.empty(0, np.bool_))
NO_FORKS = Forks(_T, _I, _I, _I, _I)
NO_MAPPINGS = Mappings(_T, _I, _U, _U, _U, _U)
NO_CHAINS = DeferredChains(_T, _I, _U, _T, _T, _U)

Table = TypeVar("Table", bound=Struct)


def concat(parts: Sequence[Table], empty: Table) -> Table:
    """One after the other: values of any class whose fields are all columns."""
    if len(parts) == 1:
        return parts[0]
    return type(empty)(
        *(
            np.concatenate([getattr(part, name) for part in (empty, *parts)])
            for name in empty.__struct_fields__
        )
    )


def _rows(records: RecordColumns, kind: RecordType, least_bytes: int) -> I64:
    if not records.kinds >> kind & 1:
        return np.empty(0, np.int64)
    picked = (records.type == kind) & (records.size >= least_bytes)
    return np.flatnonzero(picked)


def _fields(records: RecordColumns, rows: I64, offset: int, count: int) -> U8:
    """`count` bytes at `offset` of each of those records, shape (rows, count)."""
    start = records.offset[rows].astype(np.int64) + offset
    found: U8 = records.buffer[start[:, None] + np.arange(count)]
    return found


def _ints(block: U8, dtype: str) -> I64:
    return np.ascontiguousarray(block).view(dtype)


def comms(records: RecordColumns) -> Comms:
    rows = _rows(records, RecordType.COMM, 16)
    ids = _ints(_fields(records, rows, 8, 8), "<i4").reshape(-1, 2)
    # A name may be shorter than 16 bytes: what follows in the record is the trailer, so cut there.
    name = np.zeros((len(rows), COMM_BYTES), np.uint8)
    room = np.minimum(records.size[rows].astype(np.int64) - 16, COMM_BYTES)
    for width in distinct(room):
        some = room == width
        name[some, :width] = _fields(records, rows[some], 16, int(width))
    ended = np.cumsum(name == 0, axis=1) > 0
    name[ended] = 0
    return Comms(
        time=records.time[rows].astype(np.int64),
        pid=ids[:, 0].astype(np.int32),
        tid=ids[:, 1].astype(np.int32),
        comm=name,
        is_exec=(records.misc[rows] & MISC_COMM_EXEC) != 0,
    )


def forks(records: RecordColumns, kind: RecordType = RecordType.FORK) -> Forks:
    """FORK and EXIT records share one layout: pid, ppid, tid, ptid, time."""
    rows = _rows(records, kind, 32)
    ids = _ints(_fields(records, rows, 8, 16), "<i4").reshape(-1, 4)
    time = _ints(_fields(records, rows, 24, 8), "<i8").reshape(-1)
    return Forks(
        time=time.astype(np.int64),
        pid=ids[:, 0].astype(np.int32),
        parent_pid=ids[:, 1].astype(np.int32),
        tid=ids[:, 2].astype(np.int32),
        parent_tid=ids[:, 3].astype(np.int32),
    )


def mappings(records: RecordColumns) -> Mappings:
    rows = _rows(records, RecordType.MMAP2, 80)
    pid = _ints(_fields(records, rows, 8, 8), "<i4").reshape(-1, 2)[:, 0]
    place = np.ascontiguousarray(_fields(records, rows, 16, 24)).view("<u8").reshape(-1, 3)
    return Mappings(
        time=records.time[rows].astype(np.int64),
        pid=pid.astype(np.int32),
        start=place[:, 0].astype(np.uint64),
        length=place[:, 1].astype(np.uint64),
        file_offset=place[:, 2].astype(np.uint64),
        file_hash=records.file_hash[rows],
    )


def mapped_files(
    records: RecordColumns, known: set[int]
) -> Iterator[tuple[int, int, FileIdentity]]:
    """(hash, pid, identity) of each mapped file whose hash is not known yet; adds it to `known`."""
    rows = _rows(records, RecordType.MMAP2, 80)
    hashes, first = np.unique(records.file_hash[rows], return_index=True)
    for hash_, row in zip(hashes.tolist(), rows[first].tolist(), strict=True):
        if hash_ in known:
            continue
        known.add(hash_)
        start = int(records.offset[row])
        body = records.buffer[start : start + int(records.size[row])].tobytes()
        yield (
            hash_,
            int.from_bytes(body[8:12], "little", signed=True),
            _identity(body, int(records.misc[row])),
        )


def _identity(record: bytes, misc: int) -> FileIdentity:
    path = record[72:].split(b"\0", 1)[0].decode("utf-8", "replace")
    if misc & MISC_MMAP_BUILD_ID and (build_id := _build_id(record[40:64])):
        return FileIdentity(path, build_id, (0, 0, 0, 0))
    major, minor = np.frombuffer(record, "<u4", 2, 40).tolist()
    inode, generation = np.frombuffer(record, "<u8", 2, 48).tolist()
    return FileIdentity(path, b"", (major, minor, inode, generation))


def _build_id(field: bytes) -> bytes:
    """Size, three bytes of zero, 20 bytes with zeros behind it; empty where it is none.

    The flag may be left over: a record goes to all that listen, and what the kernel
    (perf_event_mmap_output) sets for one who asked for build ids it does not take back for the
    next, which has device and inode there. So it is in any `perf record PROGRAM` while another
    records the whole node with --buildid-mmap, or exhume does.
    """
    size, build_id = field[0], field[4:]
    is_one = size <= len(build_id) and not any(field[1:4]) and not any(build_id[size:])
    return build_id[:size] if is_one else b""


def kernel_symbols(records: RecordColumns) -> list[KernelSymbol]:
    found = []
    for row in _rows(records, RecordType.KSYMBOL, 32).tolist():
        start = int(records.offset[row])
        body = records.buffer[start : start + int(records.size[row])].tobytes()
        found.append(
            KernelSymbol(
                time_ns=int(records.time[row]),
                start=int.from_bytes(body[8:16], "little"),
                length=int.from_bytes(body[16:20], "little"),
                name=body[24:].split(b"\0", 1)[0].decode("utf-8", "replace"),
                is_gone=bool(body[22] & 1),
            )
        )
    return found


def cgroup_paths(records: RecordColumns) -> dict[int, str]:
    """Cgroup id → path, of cgroups made while we watched (unified hierarchy only)."""
    found = {}
    for row in _rows(records, RecordType.CGROUP, 24).tolist():
        start = int(records.offset[row])
        body = records.buffer[start : start + int(records.size[row])].tobytes()
        found[int.from_bytes(body[8:16], "little")] = (
            body[16:].split(b"\0", 1)[0].decode("utf-8", "replace")
        )
    return found


def deferred_chains(records: RecordColumns) -> DeferredChains:
    rows = _rows(records, RecordType.CALLCHAIN_DEFERRED, 24)
    if not len(rows):
        return NO_CHAINS
    cookie, told = np.ascontiguousarray(_fields(records, rows, 8, 16)).view("<u8").T
    room = (records.size[rows].astype(np.uint64) - np.uint64(24)) // np.uint64(8)
    count = np.minimum(told, room).astype(np.int64)
    at = positions(records.offset[rows].astype(np.int64) + 24, 8 * count)
    words = np.ascontiguousarray(records.buffer[at]).view("<u8")
    return DeferredChains(
        time=records.time[rows].astype(np.int64),
        tid=records.tid[rows],
        cookie=cookie.copy(),
        start=np.cumsum(count) - count,
        count=count,
        words=words,
    )


class Lost(Struct, frozen=True):
    """What the kernel dropped for want of room."""

    records: int = 0
    """As it says when there is room again."""
    samples: int = 0
    """As the counters of the events say; perf asks them in the end, since 6.1."""

    def __add__(self, other: Lost) -> Lost:
        return Lost(self.records + other.records, self.samples + other.samples)

    @property
    def at_least(self) -> int:
        """Both tell of the same losses."""
        return max(self.records, self.samples)


def lost(records: RecordColumns) -> Lost:
    told = []
    for kind, offset in ((RecordType.LOST, 16), (RecordType.LOST_SAMPLES, 8)):
        rows = _rows(records, kind, offset + 8)
        told.append(int(_ints(_fields(records, rows, offset, 8), "<i8").sum()))
    return Lost(*told)
