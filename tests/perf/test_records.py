from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.perf import records
from exhume.perf.attr import RecordType
from exhume.perf.native import RecordColumns, Walker
from exhume.perf.records import NO_FORKS, FileIdentity, Forks, KernelSymbol, concat
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import Bit, Mapped, Sample, Shape, Who

SIDEBAND = Shape(int(Bit.TID | Bit.TIME | Bit.CPU))

PIDS = st.integers(-1, 1 << 22)
TIMES = st.integers(0, (1 << 63) - 1)
TEXTS = st.binary(max_size=60).map(lambda text: text.replace(b"\0", b"."))


def walked(*written: bytes, shape: Shape = SIDEBAND) -> RecordColumns:
    return Walker([shape.layout()]).walk(enc.as_array(*written)).records


def check(read: Callable[[RecordColumns], object], written: list[bytes], expected: object) -> None:
    """Read from among records of every other kind, which must not matter."""
    noise = [
        enc.sample(SIDEBAND, Sample()),
        enc.record(5, 0, bytes(24)),
        enc.record(1, 0, bytes(72)),
        enc.record(80, 0, b"\xff" * 13),
    ]
    mixed = [part for one in written for part in (*noise, one)] + noise
    assert read(walked(*mixed)) == expected


@given(st.lists(st.tuples(PIDS, PIDS, TEXTS.map(lambda t: t[:15]), TIMES, st.booleans())))
@settings(deadline=None, max_examples=60)
def test_names_come_back_with_who_when_and_whether_by_exec(
    rows: list[tuple[int, int, bytes, int, bool]],
) -> None:
    def read(found: RecordColumns) -> list[tuple[int, int, bytes, int, bool]]:
        comms = records.comms(found)
        names = [name.tobytes().rstrip(b"\0") for name in comms.comm]
        columns = (comms.pid.tolist(), comms.tid.tolist(), names)
        return list(zip(*columns, comms.time.tolist(), comms.is_exec.tolist(), strict=True))

    written = [
        enc.comm(SIDEBAND, pid, tid, name, Who(9, 9, time), is_exec=is_exec)
        for pid, tid, name, time, is_exec in rows
    ]
    check(read, written, rows)


def test_a_name_of_any_length_never_takes_in_the_trailer() -> None:
    who = Who(0x41414141, 0x41414141, 0x4141414141414141, cpu=0x41414141)
    names = [b"x" * length for length in range(16)]
    comms = records.comms(walked(*(enc.comm(SIDEBAND, 1, 1, name, who) for name in names)))
    assert [name.tobytes().rstrip(b"\0") for name in comms.comm] == names


@pytest.mark.parametrize("kind", [RecordType.FORK, RecordType.EXIT])
@given(rows=st.lists(st.tuples(TIMES, PIDS, PIDS, PIDS, PIDS), max_size=6))
@settings(deadline=None, max_examples=40)
def test_forks_and_exits_come_back_and_are_not_mixed_up(
    kind: RecordType, rows: list[tuple[int, int, int, int, int]]
) -> None:
    def read(found: RecordColumns) -> list[tuple[int, ...]]:
        forks = records.forks(found, kind)
        return list(
            zip(*(getattr(forks, name).tolist() for name in Forks.__struct_fields__), strict=True)
        )

    is_exit = kind == RecordType.EXIT
    written = []
    for time, *ids in rows:
        written.append(enc.fork(SIDEBAND, ids, time, Who(time=1), is_exit=is_exit))
        written.append(enc.fork(SIDEBAND, (1, 2, 3, 4), 5, is_exit=not is_exit))
    check(read, written, rows)


MAPPED = st.builds(
    Mapped,
    pid=st.integers(1, 1 << 22),
    start=st.integers(0, (1 << 63) - 1),
    length=st.integers(0, (1 << 63) - 1),
    file_offset=st.integers(0, (1 << 63) - 1),
    path=TEXTS,
    device_inode=st.tuples(
        st.integers(0, (1 << 32) - 1),
        st.integers(0, (1 << 32) - 1),
        st.integers(0, (1 << 64) - 1),
        st.integers(0, (1 << 64) - 1),
    ),
    build_id=st.none() | st.binary(min_size=1, max_size=20),
)


@given(st.lists(MAPPED, max_size=5))
@settings(deadline=None, max_examples=60)
def test_mappings_come_back_with_place_and_file(rows: list[Mapped]) -> None:
    def read(found: RecordColumns) -> list[tuple[int, ...]]:
        maps = records.mappings(found)
        names = ("time", "pid", "start", "length", "file_offset")
        return list(zip(*(getattr(maps, name).tolist() for name in names), strict=True))

    def identities(found: RecordColumns) -> list[tuple[int, FileIdentity]]:
        """Of each mapping, by way of its hash: the file that the kernel said it was."""
        by_hash = {hash_: identity for hash_, _, identity in records.mapped_files(found, set())}
        maps = records.mappings(found)
        pids = maps.pid.tolist()
        return [(pid, by_hash[h]) for pid, h in zip(pids, maps.file_hash.tolist(), strict=True)]

    written = [enc.mmap2(SIDEBAND, row, Who(time=i)) for i, row in enumerate(rows)]
    check(read, written, [(i, m.pid, m.start, m.length, m.file_offset) for i, m in enumerate(rows)])
    check(identities, written, [(m.pid, identity_of(m)) for m in rows])


