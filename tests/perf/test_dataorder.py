from __future__ import annotations

import io
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume.perf.datafile as datafile
import exhume.perf.dataorder as dataorder
from exhume.perf.datachunk import decode
from exhume.perf.datafile import PerfData
from exhume.perf.dataorder import Epoch, in_order
from tests.perf import datafile_encoder as made
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import KERNEL, Sample, Who


def epochs(records: list[bytes], chunk_bytes: int) -> list[Epoch]:
    before, datafile.CHUNK_BYTES = datafile.CHUNK_BYTES, chunk_bytes
    try:
        data = PerfData(lambda: io.BytesIO(Capture(records).file()), "perf.data")
        return list(in_order(decode(walked, True) for walked in data.walks()))
    finally:
        datafile.CHUNK_BYTES = before


def stack_of(time: int) -> tuple[int, ...]:
    return (KERNEL, 0xFFFF_FFFF_0000_0000 + time % 7)


def rounds(seed: int, cores: int, count: int) -> list[bytes]:
    """As perf writes: in each round every core's buffer one after the other, cut at any time.

    A core read late in a round holds records younger than those of the cores before it.
    """
    rng = random.Random(seed)
    out: list[bytes] = []
    read_up_to = [0] * cores
    now = 0
    for _ in range(count):
        for core in range(cores):
            now += rng.randrange(1, 50)
            for time in range(read_up_to[core] + 1, now, 5):
                sample = Sample(time=time, cpu=core, tid=core, chain=stack_of(time))
                out.append(enc.sample(SHAPE, sample))
                if time % 3 == 0:
                    out.append(enc.comm(SHAPE, core, core, b"x", Who(time=time, cpu=core)))
            read_up_to[core] = now
        out.append(made.FINISHED_ROUND)
    return out


@given(st.integers(0, 1 << 20), st.integers(1, 5), st.integers(1, 30), st.sampled_from([500, 4000]))
@settings(max_examples=25, deadline=None)
def test_an_epoch_has_nothing_older_than_the_one_before(
    seed: int, cores: int, count: int, chunk_bytes: int
) -> None:
    records = rounds(seed, cores, count)
    found = epochs(records, chunk_bytes)
    newest = 0
    for epoch in found:
        for table in (epoch.samples, epoch.comms):
            times = table.time.astype("i8")
            assert int(times.min(initial=1 << 60)) > newest or not len(times)
        both = [*epoch.samples.time.tolist(), *epoch.comms.time.tolist()]
        newest = max([newest, *both])
    assert sum(len(epoch.samples) for epoch in found) == sum(r[0] == 9 for r in records)
    assert sum(len(epoch.comms.time) for epoch in found) == sum(r[0] == 3 for r in records)


def test_each_sample_keeps_its_stack_across_chunks() -> None:
    for epoch in epochs(rounds(1, 3, 40), 700):
        for time, stack in zip(epoch.samples.time.tolist(), epoch.stack.tolist(), strict=True):
            begin = int(epoch.word_start[stack])
            words = np.concatenate(epoch.words)[begin : begin + int(epoch.word_count[stack])]
            assert tuple(words.tolist()) == stack_of(time)


def test_large_stacks_are_not_held_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataorder, "MAX_HELD_WORDS", 1000)
    records = [enc.sample(SHAPE, Sample(time=i, chain=(KERNEL, *[i] * 50))) for i in range(1, 400)]
    found = epochs(records, 4096)
    assert len(found) > 5
    assert max(sum(map(len, epoch.words)) for epoch in found) < 4000


@pytest.mark.parametrize("time", [0, 5])
def test_without_marks_or_times_memory_stays_bounded(
    time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataorder, "MAX_HELD_SAMPLES", 100)
    records = [enc.sample(SHAPE, Sample(time=time * i)) for i in range(2000)]
    found = epochs(records, 4096)
    assert len(found) > 5
    assert max(len(epoch.samples) for epoch in found) < 400
    assert sum(len(epoch.samples) for epoch in found) == 2000
