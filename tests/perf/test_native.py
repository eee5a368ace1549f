from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exhume.model.arrays import U8, U64
from exhume.perf.native import (
    STACK_SLOTS_LOG2,
    Walked,
    Walker,
    ring_pending,
    ring_read,
)
from tests.perf import records_encoder as enc
from tests.perf.records_encoder import KERNEL, NO_CPU, USER, Bit, Mapped, Sample, Shape, Who

U64S = st.integers(0, (1 << 64) - 1)
ALL_BITS = int(sum(Bit))
RECORDER_BITS = Bit.IP | Bit.TID | Bit.TIME | Bit.CPU | Bit.CALLCHAIN | Bit.CGROUP

SAMPLES = st.builds(
    Sample,
    id=U64S,
    ip=U64S,
    pid=st.integers(-1, 1 << 22),
    tid=st.integers(-1, 1 << 22),
    time=U64S,
    cpu=st.integers(0, 4096),
    period=U64S,
    members=st.integers(0, 5),
    chain=st.lists(U64S, max_size=12).map(tuple),
    raw=st.binary(max_size=40),
    branches=st.integers(0, 6),
    has_registers=st.booleans(),
    user_stack=st.binary(max_size=64),
    cgroup=U64S,
    misc=st.sampled_from([enc.MISC_KERNEL, enc.MISC_USER, enc.MISC_USER | 1 << 14]),
)
SHAPES = st.builds(
    Shape,
    sample_type=st.sets(st.sampled_from(Bit)).map(lambda bits: int(sum(bits))),
    read_format=st.integers(0, 31),
    branch_type=st.sampled_from(
        [0, 7, enc.BRANCH_HW_INDEX, enc.BRANCH_COUNTERS, 1 << 17 | 1 << 19]
    ),
    regs_user=st.integers(0, 0xFFFF),
    regs_intr=st.integers(0, 0xFFFF),
    sample_id_all=st.booleans(),
)


def stacks_of(walks: Sequence[Walked]) -> list[tuple[int, ...]]:
    """The dictionary of stacks by id, as the walks told it."""
    found = []
    for walk in walks:
        ends = np.cumsum(walk.word_count.astype(np.int64))
        parts = np.split(walk.words, ends)
        assert len(parts.pop()) == 0
        found += [tuple(part.tolist()) for part in parts]
    return found


def expected_stack(shape: Shape, s: Sample) -> tuple[int, ...]:
    if shape.sample_type & Bit.CALLCHAIN and s.chain:
        return s.chain
    ip = s.ip if shape.sample_type & Bit.IP else 0
    return (USER if s.misc & 7 == enc.MISC_USER else KERNEL, ip)


def check_samples(
    shapes: Sequence[Shape], walks: Sequence[Walked], wanted: Sequence[Sample]
) -> None:
    """`wanted[i]` is of `shapes[i]`; what a shape lacks must come as absent, not as zero."""
    assert [walk.bad for walk in walks] == [0] * len(walks)
    stacks = stacks_of(walks)
    rows = [
        row
        for walk in walks
        for row in zip(
            *(getattr(walk.samples, name).tolist() for name in walk.samples.__struct_fields__),
            strict=True,
        )
    ]
    assert len(rows) == len(wanted)
    for row, shape, s in zip(rows, shapes, wanted, strict=True):
        time, ip, period, cgroup, pid, tid, cpu, stack, _, misc = row
        has = shape.sample_type
        assert time == (s.time if has & Bit.TIME else 0)
        assert ip == (s.ip if has & Bit.IP else 0)
        assert period == (s.period if has & Bit.PERIOD else 0)
        assert cgroup == (s.cgroup if has & Bit.CGROUP else 0)
        assert (pid, tid) == ((s.pid, s.tid) if has & Bit.TID else (-1, -1))
        assert cpu == (s.cpu if has & Bit.CPU else NO_CPU)
        assert misc == s.misc
        assert stacks[stack] == expected_stack(shape, s)


@given(SHAPES, st.lists(SAMPLES, min_size=1, max_size=5))
@settings(deadline=None, max_examples=150)
def test_samples_of_any_shape_come_back_as_they_were_written(
    shape: Shape, samples: list[Sample]
) -> None:
    buffer = enc.as_array(*(enc.sample(shape, s) for s in samples))
    walk = Walker([shape.layout()]).walk(buffer)
    assert walk.consumed == len(buffer)
    check_samples([shape] * len(samples), [walk], samples)


