from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.answers import Filter
from exhume.model.core import NO_CORE
from exhume.model.segment import SegmentData
from exhume.store import queries
from exhume.store.queries.profile_totals import profile_totals
from exhume.store.queries.sample_stream import SampleStream
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import SECOND, at, by_hand, segments


def recording(root: Path, *parts: SegmentData) -> Recording:
    for part in parts:
        write_segment(root, part)
    return Recording.open(root)


@given(data=segments(), step=st.sampled_from([0.7, 3.0, 60.0]))
@settings(max_examples=12, deadline=None)
def test_totals_are_the_sums_of_the_samples(data: SegmentData, step: float) -> None:
    with TemporaryDirectory() as root:
        found = recording(Path(root), data)
        window, step_ns = at(0, 10), round(step * SECOND)
        totals = profile_totals(SampleStream(found, window, step_ns=step_ns), 1000)
        tree = queries.flame(found, window)
    assert totals is not None
    assert int(totals.count.sum()) == tree.samples == len(data.samples)
    assert int(totals.weight_ns.sum()) == int(tree.total_ns[0])
    keys = list(
        zip(totals.core.tolist(), totals.thread.tolist(), totals.stack.tolist(), strict=True)
    )
    assert len(set(keys)) == len(keys)
    assert set(totals.core.tolist()) == set(data.samples.core.tolist())


def test_totals_of_nothing_are_empty(tmp_path: Path) -> None:
    found = recording(tmp_path, by_hand([(0, 1.0, 0, 0)]))
    totals = profile_totals(SampleStream(found, at(0, 10), Filter(comms=("nobody",))), 0)
    assert totals is not None
    assert len(totals) == 0
    assert len(totals.tables.tree.parent) == 1


@pytest.mark.parametrize(
    ("at_most", "detail", "rows"), [(6, "core", 6), (5, "thread", 3), (2, "process", 2)]
)
def test_rows_that_do_not_fit_are_added_up_over_cores_then_over_threads(
    tmp_path: Path, at_most: int, detail: str, rows: int
) -> None:
    threads = ((10, 10, "app", ""), (10, 11, "app", ""), (20, 20, "app", ""))
    samples = [(core, 1.0 + thread, thread, 0) for core in (0, 1) for thread in range(3)]
    found = recording(tmp_path, by_hand(samples, threads=threads))
    totals = profile_totals(SampleStream(found, at(0, 10), step_ns=SECOND), at_most)
    assert totals is not None
    assert (totals.detail, len(totals), int(totals.count.sum())) == (detail, rows, 6)
    assert (set(totals.core.tolist()) == {NO_CORE}) == (detail != "core")
    pids = [totals.tables.threads[thread].pid for thread in totals.thread.tolist()]
    assert set(pids) == {10, 20}
    assert profile_totals(SampleStream(found, at(0, 10)), 1) is None
