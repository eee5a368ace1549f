from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Struct

import exhume.perf.native as native_module
from exhume.model.arrays import U8, U64
from exhume.perf import records
from exhume.perf.attr import RecordType
from exhume.perf.native import SampleColumns, Walker, busy_rows, tally
from exhume.perf.records import Forks, Mappings
from exhume.perf.rings import (
    LEAST_ROWS,
    Place,
    Rings,
    SampleWalker,
    SideBandWalker,
    needed_mappings,
)
from tests import sanitized
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import Bit, Mapped, Sample, Shape, Who
from tests.perf.test_native import SAMPLES
from tests.perf.test_native_memory import fuzzed

RECORDER = Shape(int(Bit.IP | Bit.TID | Bit.TIME | Bit.CPU | Bit.CALLCHAIN | Bit.CGROUP))
SIDEBAND = Shape(int(Bit.TID | Bit.TIME | Bit.CPU))
RING_BYTES = 1 << 14
POSITIONS = st.integers(0, 1 << 40).map(lambda at: at * 8)
WHO = Who(1, 2, 3, 4, 5)


class FakeRing:
    """The memory of a ring, as the kernel would map it, with us writing."""

    def __init__(self, position: int = 0, data_bytes: int = RING_BYTES) -> None:
        self.control: U64 = np.zeros(512, np.uint64)
        self.data: U8 = np.zeros(data_bytes, np.uint8)
        self.control[128:130] = position  # data_head, data_tail

    @property
    def place(self) -> Place:
        return Place(self.control.ctypes.data, self.data.ctypes.data, len(self.data))

    @property
    def pending(self) -> int:
        return int(self.control[128] - self.control[129])

    def write(self, *parts: bytes) -> None:
        data = np.frombuffer(b"".join(parts), np.uint8)
        assert self.pending + len(data) <= len(self.data)
        head = int(self.control[128])
        self.data[(head + np.arange(len(data))) % len(self.data)] = data
        self.control[128] = head + len(data)


def rows_of(samples: SampleColumns) -> list[tuple[int, ...]]:
    columns = (getattr(samples, name).tolist() for name in SampleColumns.__struct_fields__)
    return list(zip(*columns, strict=True))


def columns_of(table: Struct) -> list[list[object]]:
    return [getattr(table, name).tolist() for name in table.__struct_fields__]


@given(st.lists(st.lists(SAMPLES, max_size=4), min_size=1, max_size=4), POSITIONS)
@settings(deadline=None, max_examples=80)
def test_samples_in_rings_read_like_samples_in_a_buffer_wherever_they_wrap(
    by_core: list[list[Sample]], position: int
) -> None:
    rings = [FakeRing(position + 8 * i) for i, _ in enumerate(by_core)]
    walker, plain = SampleWalker(RECORDER.layout()), Walker([RECORDER.layout()])
    all_of_them = Rings([ring.place for ring in rings])
    for _ in range(2):
        written = [[enc.sample(RECORDER, one) for one in some] for some in by_core]
        for ring, parts in zip(rings, written, strict=True):
            ring.write(*parts)
        found = walker.walk(all_of_them)
        wanted = plain.walk(enc.as_array(*(part for parts in written for part in parts)))
        assert rows_of(found.samples) == rows_of(wanted.samples)
        assert found.words.tolist() == wanted.words.tolist()
        assert found.word_count.tolist() == wanted.word_count.tolist()
        assert [ring.pending for ring in rings] == [0] * len(rings)
    assert walker.stack_count == plain.stack_count


NAMES = st.binary(max_size=15).map(lambda name: name.replace(b"\0", b"."))
TOLD = st.one_of(
    st.tuples(st.integers(0, 9), NAMES, st.booleans()).map(
        lambda x: enc.comm(SIDEBAND, x[0], x[0], x[1], WHO, is_exec=x[2])
    ),
    st.integers(0, 9).map(lambda pid: enc.fork(SIDEBAND, (pid, 1, pid, 1), 7, WHO)),
    st.integers(0, 9).map(lambda pid: enc.fork(SIDEBAND, (pid, 1, pid, 1), 8, WHO, is_exit=True)),
    st.sampled_from([b"/a", b"/b", b"/c" * 40]).map(
        lambda path: enc.mmap2(SIDEBAND, Mapped(path=path), WHO)
    ),
    st.just(enc.ksymbol(SIDEBAND, 0x1000, 16, b"bpf_prog", WHO)),
    st.just(enc.cgroup(SIDEBAND, 77, b"/pod", WHO)),
    st.just(enc.record(RecordType.THROTTLE, 0, bytes(40))),
)


