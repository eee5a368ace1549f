"""Calls that the processor kept (`perf record --call-graph lbr`), against a model and perf."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.perf.native import Walker
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import BITS, Capture, Event
from tests.perf.recorded import PERF
from tests.perf.records_encoder import KERNEL, USER, Bit, Sample, Shape

BRANCHES = enc.BRANCH_CALL_STACK | 1
"""The program's calls, as perf asks for them."""
SHAPE = Shape(BITS | int(Bit.BRANCH_STACK), branch_type=BRANCHES)
PLACES = st.integers(0x40_0000, 0x40_FFFF)
CALLS = st.lists(st.tuples(PLACES, PLACES), max_size=40).map(tuple)


def stack_of(shape: Shape, sample: Sample) -> tuple[int, ...]:
    walked = Walker([shape.layout()]).walk(enc.as_array(enc.sample(shape, sample)))
    assert (walked.bad, len(walked.samples), len(walked.word_count)) == (0, 1, 1)
    return tuple(walked.words.tolist())


@given(
    kernel=st.lists(st.integers(1 << 63, (1 << 63) + 99), max_size=5),
    here=PLACES,
    by_frame_pointers=st.lists(PLACES, max_size=5),
    calls=CALLS,
    more=st.sampled_from([0, enc.BRANCH_HW_INDEX, enc.BRANCH_COUNTERS]),
)
@settings(deadline=None)
def test_they_stand_for_the_chain_of_the_program(
    kernel: list[int],
    here: int,
    by_frame_pointers: list[int],
    calls: tuple[tuple[int, int], ...],
    more: int,
) -> None:
    shape = Shape(SHAPE.sample_type, branch_type=BRANCHES | more)
    inside = (KERNEL, *kernel) if kernel else ()
    sample = Sample(chain=(*inside, USER, here, *by_frame_pointers), calls=calls)
    callers = [at + 1 for at, _ in calls] if calls else by_frame_pointers
    assert stack_of(shape, sample) == (*inside, USER, here, *callers)


def test_without_an_address_of_the_program_the_innermost_function_is_the_one_called_last() -> None:
    sample = Sample(chain=(KERNEL, 1 << 63, USER), calls=((0x40_0010, 0x40_0100), (0x40_0020, 0)))
    assert stack_of(SHAPE, sample) == (KERNEL, 1 << 63, USER, 0x40_0100, 0x40_0011, 0x40_0021)


def test_a_sample_of_the_kernel_alone_keeps_its_chain() -> None:
    sample = Sample(chain=(KERNEL, 1 << 63), calls=((0x40_0010, 0x40_0100),))
    assert stack_of(SHAPE, sample) == (KERNEL, 1 << 63)


def test_branches_that_are_no_calls_are_passed_over() -> None:
    shape = Shape(SHAPE.sample_type, branch_type=1)
    sample = Sample(chain=(USER, 0x40_0000, 0x40_0050), calls=((0x40_0010, 0x40_0100),))
    assert stack_of(shape, sample) == (USER, 0x40_0000, 0x40_0050)


def test_more_than_any_processor_keeps_are_cut() -> None:
    calls = tuple((0x40_0000 + number, 0) for number in range(1000))
    found = stack_of(SHAPE, Sample(chain=(USER, 0x41_0000), calls=calls))
    assert found[:3] == (USER, 0x41_0000, 0x40_0001)
    assert 32 < len(found) < 100


def test_they_come_apart_where_only_calls_differ() -> None:
    samples = [Sample(chain=(USER, 7), calls=((8 + number % 2, 7),)) for number in range(4)]
    records = enc.as_array(*(enc.sample(SHAPE, one) for one in samples))
    walked = Walker([SHAPE.layout()]).walk(records)
    assert walked.samples.stack.tolist() == [0, 1, 0, 1]


@pytest.mark.skipif(PERF is None, reason="perf is not installed")
def test_perf_reads_the_same_calls(tmp_path: Path) -> None:
    assert PERF is not None
    calls = ((0x40_0010, 0x40_0100), (0x40_0220, 0x40_0000), (0x40_0330, 0x40_0200))
    # perf begins with the function that was called last, we with where in it the program was.
    sample = Sample(
        ip=0x40_0100, pid=7, tid=7, time=5, misc=enc.MISC_USER, calls=calls,
        chain=(USER, 0x40_0100, 0x40_0999),
    )  # fmt: skip
    path = tmp_path / "perf.data"
    path.write_bytes(Capture([enc.sample(SHAPE, sample)], [Event(shape=SHAPE)]).file())
    told = subprocess.run(
        [PERF, "script", "-f", "-F", "ip", "-i", str(path)], capture_output=True, text=True,
        check=True, timeout=60,
    ).stdout  # fmt: skip
    mark, here, *callers = stack_of(SHAPE, sample)
    assert mark == USER
    assert [int(word, 16) for word in told.split()] == [here, *(at - 1 for at in callers)]
