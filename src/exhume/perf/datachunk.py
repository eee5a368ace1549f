"""One walk over perf.data → what it says: samples, threads, mappings, the kernel's own layout."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive.sets import distinct
from exhume.model.arrays import I64, U32, U64
from exhume.perf import records
from exhume.perf.asof import NOTHING_SAID, Statement
from exhume.perf.attr import RecordType
from exhume.perf.datastream import UserRecord
from exhume.perf.native import RecordColumns, SampleColumns, Walked
from exhume.perf.records import (
    NO_FORKS,
    NO_MAPPINGS,
    Comms,
    DeferredChains,
    FileIdentity,
    Forks,
    KernelSymbol,
    Lost,
    Mappings,
    concat,
)

_KERNEL_PID = -1
_MISC_MMAP_DATA = 1 << 13
"""A mapping that can't be executed (`perf record -d`)."""
_MMAP_NAME_AT = 40


class KernelMap(Struct, frozen=True):
    """Where the kernel or one of its modules lay when it was recorded."""

    start: int
    length: int
    file_offset: int
    """Of the kernel itself: the address of the symbol at the end of its name."""
    name: str
    """`[kernel.kallsyms]_text`, `[nf_conntrack]`, `/lib/modules/…/nf_conntrack.ko`."""


class Chunk(Struct, frozen=True):
    samples: SampleColumns
    words: U64
    word_count: U32
    comms: Comms
    forks: Forks
    exits: Forks
    mappings: Mappings
    parents: Statement
    """Of processes that were there before: perf writes their forks down with time 0."""
    files: dict[int, FileIdentity]
    """By `Mappings.file_hash`; those of this chunk that were not known."""
    kernel_maps: list[KernelMap]
    kernel_symbols: list[KernelSymbol]
    cgroups: dict[int, str]
    deferred: DeferredChains
    lost: Lost
    bad: int
    rounds: int
    """How often perf had read all buffers once."""


def decode(
    walked: Walked, tells_exec: bool, is_known: Callable[[int], bool] = lambda _: False
) -> Chunk:
    """`tells_exec`: COMM records say whether they come from an exec (kernels since 3.16).

    `is_known`: files, by their hash, that need not be told again.
    """
    rows = _code_only(walked.records)
    comms = records.comms(rows)
    if not tells_exec:
        # A process that names itself looks the same: then its mappings are taken for old ones.
        comms = replace(comms, is_exec=(comms.pid == comms.tid) & (comms.time > 0))
    forks = records.forks(rows)
    was_there = forks.time == 0
    new, old = _where_forks(forks, ~was_there), _where_forks(forks, was_there)
    is_process = old.pid == old.tid
    parents = Statement(
        old.time[is_process],
        old.pid[is_process].astype(np.int64),
        old.parent_pid[is_process].astype(np.int64),
    )
    mappings = records.mappings(rows)
    of_programs = mappings.file_hash[mappings.pid != _KERNEL_PID]
    known = set(filter(is_known, distinct(of_programs).tolist()))
    files = {hash_: identity for hash_, _, identity in records.mapped_files(rows, known)}
    kernel_maps = [
        KernelMap(start, length, offset, files[hash_].path)
        for start, length, offset, hash_ in _kernel_rows(mappings)
        if hash_ in files
    ]
    old_mappings, old_files, old_kernel = _version_1(rows)
    keep = mappings.pid != _KERNEL_PID
    mappings = Mappings(*(getattr(mappings, name)[keep] for name in Mappings.__struct_fields__))
    return Chunk(
        samples=walked.samples,
        words=walked.words,
        word_count=walked.word_count,
        comms=comms,
        forks=new,
        exits=records.forks(rows, RecordType.EXIT),
        mappings=concat([mappings, old_mappings], NO_MAPPINGS),
        parents=parents if len(parents.time) else NOTHING_SAID,
        files={**files, **old_files},
        kernel_maps=[*kernel_maps, *old_kernel],
        kernel_symbols=records.kernel_symbols(rows),
        cgroups=records.cgroup_paths(rows),
        deferred=records.deferred_chains(rows),
        lost=records.lost(rows),
        bad=walked.bad,
        rounds=int((walked.records.type == UserRecord.FINISHED_ROUND).sum()),
    )