@given(st.lists(st.lists(TOLD, max_size=12), min_size=1, max_size=3), POSITIONS)
@settings(deadline=None, max_examples=80)
def test_the_side_band_of_rings_reads_like_that_of_a_buffer(
    by_core: list[list[bytes]], position: int
) -> None:
    rings = [FakeRing(position) for _ in by_core]
    for ring, parts in zip(rings, by_core, strict=True):
        ring.write(*parts)
    layout = SIDEBAND.layout()
    told = SideBandWalker(layout).walk(Rings([ring.place for ring in rings]))
    plain = Walker([layout]).walk(enc.as_array(*(p for parts in by_core for p in parts))).records
    assert columns_of(told.comms) == columns_of(records.comms(plain))
    assert columns_of(told.forks) == columns_of(records.forks(plain))
    assert columns_of(told.exits) == columns_of(records.forks(plain, RecordType.EXIT))
    assert columns_of(told.mappings) == columns_of(records.mappings(plain))
    rest = Walker([layout]).walk(told.rest).records
    assert list(records.mapped_files(rest, set())) == list(records.mapped_files(plain, set()))
    assert records.kernel_symbols(rest) == records.kernel_symbols(plain)
    assert records.cgroup_paths(rest) == records.cgroup_paths(plain)


def test_a_file_is_told_of_once_until_it_is_forgotten() -> None:
    ring, walker = FakeRing(), SideBandWalker(SIDEBAND.layout())
    rings = Rings([ring.place])
    sizes = []
    for forget in (False, False, True):
        if forget:
            walker.forget_files()
        ring.write(*[enc.mmap2(SIDEBAND, Mapped(path=b"/lib"), WHO)] * 3)
        told = walker.walk(rings)
        assert len(told.mappings.time) == 3
        sizes.append(len(told.rest))
    assert sizes[0] == sizes[2] > 0
    assert sizes[1] == 0


def test_what_the_kernel_dropped_is_counted_by_ring() -> None:
    rings = [FakeRing(), FakeRing()]
    rings[1].write(enc.lost(RECORDER, 5, WHO), enc.lost_samples(RECORDER, 2, WHO))
    together = Rings([ring.place for ring in rings])
    for walker in (SampleWalker(RECORDER.layout()), SideBandWalker(RECORDER.layout())):
        walker.walk(together)
        assert together.lost.tolist() == [0, 7]
        walker.walk(together)
        assert together.lost.tolist() == [0, 0]
        rings[1].write(enc.lost(RECORDER, 5, WHO), enc.lost_samples(RECORDER, 2, WHO))


def test_no_rings_give_nothing() -> None:
    assert len(SampleWalker(RECORDER.layout()).walk(Rings([])).samples) == 0
    assert len(SideBandWalker(SIDEBAND.layout()).walk(Rings([])).rest) == 0


def test_columns_grow_for_a_stall_and_shrink_after_it() -> None:
    ring = FakeRing(data_bytes=1 << 21)
    rings, walker = Rings([ring.place]), SampleWalker(RECORDER.layout())
    one = enc.sample(RECORDER, Sample(chain=(1, 2)))
    sizes = []
    for count in (1, 20 * LEAST_ROWS, 1):
        ring.write(one * count)
        assert len(walker.walk(rings).samples) == count
        sizes.append(len(walker._scratch.columns["time"]))
    assert sizes[0] == sizes[2] == LEAST_ROWS
    assert sizes[1] >= 20 * LEAST_ROWS


def test_rings_are_copied_a_room_full_at_a_time_and_whole() -> None:
    rings = [FakeRing(position) for position in (0, RING_BYTES - 8, 64)]
    parts = [bytes([65 + i]) * size for i, size in enumerate((40, 72, 200))]
    for ring, part in zip(rings, parts, strict=True):
        ring.write(part)
    got = [room.tobytes() for room in Rings([r.place for r in rings]).read(np.empty(120, np.uint8))]
    assert got == [parts[0] + parts[1], parts[2]]


