"""The busiest processes."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

import exhume.host as host_module
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
    for pid in range(1, 301):
        tree.process(pid, f"p{pid}", state="R")
    reads = 0
    real = host_module.read_line

    def counted(path: str) -> bytes | None:
        nonlocal reads
        reads += 1
        return real(path)

    monkeypatch.setattr(process_stat, "read_line", counted)
    reader = ProcessReader(tree.host, reads_per_tick=40, hot_count=5, waiting_count=10)
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


def _pids(reader: ProcessReader) -> list[int]:
    return [process.stat.pid for process in reader.read()]


def test_who_is_ready_and_gets_no_core_is_found_within_a_round_and_kept(tmp_path: Path) -> None:
    """Starved outright: its wait is not even added up until it runs."""
    tree = _tree(tmp_path, 100)
    reader = ProcessReader(tree.host, hot_count=0)
    tree.process(70, "victim", state="R")
    found = []
    for _ in range(12):
        found.append(_pids(reader))
        tree.clock.pass_seconds(1)
    assert [70] in found[:5]
    assert found[-6:] == [[70]] * 6


def test_who_waits_now_and_then_is_told_from_who_runs(tmp_path: Path) -> None:
    tree = _tree(tmp_path, 3)
    reader = ProcessReader(tree.host, hot_count=0)
    for second in range(12):
        ran, waited = second * 10**9, second * 300 * 10**6
        tree.process(1, "runs", state="R", user=100 * second, sched=f"{ran} 0 {second}")
        tree.process(2, "waits", state="R", user=second, sched=f"{second} {waited} {second}")
        found = _pids(reader)
        tree.clock.pass_seconds(1)
    assert found == [2]


def test_a_victim_is_remembered_from_one_burst_to_the_next_and_then_forgotten(
    tmp_path: Path,
) -> None:
    tree = _tree(tmp_path, 1)
    reader = ProcessReader(tree.host, hot_count=0)
    tree.process(1, "victim", state="R")
    for _ in range(4):
        _pids(reader)
        tree.clock.pass_seconds(1)
    tree.process(1, "victim", state="S", sched="5000 9000 9")
    kept = 0
    while _pids(reader) and kept < 1000:
        tree.clock.pass_seconds(1)
        kept += 1
    assert 60 <= kept <= 300


def test_kernel_threads_do_not_keep_the_others_waiting(tmp_path: Path) -> None:
    tree = _tree(tmp_path, 50)
    for pid in range(1000, 3000):
        tree.process(pid, "kworker", flags=0x00200000)
    reader = ProcessReader(tree.host, hot_count=0)
    while not reader._kernel or reader._round:  # the first round knows nobody yet
        reader.read()
        tree.clock.pass_seconds(1)
    tree.process(30, "victim", state="R")
    tree.clock.pass_seconds(5)
    found = []
    for _ in range(4):
        found.append(_pids(reader))
        tree.clock.pass_seconds(1)
    assert [30] in found


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


@pytest.mark.kernel
def test_a_real_process_that_others_keep_from_its_core_is_among_those_recorded() -> None:
    """Two spin on one core, the third is nice to them and gets next to nothing."""
    core = min(os.sched_getaffinity(0))

    def compete(nice: int) -> None:
        os.sched_setaffinity(0, {core})
        os.nice(nice)
        _spin(6)

    context = multiprocessing.get_context("fork")
    children = [context.Process(target=compete, args=(nice,)) for nice in (0, 0, 19)]
    try:
        for child in children:
            child.start()
        victim = children[-1].pid
        reader = ProcessReader(Host(), reads_per_tick=10_000, hot_count=0)
        waited = []
        for _ in range(4):
            time.sleep(0.4)
            reader._next_round_ns = 0
            found = {process.stat.pid: process for process in reader.read()}
            if victim in found and (sched := found[victim].sched) is not None:
                waited.append(sched.wait_ns)
        assert len(waited) >= 2
    finally:
        for child in children:
            child.kill()
            child.join()