@pytest.mark.parametrize("bit", list(Bit))
def test_each_bit_alone_is_passed_over_or_read(bit: Bit) -> None:
    # CGROUP comes last of all: a wrong length of what lies before it shows there.
    shape = Shape(int(bit | Bit.CGROUP), 31, 1 << 17 | 1 << 19, 0b1011, 0b111)
    s = Sample(9, 8, 7, 6, 5, 4, 3, 2, (KERNEL, 77), b"raw", 2, True, b"stack", 4711)
    buffer = enc.as_array(enc.sample(shape, s), enc.sample(shape, s))
    check_samples([shape] * 2, [Walker([shape.layout()]).walk(buffer)], [s, s])


WHO = st.builds(
    Who,
    pid=st.integers(-1, 1 << 22),
    tid=st.integers(-1, 1 << 22),
    time=U64S,
    id=U64S,
    cpu=st.integers(0, 4096),
)


@given(SHAPES, WHO)
@example(Shape(ALL_BITS), Who(1, 2, 3, 4, 5))
@example(Shape(ALL_BITS & ~Bit.IDENTIFIER), Who(1, 2, 3, 4, 5))
@settings(deadline=None, max_examples=50)
def test_other_records_keep_place_type_and_trailer(shape: Shape, who: Who) -> None:
    written = [
        enc.comm(shape, 1, 2, b"sh", who),
        enc.fork(shape, (3, 1, 3, 1), 99, who),
        enc.mmap2(shape, Mapped(), who),
        enc.lost(shape, 5, who),
        enc.ksymbol(shape, 1, 2, b"bpf_prog", who),
        enc.cgroup(shape, 1, b"/a", who),
        enc.record(68, 0, b"\1\2\3"),  # perf(1) wrote it: no trailer, any size
    ]
    walk = Walker([shape.layout()]).walk(enc.as_array(*written))
    records = walk.records
    offsets = [0, *np.cumsum([len(record) for record in written]).tolist()]
    assert records.offset.tolist() == offsets[:-1]
    assert records.size.tolist() == [len(record) for record in written]
    assert records.type.tolist() == [3, 7, 10, 2, 17, 19, 68]
    has = shape.sample_type if shape.sample_id_all else 0
    assert records.time.tolist() == [who.time if has & Bit.TIME else 0] * 6 + [0]
    assert records.pid.tolist() == [who.pid if has & Bit.TID else -1] * 6 + [-1]
    assert records.tid.tolist() == [who.tid if has & Bit.TID else -1] * 6 + [-1]
    assert records.cpu.tolist() == [who.cpu if has & Bit.CPU else NO_CPU] * 6 + [NO_CPU]


def test_a_mapped_file_has_one_hash_whoever_maps_it_and_another_file_another() -> None:
    shape = Shape(int(Bit.TID | Bit.TIME))
    base = Mapped()
    same = [base, Mapped(pid=7, start=1 << 40, length=1, file_offset=4096, protection=7)]
    other = [
        Mapped(path=b"/bin/false"),
        Mapped(device_inode=(8, 1, 4712, 0)),
        Mapped(device_inode=(8, 2, 4711, 0)),
        Mapped(device_inode=(8, 1, 4711, 1)),
        Mapped(build_id=b"\1" * 20),
        Mapped(build_id=b"\2" * 20),
    ]
    written = [enc.mmap2(shape, m, Who(time=i)) for i, m in enumerate([*same, *other])]
    hashes = Walker([shape.layout()]).walk(enc.as_array(*written)).records.file_hash.tolist()
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 1 + len(other)
    assert 0 not in hashes


@pytest.mark.parametrize("size", [8, 16, 40, 72, 79])
def test_a_mapping_too_short_to_name_its_file_has_no_hash(size: int) -> None:
    shape = Shape()
    short = enc.mmap2(shape, Mapped(path=b"x"))[8:size]
    walk = Walker([shape.layout()]).walk(enc.as_array(enc.record(10, 0, short)))
    assert walk.records.file_hash.tolist() == [0]


def test_several_events_are_told_apart_by_their_ids() -> None:
    bits = int(Bit.IDENTIFIER | Bit.IP | Bit.TIME)
    shapes = [
        Shape(bits),
        Shape(bits | Bit.CALLCHAIN | Bit.CPU),
        Shape(bits | Bit.RAW | Bit.CGROUP),
    ]
    ids = {10: 0, 99: 1, 11: 1, 1 << 63: 2}
    order = [99, 10, 1 << 63, 11, 10]
    samples = [Sample(id=id_, ip=id_, time=5, cpu=3, chain=(id_,), cgroup=8) for id_ in order]
    used = [shapes[ids[id_]] for id_ in order]
    buffer = enc.as_array(*(enc.sample(shape, s) for shape, s in zip(used, samples, strict=True)))
    walk = Walker([shape.layout() for shape in shapes], ids).walk(buffer)
    check_samples(used, [walk], samples)
    assert walk.samples.event.tolist() == [ids[id_] for id_ in order]