@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(0, 5), max_size=300))
@settings(deadline=None)
def test_a_tally_counts_each_value(values: list[int]) -> None:
    found, counts = tally(np.array(values, np.int32))
    assert dict(zip(found, counts, strict=True)) == {v: values.count(v) for v in values}
    assert found == list(dict.fromkeys(values))


ROWS = st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0, 7]), st.integers(0, 3)))


@given(ROWS, st.lists(st.tuples(st.integers(0, 50), st.integers(1, 10)), max_size=4))
@settings(deadline=None)
def test_only_the_idle_task_in_the_idle_loop_is_idle(
    rows: list[tuple[int, int, int]], spans: Sequence[tuple[int, int]]
) -> None:
    ranges = sorted((start, start + size) for start, size in spans)
    table = np.array(rows, np.uint64).reshape(-1, 3)
    zeros = np.zeros(len(table), np.uint64)
    samples = SampleColumns(
        time=zeros, ip=table[:, 0], period=zeros, cgroup=zeros, pid=table[:, 1].astype(np.int32),
        tid=zeros.astype(np.int32), cpu=table[:, 2].astype(np.uint32),
        stack=zeros.astype(np.uint32), event=zeros.astype(np.uint16), misc=zeros.astype(np.uint16),
    )  # fmt: skip
    kept, idle = busy_rows(samples, np.array(ranges, np.uint64).reshape(-1, 2))
    is_idle = [pid == 0 and any(low <= ip < high for low, high in ranges) for ip, pid, _ in rows]
    assert kept.tolist() == [i for i, _ in enumerate(rows) if not is_idle[i]]
    cores = [core for (*_, core), was in zip(rows, is_idle, strict=True) if was]
    assert idle == {core: cores.count(core) for core in cores}


UNTIL = 50
FEW_PIDS = st.integers(-1, 12)
FORKS = st.lists(st.tuples(FEW_PIDS, FEW_PIDS, FEW_PIDS), max_size=12)  # pid, parent, tid
EXITS = st.lists(st.tuples(FEW_PIDS, FEW_PIDS, st.integers(UNTIL - 2, UNTIL + 1)), max_size=12)


def forks_of(rows: Sequence[tuple[int, int, int, int]]) -> Forks:
    time, pid, parent, tid = np.array(rows, np.int64).reshape(-1, 4).T.copy()
    narrow = (part.astype(np.int32) for part in (pid, parent, tid, parent))
    return Forks(time, *narrow)


@example([(5, 1, 5), (5, 1, 5)], [(5, 5, UNTIL - 1)], [], [5])  # its number was given again
@example([(5, 1, 5)], [(5, 5, UNTIL - 1)], [], [4, 5])
@given(FORKS, EXITS, st.lists(FEW_PIDS, max_size=6), st.lists(FEW_PIDS, max_size=30))
@settings(deadline=None)
def test_mappings_go_only_with_who_came_and_went_unseen(
    forks: list[tuple[int, int, int]],
    exits: list[tuple[int, int, int]],
    sampled: list[int],
    mapped: list[int],
) -> None:
    born = {pid for pid, _, tid in forks if pid == tid}
    gone = {pid for pid, tid, time in exits if pid == tid and time < UNTIL}
    copied = {parent for pid, parent, tid in forks if pid == tid}
    has_threads = {pid for pid, _, tid in forks if pid != tid}
    starts = [pid for pid, _, tid in forks if pid == tid]
    twice = {pid for pid in born if starts.count(pid) > 1}
    unseen = (born & gone) - copied - has_threads - twice - set(sampled)
    number = np.arange(len(mapped), dtype=np.uint64)
    mappings = Mappings(
        number.view(np.int64), np.array(mapped, np.int32), number, number, number, number
    )
    kept = needed_mappings(
        mappings,
        forks_of([(1, *row) for row in forks]),
        forks_of([(time, pid, 0, tid) for pid, tid, time in exits]),
        np.array(sampled, np.int32),
        UNTIL,
    )
    expected = [row for row, pid in enumerate(mapped) if pid not in unseen]
    assert kept.time.tolist() == expected
    assert kept.file_hash.tolist() == expected
    assert kept.pid.tolist() == [mapped[row] for row in expected]


