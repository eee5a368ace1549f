"""/proc/PID/schedstat."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources import schedstat
from exhume.sources.schedstat import NetworkThreads, SchedStat, network_threads
from tests.sources.garble import garbled, survives
from tests.sources.trees import Machine, Tree


def test_only_real_kernel_threads_that_serve_the_network_are_followed(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2)).build()
    expected = {"ksoftirqd/0", "ksoftirqd/1", "napi/eth0-8193"}
    assert {name for _, name in network_threads(tree.host)} == expected
    (tmp_path / "proc/2/task/2/children").unlink()
    found = network_threads(tree.host)
    assert sorted(name for _, name in found) == sorted(expected), "a pretender has no flag"


def test_a_starving_thread_is_runnable_and_its_slices_stand_still(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2)).build()
    threads = NetworkThreads(tree.host)
    tree.process(11, "ksoftirqd/1", state="R", flags=0x00200000, sched="5 6 7\n")
    found = threads.read()
    assert found is not None
    readings = {reading.field: reading for reading in schedstat.readings(found)}
    at = readings["netthread.slices"].instances.index("ksoftirqd/1")
    assert readings["netthread.runnable"].values[at] == 1
    assert readings["netthread.wait_ns"].values[at] == 6
    threads.close()


def test_new_threads_are_found_every_30_seconds(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2)).build()
    threads = NetworkThreads(tree.host)
    threads.read()
    tree.process(6000, "napi/eth0-8200", flags=0x00200000)
    tree.write("proc/2/task/2/children", "10 11 5000 6000")
    tree.clock.pass_seconds(29)
    assert len(threads.read() or ()) == 3
    tree.clock.pass_seconds(2)
    assert len(threads.read() or ()) == 4
    threads.close()


def test_names_that_occur_twice_are_told_apart_by_pid(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2)).build()
    tree.process(6000, "napi/eth0-8193", flags=0x00200000)
    tree.write("proc/2/task/2/children", "5000 6000")
    found = NetworkThreads(tree.host).read()
    assert {thread.name for thread in found or ()} == {"napi/eth0-8193 5000", "napi/eth0-8193 6000"}


def test_ksoftirqd_comes_first_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedstat, "MAX_THREADS", 2)
    threads = NetworkThreads(Tree(tmp_path, Machine(2)).build().host)
    assert {thread.name for thread in threads.read() or ()} == {"ksoftirqd/0", "ksoftirqd/1"}
    assert threads.left_out == 1


def test_a_container_without_kernel_threads_gives_none(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2)).build()
    shutil.rmtree(tmp_path / "proc")
    tree.process(1, "init")
    assert NetworkThreads(tree.host).read() is None


@pytest.mark.parametrize("text", [b"", b"1 2", b"1 2 x", b"1 2 3 4"])
def test_what_is_no_schedstat_is_refused(text: bytes) -> None:
    with pytest.raises(ParseError, match="schedstat"):
        schedstat.parse(text)


@given(garbled(b"67376789 5005180 2309\n"))
def test_garbage_is_a_parse_error_or_well_formed(text: bytes) -> None:
    survives(schedstat.parse, text)


@pytest.mark.kernel
def test_the_real_kernel_counts_our_running_time() -> None:
    first = schedstat.read(Host(), os.getpid())
    if first is None:
        pytest.skip("this kernel has no CONFIG_SCHED_INFO")
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
    second = schedstat.read(Host(), os.getpid())
    assert isinstance(second, SchedStat)
    assert second.run_ns > first.run_ns


@pytest.mark.kernel
def test_the_real_kernel_has_a_ksoftirqd_for_each_core() -> None:
    threads = NetworkThreads(Host())
    found = threads.read()
    if found is None:
        pytest.skip("no kernel threads are visible here")
    names = {thread.name for thread in found}
    assert {f"ksoftirqd/{core}" for core in os.sched_getaffinity(0)} <= names
    threads.close()