def test_an_id_nobody_announced_is_read_like_the_first_event() -> None:
    shape = Shape(int(Bit.IDENTIFIER | Bit.IP))
    buffer = enc.as_array(enc.sample(shape, Sample(id=5, ip=7)))
    walk = Walker([shape.layout(), Shape().layout()], {4: 1, 6: 1}).walk(buffer)
    check_samples([shape], [walk], [Sample(id=5, ip=7)])


# --- the dictionary of stacks ------------------------------------------------------------------

CHAINS = Shape(int(Bit.CALLCHAIN))


def walk_chains(walker: Walker, chains: Sequence[tuple[int, ...]]) -> Walked:
    return walker.walk(enc.as_array(*(enc.sample(CHAINS, Sample(chain=chain)) for chain in chains)))


def test_equal_stacks_share_an_id_and_are_told_once() -> None:
    walker = Walker([CHAINS.layout()])
    walk = walk_chains(walker, [(1, 2), (3,), (1, 2), (2, 1), (3,)])
    assert walk.samples.stack.tolist() == [0, 1, 0, 2, 1]
    assert stacks_of([walk]) == [(1, 2), (3,), (2, 1)]
    again = walk_chains(walker, [(3,), (4,)])
    assert again.samples.stack.tolist() == [1, 3]
    assert stacks_of([again]) == [(4,)]
    assert walker.stack_count == 4


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_stacks_that_differ_only_by_trailing_zeros_are_different(
    chain: list[int], zeros: int
) -> None:
    walk = walk_chains(Walker([CHAINS.layout()]), [tuple(chain), (*chain, *[0] * zeros)])
    assert walk.samples.stack.tolist() == [0, 1]


def test_forgetting_stacks_counts_from_zero_and_tells_them_anew() -> None:
    walker = Walker([CHAINS.layout()])
    walk_chains(walker, [(1,), (2,)])
    walker.forget_stacks()
    assert walker.stack_count == 0
    walk = walk_chains(walker, [(2,), (1,), (2,)])
    assert walk.samples.stack.tolist() == [0, 1, 0]
    assert stacks_of([walk]) == [(2,), (1,)]


def test_a_dictionary_that_grows_keeps_its_ids() -> None:
    walker = Walker([CHAINS.layout()])
    many = 3 << STACK_SLOTS_LOG2 - 1
    chains = [(KERNEL, i, i * i) for i in range(many)]
    first = walk_chains(walker, chains)
    assert first.samples.stack.tolist() == list(range(many))
    assert stacks_of([first]) == chains
    second = walk_chains(walker, chains[::-1])
    assert second.samples.stack.tolist() == list(range(many))[::-1]
    assert len(second.words) == 0


