"""Stacks that come after their samples (`perf record --call-graph fp,defer`)."""

from __future__ import annotations

import io
import random
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.ingest.deferred_stacks import DeferredStacks, Joined
from exhume.perf import datafile
from exhume.perf.datachunk import Chunk, decode
from exhume.perf.datafile import PerfData
from exhume.perf.dataorder import in_order
from tests.ingest import made
from tests.ingest.test_assemble_perf import named, piece_of
from tests.perf import datafile_encoder as encoder
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture, Event
from tests.perf.records_encoder import KERNEL, USER, Sample, Who

DEFERRED = (1 << 64) - 640
FLAG_DEFER_CALLCHAIN = 1 << 38
EVENT = Event(flags=Event().flags | FLAG_DEFER_CALLCHAIN)
HERE = 0x40_0000


def chain_of(cookie: int, tid: int, time: int, *addresses: int) -> bytes:
    body = enc.words(cookie, 1 + len(addresses), USER, *addresses)
    return enc.record(22, 2, body + enc.trailer(SHAPE, Who(tid, tid, time)))


def sampled(time: int, tid: int, *chain: int) -> bytes:
    misc = enc.MISC_KERNEL if chain[0] == KERNEL else enc.MISC_USER
    return enc.sample(SHAPE, Sample(ip=HERE, pid=tid, tid=tid, time=time, chain=chain, misc=misc))


class Read:
    """The stack of each sample by thread and time, and how it went."""

    def __init__(self, records: list[bytes]) -> None:
        self._deferred = DeferredStacks()
        self.stacks: dict[tuple[int, int], tuple[int, ...]] = {}
        content = Capture(records, [EVENT]).file()
        data = PerfData(lambda: io.BytesIO(content), "perf.data")
        for before in in_order(self._noted(decode(walked, True)) for walked in data.walks()):
            epoch = self._deferred.joined(before)
            words = np.concatenate([np.empty(0, np.uint64), *epoch.words]).tolist()
            rows = (epoch.samples.tid.tolist(), epoch.samples.time.tolist(), epoch.stack.tolist())
            for tid, time, stack in zip(*rows, strict=True):
                start = int(epoch.word_start[stack])
                self.stacks[tid, time] = tuple(words[start : start + epoch.word_count[stack]])
            self._deferred.forget(epoch)
        self.done, self.held = self._deferred.done, self._deferred._held

    def _noted(self, chunk: Chunk) -> Chunk:
        self._deferred.note(chunk.deferred)
        return chunk


def test_all_samples_until_the_return_have_the_chain_that_was_taken_then() -> None:
    read = Read(
        [
            sampled(1, 7, KERNEL, 1 << 63, DEFERRED, 11),
            sampled(2, 7, KERNEL, 1 << 63 | 1, DEFERRED, 11),
            chain_of(11, 7, 3, HERE, HERE + 1),
            sampled(4, 7, DEFERRED, 12),
            chain_of(12, 7, 5, HERE + 2),
        ]
    )
    assert read.stacks == {
        (7, 1): (KERNEL, 1 << 63, USER, HERE, HERE + 1),
        (7, 2): (KERNEL, 1 << 63 | 1, USER, HERE, HERE + 1),
        (7, 4): (USER, HERE + 2),
    }
    assert read.done == Joined(3, 3)
    assert not read.done.note()


def test_the_chain_of_another_thread_or_time_is_none_of_its() -> None:
    read = Read(
        [
            sampled(1, 7, KERNEL, 1 << 63, DEFERRED, 11),
            sampled(1, 8, DEFERRED, 11),
            chain_of(11, 9, 3, HERE + 1),
            chain_of(12, 7, 3, HERE + 2),
        ]
    )
    assert read.stacks == {(7, 1): (KERNEL, 1 << 63), (8, 1): (USER, HERE)}
    assert read.done == Joined(2, 0)
    assert read.done.note().startswith("of 100 % of the stacks the program's part never came")


def test_a_length_that_is_not_there_is_not_believed() -> None:
    body = enc.words(11, 1 << 40, USER, HERE + 1) + enc.trailer(SHAPE, Who(7, 7, 3))
    read = Read([sampled(1, 7, DEFERRED, 11), enc.record(22, 2, body)])
    assert read.stacks[7, 1][:2] == (USER, HERE + 1)


@given(st.integers(0, 1 << 30), st.sampled_from([2000, 20_000]))
@settings(max_examples=30, deadline=None)
def test_whatever_came_is_found_and_nothing_is_held_for_ever(seed: int, chunk_bytes: int) -> None:
    rng = random.Random(seed)
    records: list[bytes] = []
    expected: dict[tuple[int, int], tuple[int, ...]] = {}
    time = 0
    for cookie in range(300):
        tid, chain = rng.randrange(1, 5), tuple(rng.randrange(1, 99) for _ in range(3))
        comes = rng.random() < 0.9
        for _ in range(rng.randrange(1, 4)):
            time += rng.randrange(1, 9)
            kernel = (KERNEL, 1 << 63 | rng.randrange(9)) if rng.random() < 0.7 else ()
            records.append(sampled(time, tid, *kernel, DEFERRED, cookie))
            rest = (USER, *chain) if comes else () if kernel else (USER, HERE)
            expected[tid, time] = (*kernel, *rest)
        if comes:
            time += 1
            records.append(chain_of(cookie, tid, time, *chain))
        if rng.random() < 0.2:
            records.append(encoder.FINISHED_ROUND)
    before, datafile.CHUNK_BYTES = datafile.CHUNK_BYTES, chunk_bytes
    try:
        read = Read(records)
    finally:
        datafile.CHUNK_BYTES = before
    # A round ends wherever it wants to: between a sample and its chain, too, but not two of them.
    assert read.stacks == expected
    assert sum(len(one.time) for one in read.held) <= 1


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_no_damage_makes_it_fail(data: st.DataObject) -> None:
    records = [sampled(1, 7, KERNEL, 1 << 63, DEFERRED, 11), chain_of(11, 7, 3, HERE, HERE + 1)]
    whole = bytearray(b"".join([*records, encoder.FINISHED_ROUND] * 6))
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.sampled_from([0, 1, 9, 22, 127, 128, 255]))
    with TemporaryDirectory() as folder, suppress(ParseError):
        assert piece_of(Path(folder), Capture([bytes(whole)], [EVENT]).file()).facts.samples <= 24


def test_an_import_names_them(tmp_path: Path) -> None:
    records = [
        *made.capture(0.01).records,
        sampled(5, 7, KERNEL, made.WALK, DEFERRED, 11),
        chain_of(11, 7, 6, HERE),
        sampled(8, 7, KERNEL, made.WALK, DEFERRED, 12),
    ]
    piece = piece_of(tmp_path, Capture(records, [EVENT]).file())
    assert [stack for stack in named(piece) if stack[0] == ":7"] == [
        (":7", "[unknown]", "memcg_numa_stat_show"), (":7", "memcg_numa_stat_show"),
    ]  # fmt: skip
    assert any("never came" in note for note in piece.facts.notes)


@pytest.mark.parametrize("chain", [(KERNEL, made.WALK), ()])
def test_where_nobody_said_that_they_come_the_number_is_no_frame(
    chain: tuple[int, ...], tmp_path: Path
) -> None:
    records = [*made.capture(0.01).records, sampled(5, 7, *chain, DEFERRED, 11)]
    (stack,) = [one for one in named(piece_of(tmp_path, Capture(records).file())) if one[0] == ":7"]
    assert stack == (":7", "memcg_numa_stat_show" if chain else "[unknown]")
