"""Cut or flip any file of a recording anywhere: the rest answers, and the damage is reported."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.synthetic import moved
from exhume.model.answers import CoreMap, FlameTree, Top
from exhume.store import layout
from exhume.store.minutes import write_minutes
from exhume.store.queries import core_map, events, flame, late_samples, series, sub_second, top, who
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, at, busy_node

FILES = (
    layout.META,
    layout.SAMPLES,
    layout.STACKS,
    layout.FRAMES,
    layout.THREADS,
    layout.COUNTERS,
    layout.EVENTS,
    layout.CORES,
    layout.PROCESSES,
    layout.FRAMES_MINUTE,
)
WHOLE = at(0, 260)
FIRST, SECOND_HALF = at(0, 129), at(131, 128)


@pytest.fixture(scope="module")
def intact() -> Iterator[Path]:
    """Two segments, one after the other; the tests damage copies of the first."""
    with TemporaryDirectory() as name:
        root = Path(name)
        data = busy_node()
        write_segment(root, data)
        write_segment(root, moved(data, 130 * SECOND))
        yield root


class Answers:
    """Everything there is to ask, about both segments and about the second alone."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.flames: list[FlameTree] = [flame(recording, w) for w in (WHOLE, SECOND_HALF)]
        self.tops: list[Top] = [top(recording, w) for w in (FIRST, SECOND_HALF)]
        self.maps: list[CoreMap] = [core_map(recording, w, 13) for w in (FIRST, SECOND_HALF)]
        self.sub_seconds = [sub_second(recording, w) for w in (FIRST, SECOND_HALF)]
        self.events = [events(recording, w) for w in (FIRST, SECOND_HALF)]
        self.series = [series(recording, "cpu.user", w) for w in (FIRST, SECOND_HALF)]
        self.late = late_samples(recording, WHOLE)
        self.who = who(recording, 2, at(72).start_ns)


@pytest.fixture(scope="module")
def expected(intact: Path) -> Answers:
    answers = Answers(Recording.open(intact))
    assert answers.recording.problems(WHOLE) == ()
    return answers


def check(damaged: Path, file: str, expected: Answers) -> None:
    recording = Recording.open(damaged)
    found = Answers(recording)
    problems = recording.problems(WHOLE)
    assert len(problems) >= 1
    assert all(file in problem for problem in problems)
    assert [s.state for s in recording.spans()] == ["damaged", "segment"]
    check_untouched(found, expected)
    check_right_or_absent(found, expected)
    if file not in (layout.META, layout.EVENTS, layout.FRAMES_MINUTE, layout.PROCESSES):
        assert file in " ".join(found.tops[0].notes) or found.tops[0].samples


def check_untouched(found: Answers, expected: Answers) -> None:
    """The second segment answers as if nothing had happened."""
    assert found.flames[1].total_ns.tolist() == expected.flames[1].total_ns.tolist()
    assert found.tops[1].samples == expected.tops[1].samples
    assert [p.comm for p in found.tops[1].processes] == [p.comm for p in expected.tops[1].processes]
    assert repr(found.maps[1]) == repr(expected.maps[1])
    assert found.sub_seconds[1].counts.tolist() == expected.sub_seconds[1].counts.tolist()
    assert found.events[1] == expected.events[1]
    assert repr(found.series[1]) == repr(expected.series[1])