def _code_only(rows: RecordColumns) -> RecordColumns:
    is_map = (rows.type == RecordType.MMAP) | (rows.type == RecordType.MMAP2)
    keep = ~(is_map & ((rows.misc & _MISC_MMAP_DATA) != 0))
    if keep.all():
        return rows
    names = [name for name in RecordColumns.__struct_fields__ if name not in ("buffer", "kinds")]
    return replace(rows, **{name: getattr(rows, name)[keep] for name in names})


def _where_forks(forks: Forks, rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Forks:
    if not rows.any():
        return NO_FORKS
    return Forks(*(getattr(forks, name)[rows] for name in Forks.__struct_fields__))


def _kernel_rows(mappings: Mappings) -> Iterator[tuple[int, int, int, int]]:
    rows = np.flatnonzero(mappings.pid == _KERNEL_PID)
    columns = (mappings.start, mappings.length, mappings.file_offset, mappings.file_hash)
    return zip(*(column[rows].tolist() for column in columns), strict=True)


def _version_1(rows: RecordColumns) -> tuple[Mappings, dict[int, FileIdentity], list[KernelMap]]:
    """MMAP: before 3.12, and for the kernel's own maps to this day. Path from 40 on, no inode."""
    at = np.flatnonzero((rows.type == RecordType.MMAP) & (rows.size > _MMAP_NAME_AT))
    if not len(at):
        return NO_MAPPINGS, {}, []
    start = rows.offset[at].astype(np.int64)
    place = _gather(rows, start + 8, 32)
    pid = np.ascontiguousarray(place[:, :4]).view("<i4").reshape(-1)
    numbers = np.ascontiguousarray(place[:, 8:]).view("<u8").reshape(-1, 3)
    hashes = np.empty(len(at), np.uint64)
    files: dict[int, FileIdentity] = {}
    sizes = rows.size[at].astype(np.int64)
    for size in distinct(sizes):
        some = np.flatnonzero(sizes == size)
        # What follows the name is the trailer, which differs: names are told apart by their text.
        block = _gather(rows, start[some] + _MMAP_NAME_AT, int(size) - _MMAP_NAME_AT)
        block[np.cumsum(block == 0, axis=1) > 0] = 0
        unique, inverse = np.unique(block, axis=0, return_inverse=True)
        found = []
        for row in unique:
            path = row.tobytes().rstrip(b"\0")
            hash_ = int.from_bytes(hashlib.blake2b(path, digest_size=8).digest(), "little") | 1
            files[hash_] = FileIdentity(path.decode("utf-8", "replace"), b"", (0, 0, 0, 0))
            found.append(hash_)
        hashes[some] = np.array(found, np.uint64)[inverse.reshape(-1)]
    mappings = Mappings(
        time=rows.time[at].astype(np.int64),
        pid=pid.astype(np.int32),
        start=numbers[:, 0].astype(np.uint64),
        length=numbers[:, 1].astype(np.uint64),
        file_offset=numbers[:, 2].astype(np.uint64),
        file_hash=hashes,
    )
    kernel = [
        KernelMap(begin, length, offset, files[hash_].path)
        for begin, length, offset, hash_ in _kernel_rows(mappings)
    ]
    keep = mappings.pid != _KERNEL_PID
    kept = Mappings(*(getattr(mappings, name)[keep] for name in Mappings.__struct_fields__))
    return kept, files, kernel


def _gather(
    rows: RecordColumns, start: I64, count: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    found: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = rows.buffer[
        start[:, None] + np.arange(count)
    ]
    return found
