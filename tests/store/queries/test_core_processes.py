from __future__ import annotations

from pathlib import Path

import pytest

from exhume.model.answers import Filter
from exhume.store import queries
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.store.make import at, busy_node, by_hand

THREADS = (
    (10, 10, "kubelet", "/system.slice/kubelet.service"),
    (10, 11, "kubelet", "/system.slice/kubelet.service"),
    (20, 20, "app", ""),
)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    samples = [(3, 0.1, 0, 0), (3, 0.2, 1, 0), (3, 0.3, 0, 0), (1, 0.1, 2, 0), (3, 5.0, 2, 0)]
    write_segment(tmp_path, by_hand(samples, threads=THREADS))
    return Recording.open(tmp_path)


def test_threads_of_a_process_are_one_row_by_core(recording: Recording) -> None:
    found = queries.core_processes(recording, at(0, 10))
    assert (found.cores, found.samples, found.seconds_recorded) == ((1, 3), 5, 10)
    kubelet, app = found.processes
    assert (kubelet.comm, kubelet.pid, kubelet.unit) == ("kubelet", 10, "kubelet.service")
    assert kubelet.core_ns == (0, 30_000_000)
    assert app.core_ns == (10_000_000, 10_000_000)


def test_a_window_and_a_filter_narrow_it_and_the_rest_is_summed(recording: Recording) -> None:
    found = queries.core_processes(recording, at(0, 1), Filter(cores=(3,)))
    assert [one.comm for one in found.processes] == ["kubelet"]
    few = queries.core_processes(recording, at(0, 10), limit=1)
    assert (few.others, few.others_ns) == (1, (10_000_000, 10_000_000))


def test_it_agrees_with_top_on_a_busy_node(tmp_path: Path) -> None:
    write_segment(tmp_path, busy_node())
    recording = Recording.open(tmp_path)
    table = queries.core_processes(recording, at(10, 30), limit=5)
    top = queries.top(recording, at(10, 30), limit=5)
    assert [(one.comm, one.pid) for one in table.processes] == [
        (one.comm, one.pid) for one in top.processes
    ]
    for mine, theirs in zip(table.processes, top.processes, strict=True):
        percent = mine.total_ns / 1e7 / table.seconds_recorded
        assert percent == pytest.approx(theirs.percent_of_one_core)
