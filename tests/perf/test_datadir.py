from __future__ import annotations

import io
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exhume.perf.datafile as datafile
from exhume.perf.datachunk import Chunk, decode
from exhume.perf.datadir import parts_of, side_by_side
from exhume.perf.dataorder import in_order
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import Sample, Who


def part(seed: int, core: int) -> list[bytes]:
    """What one thread writes: in order, and now and then nothing for long."""
    rng, time, out = random.Random(seed + core), 0, []
    for _ in range(rng.randrange(120)):
        time += rng.choice([1, 5, 5, 5, 900])
        if rng.random() < 0.1:
            out.append(enc.comm(SHAPE, core, core, b"x", Who(time=time, cpu=core)))
        out.append(enc.sample(SHAPE, Sample(time=time, cpu=core, tid=core)))
    return out


@given(st.integers(0, 1 << 20), st.integers(1, 4), st.sampled_from([300, 2000]))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_files_of_threads_come_together_in_order_of_time(
    monkeypatch: pytest.MonkeyPatch, seed: int, cores: int, chunk_bytes: int
) -> None:
    monkeypatch.setattr(datafile, "_LEAST_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(datafile, "CHUNK_BYTES", 0)
    data = datafile.PerfData(lambda: io.BytesIO(Capture().file()), "data")
    parts = [part(seed, core) for core in range(cores)]

    def chunks(records: list[bytes]) -> Iterator[Chunk]:
        opener = partial(io.BytesIO, b"".join(records))
        return (decode(walked, True) for walked in data.part_walks(opener, cores))

    newest, samples, comms = 0, 0, 0
    for epoch in in_order(side_by_side([chunks(records) for records in parts])):
        times = [*epoch.samples.time.tolist(), *epoch.comms.time.tolist()]
        assert min(times, default=newest + 1) > newest
        newest = max([newest, *times])
        samples, comms = samples + len(epoch.samples), comms + len(epoch.comms.time)
    records = [one for records in parts for one in records]
    assert samples == sum(one[0] == 9 for one in records)
    assert comms == sum(one[0] == 3 for one in records)


def test_the_parts_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("data", "data.10", "data.2", "data.0", "data.old", "data.1x"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "data.3").mkdir()
    assert [path.name for path in parts_of(tmp_path / "data")] == ["data.0", "data.2", "data.10"]
