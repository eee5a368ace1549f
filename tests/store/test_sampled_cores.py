"""Core times of what was recorded without any, against the samples they are counted from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exhume.model.answers import MAP_MODES
from exhume.model.core import NO_CORE
from exhume.model.sample import Stretch
from exhume.model.segment import SegmentData
from exhume.store import layout, meta, queries
from exhume.store.memory import MemorySegment
from exhume.store.recording import Recording
from exhume.store.rollups import CoreSeconds
from exhume.store.sampled_cores import SampledRollUp, sampled_cores
from exhume.store.segment import Segment
from exhume.store.writer import write_segment
from tests.store.make import SECOND, START, at, by_hand, jiffies, segments
from tests.store.test_rollups import cut

STACKS = (("app", "main"), ("app", "k_read"))
USER, SYSTEM = MAP_MODES.index("user"), MAP_MODES.index("system")


def every(core: int, start: float, count: int, stack: int) -> list[tuple[int, float, int, int]]:
    return [(core, start + n / 100 + 0.005, 0, stack) for n in range(count)]


def node() -> SegmentData:
    """Core 1 idles, then is in the kernel for two seconds; core 7 is a quarter in user mode."""
    some = every(1, 4, 200, 1) + [one for s in range(10) for one in every(7, s, 25, 0)]
    return by_hand(some, stacks=STACKS)


def seconds_of(data: SegmentData) -> CoreSeconds:
    found = MemorySegment(data).sampled_seconds()
    assert found is not None
    return found


def test_a_second_full_of_samples_is_a_full_second() -> None:
    found = seconds_of(node())
    assert found.cores == (1, 7)
    assert found.permille[SYSTEM, 0].tolist() == [0] * 4 + [1000] * 2 + [0] * 4
    assert found.permille[USER].tolist() == [[0] * 10, [250] * 10]
    assert ((found.end_ns - found.start_ns) == SECOND).all()


def test_seconds_begin_anew_where_the_rate_changes_and_the_last_takes_what_is_left() -> None:
    stretches = (
        Stretch(START, "cpu-clock", 100.0),
        Stretch(START + 2_300_000_000, "none", 0.0),
        Stretch(START + 5 * SECOND, "cpu-clock", 50.0),
        Stretch(START + 8 * SECOND, "cpu-clock", 1.0),
    )
    samples = every(0, 1, 130, 0) + every(0, 5, 100, 0)[::2] + every(0, 8, 100, 0)
    found = seconds_of(by_hand(samples, stacks=STACKS, stretches=stretches))
    start, end = ((times - START) / SECOND for times in (found.start_ns, found.end_ns))
    assert start.tolist() == [0.0, 1.0, 5.0, 6.0, 7.0]  # at 1 Hz samples say nothing of a second
    assert end.tolist() == [1.0, 2.3, 6.0, 7.0, 8.0]
    assert found.permille[USER, 0].tolist() == [0, 1000, 1000, 0, 0]


def test_more_samples_than_fit_fill_the_core_and_no_more() -> None:
    samples = [(0, n / 150, 0, int(n % 3 == 0)) for n in range(150)]
    found = seconds_of(by_hand(samples, stacks=STACKS, seconds=1.0))
    assert found.permille[:, 0, 0].sum() == 1000
    assert found.permille[SYSTEM, 0, 0] == 333


def test_samples_without_a_core_are_of_none() -> None:
    found = MemorySegment(by_hand(every(NO_CORE, 1, 50, 0), stacks=STACKS))
    assert found.sampled_seconds() is None


def test_events_that_are_no_time_fill_no_core(tmp_path: Path) -> None:
    stretches = (Stretch(START, "page-faults", 100.0),)
    data = by_hand(every(0, 1, 300, 0), stacks=STACKS, stretches=stretches)
    assert MemorySegment(data).sampled_seconds() is None
    write_segment(tmp_path, data)
    recording = Recording.open(tmp_path)
    for ask in (queries.core_map, queries.sample_map):
        assert np.isnan(ask(recording, at(0, 10), 40).worst_percent_of_core).all()
    (said,) = queries.top(recording, at(0, 10)).notes
    assert said.startswith("page-faults is no measure of time on a core")


def test_the_kernels_own_times_are_preferred() -> None:
    data = by_hand(every(0, 1, 50, 0), stacks=STACKS, blocks=jiffies(10, {0: {"idle": 100}}))
    assert MemorySegment(data).sampled_seconds() is None
    assert MemorySegment(data).core_seconds() is not None


@given(segments(), st.lists(st.integers(0, 40), max_size=3))
@settings(max_examples=50, deadline=None)
def test_pieces_add_up_to_the_whole(data: SegmentData, borders: list[int]) -> None:
    def counted(*borders: int) -> str:
        roll_up = SampledRollUp(data.start_ns, data.end_ns, data.stretches, data.tree)
        for part in cut(data.samples, *borders):
            roll_up.add(part)
        return repr(roll_up.result())

    assert counted() == counted(*borders)


@pytest.mark.parametrize("roll_up", ["whole", "damaged", "never written"])
def test_a_segment_gives_what_the_head_gave(tmp_path: Path, roll_up: str) -> None:
    path = write_segment(tmp_path, node())
    if roll_up == "damaged":
        (path / layout.CORES).write_bytes(b"PAR1")
    elif roll_up == "never written":  # by an older exhume
        known = meta.read(path)
        files = {name: facts for name, facts in known.files.items() if name != layout.CORES}
        (path / layout.META).write_bytes(meta.encode(replace(known, files=files)))
    segment, expected = Segment(path), seconds_of(node())
    found = segment.sampled_seconds()
    assert found is not None
    assert found.cores == expected.cores
    assert np.array_equal(found.permille, expected.permille)
    assert np.array_equal(found.start_ns, expected.start_ns)
    assert segment.core_seconds() is None


def test_who_was_watched_idled_and_of_others_nothing_is_known(tmp_path: Path) -> None:
    stretches = (
        Stretch(START, "cpu-clock", 100.0, (0, 3)),
        Stretch(START + 5 * SECOND, "cpu-clock", 100.0, (1,)),
        Stretch(START + 8 * SECOND, "cpu-clock", 100.0),
    )
    samples = every(0, 1, 100, 0) + every(0, 6, 100, 0)
    data = by_hand(samples, stacks=STACKS, stretches=stretches)
    path = write_segment(tmp_path, data)
    assert Segment(path).stretches == stretches
    for view in (MemorySegment(data), Segment(path)):
        assert sampled_cores(view) == (0, 1, 3)
        found = view.sampled_seconds()
        assert found is not None
        assert found.cores == (0, 1, 3)
        assert found.permille[USER].tolist() == [
            [0, 1000, 0, 0, 0, -1, 1000, -1, 0, 0],
            [-1] * 5 + [0] * 5,
            [0] * 5 + [-1] * 3 + [0] * 2,
        ]


def test_stretches_shorter_than_a_step_of_the_table_do_not_spoil_it(tmp_path: Path) -> None:
    stretches = tuple(Stretch(START + at, "cpu-clock", 100.0) for at in (0, 400_000, 800_000))
    samples = every(0, 0, 300, 0) + every(1, 0, 300, 0)
    path = write_segment(tmp_path, by_hand(samples, stacks=STACKS, stretches=stretches))
    segment = Segment(path)
    found = segment.sampled_seconds()
    assert found is not None
    assert found.cores == (0, 1)
    assert found.permille[USER, :, :3].tolist() == [[1000] * 3] * 2
    assert segment.problems == {}


def test_the_map_draws_them_at_any_width_and_says_so(tmp_path: Path) -> None:
    write_segment(tmp_path, node())
    recording = Recording.open(tmp_path)
    for ask in (queries.core_map, queries.sample_map):
        found = ask(recording, at(0, 10), 10)
        assert found.by_samples
        assert found.cores == (1, 7)
        worst = found.worst_percent_of_core
        assert worst[0].tolist() == pytest.approx([0] * 4 + [100] * 2 + [0] * 4, abs=1)
        assert found.worst_mode[0, 4] == SYSTEM
        assert worst[1].tolist() == pytest.approx([25] * 10, abs=1)
    wide = queries.core_map(recording, at(0, 16), 2)  # whole columns of the coarse intervals
    assert wide.by_samples
    assert wide.worst_percent_of_core[0].max() == pytest.approx(100)


def test_a_map_of_samples_without_a_core_is_empty_and_breaks_nothing(tmp_path: Path) -> None:
    write_segment(tmp_path, by_hand(every(NO_CORE, 1, 50, 0), stacks=STACKS))
    found = queries.sample_map(Recording.open(tmp_path), at(0, 10), 40)
    assert found.cores == ()
    assert not found.by_samples
