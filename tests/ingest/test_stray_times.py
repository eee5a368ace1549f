from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from exhume.ingest.stray_times import stray
from tests.ingest import made
from tests.ingest.made import NS
from tests.ingest.test_assemble_perf import piece_of as piece_of_data
from tests.ingest.test_assemble_perf import rows_of
from tests.ingest.test_assemble_script import piece_of as piece_of_text
from tests.perf import datafile_encoder as encoder
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture, Event
from tests.perf.records_encoder import USER, Bit, Sample, Shape

DAY_NS = 86_400 * NS


@given(st.lists(st.integers(0, 5 * DAY_NS), max_size=60).map(sorted), st.integers(1, 4))
def test_no_gap_is_a_damage(times: list[int], writers: int) -> None:
    at = np.array(times, np.int64)
    assert not stray(at).any()
    # Each writes some at a time, and nothing for as long as it likes.
    order = np.argsort(np.arange(len(at)) % writers, kind="stable")
    assert not stray(at[order], (order % writers).astype(np.int64)).any()


@given(st.integers(1, 98), st.integers(700 * NS, 9 * DAY_NS), st.booleans())
def test_one_that_is_far_from_both_its_neighbours_is(
    row: int, off_ns: int, is_before: bool
) -> None:
    at = 10 * DAY_NS + np.arange(100) * NS // 100
    at[row] += -off_ns if is_before else off_ns
    assert np.flatnonzero(stray(at)).tolist() == [row]
    cores = np.repeat([3, 1], 50)
    expected = [row] if row not in (0, 49, 50, 99) else []
    assert np.flatnonzero(stray(at, cores)).tolist() == expected


def test_several_captures_in_a_file_are_no_damage() -> None:
    parts = [start * 3600 * NS + np.arange(50) * NS for start in (9, 2, 5, 1)]
    assert not stray(np.concatenate(parts)).any()


def test_a_digit_that_a_text_lost_does_not_stretch_it(tmp_path: Path) -> None:
    text = made.script(10.0, start_ns=81_234 * NS)
    piece = piece_of_text(tmp_path, text.replace(" 81236.500000:", " 8136.500000:", 1))
    assert (piece.facts.samples, len(rows_of(piece))) == (2000, 999)
    (said,) = piece.facts.problems
    assert said.startswith("1 samples have times far from those before and after them, the first ")
    assert "8136.500000 s after one at 81236.490000 s" in said
    assert piece.sampled is not None
    (interval,) = piece.sampled.intervals
    assert interval.end_ns - interval.start_ns <= 10 * NS


@pytest.mark.parametrize("overwritten", [False, True])
def test_nor_does_a_damaged_perf_data(tmp_path: Path, overwritten: bool) -> None:
    times = [50_000 * NS + i * NS // 100 for i in range(1000)]
    times[500] ^= 1 << 44
    records = [
        enc.sample(SHAPE, Sample(ip=1, pid=7, tid=7, time=time, cpu=i % 2, chain=(USER, 1)))
        for i, time in enumerate(times)
    ]
    flags = encoder.FLAG_FREQ | encoder.FLAG_SAMPLE_ID_ALL | (1 << 27 if overwritten else 0)
    piece = piece_of_data(tmp_path, Capture(records, [Event(flags=flags)]).file())
    assert piece.facts.samples == 1000
    # What a buffer holds last may be as old as it likes.
    assert len(rows_of(piece)) == (1000 if overwritten else 999)
    assert len([one for one in piece.facts.problems if "far from" in one]) == (not overwritten)


def test_samples_of_another_event_that_have_no_times_make_nobodys_time_stray(
    tmp_path: Path,
) -> None:
    """`perf record -e cpu-clock -e page-faults/time=0/`."""
    timed = Shape(encoder.BITS | Bit.IDENTIFIER)
    timeless = Shape(timed.sample_type & ~Bit.TIME)
    flags = encoder.FLAG_FREQ | encoder.FLAG_SAMPLE_ID_ALL
    events = [Event(timed, flags=flags, ids=(1,)), Event(timeless, config=2, flags=flags, ids=(2,))]
    records = []
    for i in range(100):
        at = Sample(id=1, ip=1, pid=7, tid=7, time=DAY_NS + i * NS // 100, chain=(USER, 1))
        records += [enc.sample(timed, at), enc.sample(timeless, replace(at, id=2))]
    piece = piece_of_data(tmp_path, Capture(records, events).file())
    assert piece.facts.other_events == {"page-faults": 100}
    assert (len(rows_of(piece)), piece.facts.problems) == (100, ())