DRIVER = r"""
#include "native.c"
#include "rings.c"
#include <stdio.h>
#define ROOM(n) malloc((n) ? (n) : 1)
#define SIZE (1u << 16)
int main(void) {
    uint64_t length, walks = 0, heads[1], lost[1];
    xh_stacks *stacks = xh_stacks_new(4), *files = xh_stacks_new(4);
    xh_layout layouts[2];
    uint8_t *control = calloc(1, 4096), *data = malloc(SIZE), *spare = malloc(SIZE);
    xh_ring ring[1] = {{control, data, SIZE}};
    while (fread(&length, 8, 1, stdin) == 1) {
        if (fread(layouts, sizeof layouts, 1, stdin) != 1 || length > SIZE) return 2;
        uint8_t *buf = ROOM(length);
        if (length && fread(buf, length, 1, stdin) != 1) return 2;
        for (int pass = 0; pass < 2; pass++) {
            uint64_t tail = walks * 0x9e3779b97f4a7c15u & (walks % 5 ? ~7ull : ~0ull);
            uint64_t head = tail + length;
            for (uint64_t i = 0; i < length; i++) data[(tail + i) & (SIZE - 1)] = buf[i];
            memcpy(control + 1024, &head, 8), memcpy(control + 1032, &tail, 8);
            if (pass == 0) {
                xh_counts n, m;
                xh_rings_count(ring, 1, heads, &n);
                uint64_t s = n.samples;
                xh_columns c = {
                    ROOM(8 * s), ROOM(8 * s), ROOM(8 * s), ROOM(8 * s), ROOM(4 * s), ROOM(4 * s),
                    ROOM(4 * s), ROOM(4 * s), ROOM(2 * s), ROOM(2 * s), ROOM(8 * n.words),
                    ROOM(4 * s),
                };
                xh_rings_walk(ring, 1, heads, layouts, stacks, &c, &m, lost, spare);
                if (m.samples + m.bad != s || m.words > n.words) return 3;
                void **columns = (void **)&c;
                for (size_t i = 0; i < sizeof c / sizeof *columns; i++) free(columns[i]);
            } else {
                xh_told_counts n, m;
                xh_told_count(ring, 1, heads, &n);
                uint64_t k = n.comms, f = n.forks, e = n.exits, p = n.maps;
                xh_told c = {
                    ROOM(8 * k), ROOM(4 * k), ROOM(4 * k), ROOM(k), ROOM(16 * k),
                    ROOM(8 * f), ROOM(4 * f), ROOM(4 * f), ROOM(4 * f), ROOM(4 * f),
                    ROOM(8 * e), ROOM(4 * e), ROOM(4 * e), ROOM(4 * e), ROOM(4 * e),
                    ROOM(8 * p), ROOM(4 * p), ROOM(8 * p), ROOM(8 * p), ROOM(8 * p), ROOM(8 * p),
                    ROOM(n.rest),
                };
                xh_told_walk(ring, 1, heads, layouts, files, &c, &m, lost, spare);
                if (m.comms > k || m.forks > f || m.exits > e || m.maps > p) return 4;
                if (m.rest > n.rest) return 6;
                void **columns = (void **)&c;
                for (size_t i = 0; i < sizeof c / sizeof *columns; i++) free(columns[i]);
            }
            if (memcmp(control + 1024, control + 1032, 8)) return 5;
        }
        free(buf);
        walks++;
    }
    xh_stacks_free(stacks), xh_stacks_free(files);
    free(control), free(data), free(spare);
    printf("%llu\n", (unsigned long long)walks);
    return 0;
}
"""


def test_no_ring_makes_a_walker_leave_its_memory(tmp_path: Path) -> None:
    driver = sanitized.build(tmp_path, DRIVER, Path(native_module.__file__).parent)
    done = subprocess.run([driver], input=fuzzed(3, 3000), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"3000\n"), done.stderr.decode()[-4000:]