def check_right_or_absent(found: Answers, expected: Answers) -> None:
    """The damaged one answers rightly or not at all."""
    both = expected.flames[0].samples
    assert found.flames[0].samples in (both, both // 2)
    if found.tops[0].samples:
        assert found.tops[0].samples == expected.tops[0].samples
        assert [p.samples for p in found.tops[0].processes] == [
            p.samples for p in expected.tops[0].processes
        ]
    else:
        assert found.tops[0].seconds_recorded == 0
    ours, theirs = found.maps[0], expected.maps[0]
    if ours.cores and not np.isnan(ours.worst_percent_of_core).all():
        np.testing.assert_allclose(ours.worst_percent_of_core, theirs.worst_percent_of_core)
        np.testing.assert_allclose(
            ours.mean_percent_of_core, theirs.mean_percent_of_core, rtol=1e-3
        )
    assert found.sub_seconds[0].counts.sum() in (0, expected.sub_seconds[0].counts.sum())
    assert found.events[0] in ([], expected.events[0])
    assert repr(found.series[0]) in ("[]", repr(expected.series[0]))
    assert found.who in (None, expected.who)
    assert found.late in ([], expected.late)


def with_copy(intact: Path, file: str) -> tuple[TemporaryDirectory[str], Path, Path]:
    holder = TemporaryDirectory()
    root = Path(holder.name) / "copy"
    shutil.copytree(intact, root)
    return holder, root, sorted((root / "segments").iterdir())[0] / file


slow = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("file", FILES)
@slow
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed_and_costs_only_its_file(
    intact: Path, expected: Answers, file: str, place: float, bit: int
) -> None:
    holder, root, path = with_copy(intact, file)
    with holder:
        data = bytearray(path.read_bytes())
        data[int(place * len(data))] ^= 1 << bit
        path.write_bytes(data)
        check(root, file, expected)


@pytest.mark.parametrize("file", FILES)
@slow
@given(place=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_anywhere_is_noticed_and_costs_only_itself(
    intact: Path, expected: Answers, file: str, place: float
) -> None:
    holder, root, path = with_copy(intact, file)
    with holder:
        data = path.read_bytes()
        path.write_bytes(data[: int(place * len(data))])
        check(root, file, expected)


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file_is_noticed_and_costs_only_itself(
    intact: Path, expected: Answers, file: str
) -> None:
    holder, root, path = with_copy(intact, file)
    with holder:
        path.unlink()
        check(root, file, expected)


@pytest.mark.parametrize("file", [layout.CORES, layout.PROCESSES, layout.FRAMES_MINUTE])
def test_a_lost_roll_up_costs_nothing_because_it_is_made_anew(
    intact: Path, expected: Answers, file: str
) -> None:
    holder, root, path = with_copy(intact, file)
    with holder:
        path.write_bytes(b"PAR1")
        found = Answers(Recording.open(root))
        assert found.tops[0].samples == expected.tops[0].samples
        assert found.tops[0].core_times == found.tops[0].core_times
        np.testing.assert_allclose(
            found.maps[0].worst_percent_of_core, expected.maps[0].worst_percent_of_core
        )
        assert [p.baseline_percent_of_one_core for p in found.tops[1].processes] == [
            p.baseline_percent_of_one_core for p in expected.tops[1].processes
        ]
        assert [f.baseline_percent_of_one_core for f in found.tops[1].frames] == [
            f.baseline_percent_of_one_core for f in expected.tops[1].frames
        ]


def test_samples_lost_with_their_tree_still_leave_the_core_times(
    intact: Path, expected: Answers
) -> None:
    holder, root, path = with_copy(intact, layout.STACKS)
    with holder:
        path.unlink()
        answer = top(Recording.open(root), FIRST)
        assert answer.samples == 0
        assert answer.core_times == expected.tops[0].core_times
        assert any(layout.STACKS in note for note in answer.notes)


def test_verify_finds_damage_before_anyone_asks(intact: Path) -> None:
    holder, root, path = with_copy(intact, layout.EVENTS)
    with holder:
        path.write_bytes(path.read_bytes()[::-1])
        recording = Recording.open(root)
        assert recording.spans()[0].problem == ""
        assert layout.EVENTS in recording.spans(verify=True)[0].problem


def test_a_damaged_segment_answers_by_its_minutes(intact: Path, expected: Answers) -> None:
    holder, root, path = with_copy(intact, layout.META)
    with holder:
        write_minutes(root, busy_node())
        path.unlink()
        worst = core_map(Recording.open(root), at(0, 120), 2).worst_percent_of_core
        assert np.nanmax(worst[2]) == 100


@slow
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_damaged_minutes_are_noticed_too(intact: Path, place: float, bit: int) -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        data = busy_node()
        write_segment(root, data)
        write_minutes(root, data)
        shutil.rmtree(layout.segment_path(root, data))
        (path,) = (root / "minutes").rglob("*.cores.*.parquet")
        flipped = bytearray(path.read_bytes())
        flipped[int(place * len(flipped))] ^= 1 << bit
        path.write_bytes(flipped)
        recording = Recording(root, None, 1 << 20)
        assert core_map(recording, at(0, 130), 13).cores == ()
        assert path.name in recording.problems(at(0, 130))[0]