@given(st.lists(SAMPLES, min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=50)
def test_two_buffers_are_walked_like_one(samples: list[Sample], data: st.DataObject) -> None:
    shape = Shape(int(RECORDER_BITS))
    records = [enc.sample(shape, s) for s in samples]
    split = data.draw(st.integers(0, len(records)))
    walker = Walker([shape.layout()])
    walks = [walker.walk(enc.as_array(*part)) for part in (records[:split], records[split:])]
    check_samples([shape] * len(samples), walks, samples)
    whole = Walker([shape.layout()]).walk(enc.as_array(*records))
    assert stacks_of(walks) == stacks_of([whole])
    stacks = np.concatenate([walk.samples.stack for walk in walks])
    assert stacks.tolist() == whole.samples.stack.tolist()


# --- hostile buffers ---------------------------------------------------------------------------

FULL = Shape(ALL_BITS & ~Bit.WEIGHT_STRUCT, 31, 1 << 17, 0xFF, 0xF)
MIXED = [
    enc.sample(FULL, Sample(1, 2, 3, 4, 5, 6, 7, 2, (KERNEL, 8, USER, 9), b"raw!", 2, cgroup=3)),
    enc.comm(FULL, 1, 2, b"a name", Who(time=1)),
    enc.mmap2(FULL, Mapped(path=b"/usr/lib/libc.so.6", build_id=b"\7" * 20), Who(time=2)),
    enc.sample(FULL, Sample(chain=(), has_registers=False, user_stack=b"stack")),
    enc.lost(FULL, 1, Who(cpu=1)),
    enc.ksymbol(FULL, 1, 2, b"bpf_prog_1", Who()),
]


def check_walk(walk: Walked, buffer: U8) -> None:
    """What must hold of any walk, whatever the bytes were."""
    assert 0 <= walk.consumed <= len(buffer)
    assert int(walk.word_count.astype(np.int64).sum()) == len(walk.words)
    ends = walk.records.offset + walk.records.size
    assert (ends <= walk.consumed).all()


@pytest.mark.parametrize("followed_by", [b"\0", b"\xff", b"\x09"])
def test_a_cut_at_any_byte_costs_only_the_record_it_hits(followed_by: bytes) -> None:
    whole = b"".join(MIXED)
    ends = np.cumsum([0, *(len(record) for record in MIXED)])
    for cut in range(len(whole) + 1):
        # What lies behind the cut must not be looked at.
        memory = np.frombuffer(whole[:cut] + followed_by * 64, np.uint8)
        walk = Walker([FULL.layout()]).walk(memory[:cut])
        check_walk(walk, memory[:cut])
        intact = int(np.searchsorted(ends, cut, "right")) - 1
        assert walk.consumed == ends[intact]
        assert len(walk.samples) + len(walk.records) == intact
        assert walk.bad == 0


@pytest.mark.parametrize("shrink", [1, 7, 8, 16, 40])
def test_a_sample_that_is_too_short_for_its_fields_is_counted_and_the_next_is_read(
    shrink: int,
) -> None:
    shape = Shape(int(RECORDER_BITS | Bit.STACK_USER | Bit.RAW))
    good = enc.sample(shape, Sample(ip=5, chain=(KERNEL, 5), raw=b"abcd", user_stack=b"x" * 8))
    short = bytearray(good[:-shrink])
    short[6:8] = struct.pack("<H", len(short))
    walk = Walker([shape.layout()]).walk(enc.as_array(bytes(short), good))
    assert (walk.bad, len(walk.samples), walk.samples.ip.tolist()) == (1, 1, [5])
    assert walk.consumed == len(short) + len(good)


@pytest.mark.parametrize("depth", [2, 1 << 16, 1 << 61, (1 << 61) + 1, 1 << 63, (1 << 64) - 1])
def test_a_chain_longer_than_its_record_is_refused(depth: int) -> None:
    walk = Walker([CHAINS.layout()]).walk(enc.as_array(enc.record(9, 1, enc.words(depth, 1))))
    assert (walk.bad, len(walk.samples), len(walk.words)) == (1, 0, 0)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_record_shorter_than_its_header_ends_the_walk(size: int) -> None:
    good = enc.comm(FULL, 1, 1, b"sh")
    broken = struct.pack("<IHH", 3, 0, size) + bytes(32)
    walk = Walker([FULL.layout()]).walk(enc.as_array(good, broken, good))
    assert walk.consumed == len(good)
    assert len(walk.records) == 1


@given(SHAPES, st.binary(max_size=400))
@settings(deadline=None, max_examples=80)
def test_random_bytes_never_harm(shape: Shape, data: bytes) -> None:
    buffer = np.frombuffer(data, np.uint8)
    check_walk(Walker([shape.layout()]).walk(buffer), buffer)


@given(SHAPES, st.lists(SAMPLES, min_size=1, max_size=4), st.data())
@settings(deadline=None, max_examples=80)
def test_flipped_bits_never_harm(shape: Shape, samples: list[Sample], data: st.DataObject) -> None:
    buffer = enc.as_array(*(enc.sample(shape, s) for s in samples), *MIXED).copy()
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(buffer) * 8 - 1))
        buffer[at // 8] ^= 1 << at % 8
    walk = Walker([shape.layout()]).walk(buffer)
    check_walk(walk, buffer)


# --- the ring ----------------------------------------------------------------------------------


class FakeRing:
    """The memory of a ring, as the kernel would map it, with us writing."""

    def __init__(self, data_bytes: int, position: int) -> None:
        self.control: U64 = np.zeros(512, np.uint64)
        self.data: U8 = np.zeros(data_bytes, np.uint8)
        self.control[128:130] = position  # data_head, data_tail

    def write(self, data: bytes) -> None:
        head = int(self.control[128])
        for index, byte in enumerate(data):
            self.data[(head + index) % len(self.data)] = byte
        self.control[128] = head + len(data)

    def pending(self) -> int:
        return ring_pending(self.control.ctypes.data)

    def read(self, room: int) -> bytes:
        out = np.zeros(room, np.uint8)
        size = ring_read(self.control.ctypes.data, self.data.ctypes.data, len(self.data), out)
        return out[:size].tobytes()


@given(st.integers(0, 1 << 40), st.lists(st.binary(max_size=64), max_size=6))
@settings(deadline=None, max_examples=50)
def test_a_ring_gives_what_was_written_wherever_it_wraps(position: int, parts: list[bytes]) -> None:
    ring = FakeRing(64, position)
    for part in parts:
        ring.write(part)
        assert ring.pending() == len(part)
        assert ring.read(64) == part
        assert ring.pending() == 0


def test_nothing_is_taken_from_a_ring_that_does_not_fit() -> None:
    ring = FakeRing(64, 60)
    ring.write(b"0123456789")
    assert ring.read(9) == b""
    assert ring.pending() == 10
    assert ring.read(10) == b"0123456789"