def identity_of(mapped: Mapped) -> FileIdentity:
    path = mapped.path.decode("utf-8", "replace")
    if mapped.build_id is None:
        return FileIdentity(path, b"", mapped.device_inode)
    return FileIdentity(path, mapped.build_id, (0, 0, 0, 0))


def test_a_mapped_file_is_told_once_with_the_process_that_maps_it() -> None:
    libc, other = Mapped(pid=5, path=b"/libc.so"), Mapped(pid=7, path=b"/other.so")
    known: set[int] = set()
    first = [enc.mmap2(SIDEBAND, m) for m in (libc, Mapped(pid=6, path=b"/libc.so"))]
    told = list(records.mapped_files(walked(*first), known))
    assert [(pid, identity.path) for _, pid, identity in told] == [(5, "/libc.so")]
    later = [enc.mmap2(SIDEBAND, m) for m in (libc, other)]
    told = list(records.mapped_files(walked(*later), known))
    assert [(pid, identity.path) for _, pid, identity in told] == [(7, "/other.so")]
    known.clear()
    assert len(list(records.mapped_files(walked(*later), known))) == 2


@pytest.mark.parametrize(
    "device_inode",
    [(254, 0, 339380, 0), (8, 1, 4711, 1234), (259, 2, 77, 5), (0, 41, 9, 0), (8, 1, 1 << 33, 0)],
)
def test_where_no_build_id_can_be_the_flag_is_one_that_another_listener_left(
    device_inode: tuple[int, int, int, int],
) -> None:
    record = bytearray(enc.mmap2(SIDEBAND, Mapped(device_inode=device_inode)))
    record[5] |= 1 << 6  # PERF_RECORD_MISC_MMAP_BUILD_ID
    ((_, _, identity),) = records.mapped_files(walked(bytes(record)), set())
    assert (identity.build_id, identity.device_inode) == (b"", device_inode)


SYMBOLS = st.lists(
    st.tuples(
        TIMES,
        st.integers(0, (1 << 64) - 1),
        st.integers(0, (1 << 32) - 1),
        TEXTS,
        st.booleans(),
    ),
    max_size=4,
)


@given(SYMBOLS)
@settings(deadline=None, max_examples=60)
def test_kernel_symbols_come_and_go(rows: list[tuple[int, int, int, bytes, bool]]) -> None:
    written = [
        enc.ksymbol(SIDEBAND, start, length, name, Who(time=time), is_gone=is_gone)
        for time, start, length, name, is_gone in rows
    ]
    expected = [
        KernelSymbol(time, start, length, name.decode("utf-8", "replace"), is_gone)
        for time, start, length, name, is_gone in rows
    ]
    check(records.kernel_symbols, written, expected)


@given(st.dictionaries(st.integers(0, (1 << 64) - 1), TEXTS, max_size=4))
@settings(deadline=None, max_examples=60)
def test_cgroups_come_back_by_id(paths: dict[int, bytes]) -> None:
    written = [enc.cgroup(SIDEBAND, id_, path) for id_, path in paths.items()]
    expected = {id_: path.decode("utf-8", "replace") for id_, path in paths.items()}
    check(records.cgroup_paths, written, expected)


def test_losses_count_once_though_they_are_told_in_two_ways() -> None:
    written = [
        enc.lost(SIDEBAND, 3, Who(cpu=0)),
        enc.lost(SIDEBAND, 4, Who(cpu=39)),
        enc.lost_samples(SIDEBAND, 10, Who(cpu=39)),
        enc.lost(SIDEBAND, 1, Who(cpu=0)),
    ]
    check(records.lost, written, records.Lost(records=8, samples=10))
    assert (records.Lost(8, 2) + records.Lost(0, 8)).at_least == 10
    assert records.Lost(8, 0).at_least == 8


def test_records_too_short_for_what_they_are_give_nothing() -> None:
    kinds = (1, 2, 3, 4, 7, 10, 13, 17, 19)
    short = walked(*(enc.record(kind, 0, bytes(4)) for kind in kinds))
    assert len(short) == len(kinds)
    assert len(records.comms(short).time) == 0
    assert len(records.forks(short).time) == 0
    assert len(records.forks(short, RecordType.EXIT).time) == 0
    assert len(records.mappings(short).time) == 0
    assert list(records.mapped_files(short, set())) == []
    assert records.kernel_symbols(short) == []
    assert records.cgroup_paths(short) == {}
    assert records.lost(short) == records.Lost()


@given(st.binary(max_size=300), st.integers(0, 19))
@settings(deadline=None, max_examples=80)
def test_garbage_of_any_kind_is_read_without_harm(data: bytes, kind: int) -> None:
    found = walked(enc.record(kind, 0, data))
    records.comms(found)
    records.forks(found)
    records.mappings(found)
    list(records.mapped_files(found, set()))
    records.kernel_symbols(found)
    records.cgroup_paths(found)
    records.lost(found)


def test_tables_are_put_one_after_the_other() -> None:
    one, two = forks_of([[0, 1, 2, 3, 4]]), forks_of([[0, 10, 20, 30, 40], [0, 20, 40, 60, 80]])
    both = concat([one, two], NO_FORKS)
    assert both.parent_tid.tolist() == [4, 40, 80]
    assert both.time.tolist() == [0, 0, 0]
    assert len(concat([], NO_FORKS).time) == 0
    assert concat([one], NO_FORKS) is one


def forks_of(rows: list[list[int]]) -> Forks:
    time, *ids = np.array(rows, np.int64).T
    return Forks(time, *(column.astype(np.int32) for column in ids))
