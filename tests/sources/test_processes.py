"""The busiest processes."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from exhume.host import Host
from exhume.sources import process_stat, processes
from exhume.sources.processes import ProcessReader
from tests.sources.trees import Machine, Tree


def _tree(tmp_path: Path, count: int) -> Tree:
    tree = Tree(tmp_path, Machine(2, cgroups="none"))
    for folder in ("proc", "sys"):
        (tmp_path / folder).mkdir()
    for pid in range(1, count + 1):
        tree.process(pid, f"p{pid}")
    return tree


def test_the_busiest_processes_are_found_within_two_rounds(tmp_path: Path) -> None:
    tree = _tree(tmp_path, 250)
    reader = ProcessReader(tree.host, reads_per_tick=100, hot_count=3)
    for second in range(12):
        for pid, rate in ((7, 50), (170, 90), (200, 10), (230, 70)):
            tree.process(pid, f"p{pid}", user=second * rate)
        found = reader.read()
        tree.clock.pass_seconds(1)
    assert [process.stat.pid for process in found] == [7, 170, 230]


def test_a_tick_reads_no_more_than_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = _tree(tmp_path, 300)
    reads = 0
    real = process_stat.read

    def counted(host: Host, pid: int) -> object:
        nonlocal reads
        reads += 1
        return real(host, pid)

    monkeypatch.setattr(process_stat, "read", counted)
    reader = ProcessReader(tree.host, reads_per_tick=50, hot_count=5)
    for _ in range(20):
        before = reads
        reader.read(hint=(1, 2, 3, 4, 5, 6))
        assert reads - before <= 55
        tree.clock.pass_seconds(1)


def test_the_sampler_is_believed_at_once(tmp_path: Path) -> None:
    reader = ProcessReader(_tree(tmp_path, 5).host, reads_per_tick=1)
    assert [process.stat.comm for process in reader.read(hint=(4,))] == ["p4"]


def test_a_reused_pid_is_another_process(tmp_path: Path) -> None:
    tree = _tree(tmp_path, 2)
    reader = ProcessReader(tree.host)
    tree.process(1, "old", user=1000)
    reader.read()
    tree.clock.pass_seconds(6)
    tree.process(1, "new", user=2000, start=999)
    assert reader.read() == (), "its 2,000 jiffies were not used in these 6 s"


def test_a_process_that_vanishes_or_is_garbled_costs_nobody_else(tmp_path: Path) -> None:
    tree = _tree(tmp_path, 3)
    reader = ProcessReader(tree.host)
    tree.write("proc/1/stat", "nonsense")
    tree.write("proc/2/schedstat", "nonsense")
    (tmp_path / "proc/3/stat").unlink()
    found = reader.read(hint=(1, 2, 3))
    assert [process.stat.pid for process in found] == [2]
    assert found[0].sched is None
    readings = {reading.field: reading for reading in processes.readings(found)}
    assert readings["process.user"].instances == ("2 p2",)
    assert readings["process.wait_ns"].values[0] < 0, "missing, not zero"
    assert reader.broken >= 2


def _spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.kernel
def test_a_real_spinning_process_is_among_the_hot_ones() -> None:
    child = multiprocessing.get_context("fork").Process(target=_spin, args=(4,))
    child.start()
    try:
        reader = ProcessReader(Host(), reads_per_tick=10_000)
        reader.read()
        reader._next_round_ns = 0
        time.sleep(0.5)
        found = reader.read()
        assert child.pid in {process.stat.pid for process in found}
    finally:
        child.kill()
        child.join()
