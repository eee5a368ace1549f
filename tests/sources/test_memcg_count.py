"""Counting zombie memory cgroups."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exhume.host import Host
from exhume.sources import cgroups, memcg_count
from exhume.sources.cgroup_tree import find
from exhume.sources.memcg_count import MOVED, PRIVATE_NAMESPACE, MemcgCounter
from exhume.sources.memcg_holders import HolderSearch
from tests.kernel.memcg import PAGE
from tests.sources.trees import Layout, Machine, Tree, cgroup_stat, proc_cgroups

V1 = "sys/fs/cgroup/memory"
V2 = "sys/fs/cgroup"
ZOMBIES = 1_000  # so that the few that others leave meanwhile are within 1 %


@pytest.mark.parametrize("layout", ["v1", "hybrid"])
def test_on_v1_zombies_are_what_the_file_system_does_not_show(
    tmp_path: Path, layout: Layout
) -> None:
    tree = Tree(tmp_path, Machine(96, cgroups=layout)).build()
    for number in range(239):
        tree.cgroup(f"{V1}/docker/c{number}")
    tree.write("proc/cgroups", proc_cgroups(4, 68680))
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert (count.tracked, count.live, count.zombies) == (68680, 241, 68439)
    fields = {reading.field: int(reading.values[0]) for reading in memcg_count.readings(count)}
    assert fields["memcg.zombies"] == 68439


def test_on_v2_the_kernel_says_it(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(96, cgroups="v2")).build()
    tree.write(f"{V2}/cgroup.stat", cgroup_stat(239, 68440))
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert (count.tracked, count.live, count.zombies) == (68680, 240, 68440)


def test_on_new_kernels_only_those_that_hold_memory_count(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(96, cgroups="v2")).build()
    tree.write(f"{V2}/cgroup.stat", cgroup_stat(239, 500, memory=(120, 300)))
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert (count.live, count.zombies) == (120, 300)


def test_v2_without_the_memory_line_needs_only_cgroup_stat(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v2")).build()
    tree.write("proc/cgroups", proc_cgroups(0, None))
    tree.write(f"{V2}/cgroup.stat", cgroup_stat(9, 5))
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert count.zombies == 5


def test_v2_before_cgroup_stat_is_counted_by_a_walk(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v2", is_old=True)).build()
    (tmp_path / V2 / "cgroup.stat").unlink()
    tree.cgroup(f"{V2}/a")
    tree.write("proc/cgroups", proc_cgroups(0, 2003))
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert (count.tracked, count.live, count.zombies) == (2003, 2, 2001)


def test_v1_without_the_memory_line_claims_no_zombies(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v1")).build()
    tree.write("proc/cgroups", proc_cgroups(4, None))
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert (count.tracked, count.zombies) == (None, None)
    assert count.note


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_in_a_private_namespace_no_zombies_are_claimed(tmp_path: Path, layout: Layout) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups=layout)).build()
    tree.write("proc/cgroups", proc_cgroups(4 if layout == "v1" else 0, 68680))
    if layout == "v1":
        (tmp_path / V1 / "release_agent").unlink()
    else:
        tree.write(f"{V2}/cgroup.events", "populated 1\n")
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert (count.tracked, count.live, count.zombies) == (None, None, None)
    assert count.note == PRIVATE_NAMESPACE
    assert memcg_count.readings(count) == ()
    assert HolderSearch(tree.host).read() is None


def test_no_memory_controller_is_none(tmp_path: Path) -> None:
    assert MemcgCounter(Tree(tmp_path, Machine(2, cgroups="none")).build().host).read() is None


def test_a_walk_during_which_the_count_moved_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v1")).build()
    counts = iter([100, 101, 101, 101])
    monkeypatch.setattr(cgroups, "read", lambda _: cgroups.parse(proc_cgroups(4, next(counts))))
    counter = MemcgCounter(tree.host)
    first = counter.read()
    assert first is not None
    assert (first.tracked, first.live, first.zombies, first.note) == (100, None, None, MOVED)
    tree.clock.pass_seconds(10)
    second = counter.read()
    assert second is not None
    assert (second.live, second.zombies) == (1, 100)


def test_between_walks_only_the_kernels_count_is_given(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v1")).build()
    counter = MemcgCounter(tree.host)
    lives = []
    for _ in range(13):
        count = counter.read()
        assert count is not None
        assert count.tracked == 3
        lives.append(count.live is not None)
        tree.clock.pass_seconds(10)
    assert lives == [i % 6 == 0 for i in range(13)], "once a minute"


def test_a_huge_tree_is_walked_in_pieces_with_rests_between(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v1")).build()
    for number in range(500):
        tree.cgroup(f"{V1}/c{number}")
    tree.write("proc/cgroups", proc_cgroups(4, 501))
    tree.clock.step_ns = 30_000_000
    counter = MemcgCounter(tree.host)
    results = []
    for _ in range(400):
        start = tree.clock.now_ns
        count = counter.read()
        assert tree.clock.now_ns - start < 3_000_000_000
        assert count is not None
        results.append(count.live)
        tree.clock.pass_seconds(1)
        if count.live is not None:
            break
    assert results[-1] == 501
    assert len(results) > 20, "it rested"


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_leaked_empty_directories_are_counted_apart(tmp_path: Path, layout: Layout) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups=layout)).build()
    base = V1 if layout == "v1" else V2
    for number in range(7):
        tree.cgroup(f"{base}/leaked{number}", procs="")
    tree.cgroup(f"{base}/used")
    tree.cgroup(f"{base}/parent", procs="")
    tree.cgroup(f"{base}/parent/child")
    tree.write(f"{base}/cgroup.stat", cgroup_stat(10, 0))
    tree.write("proc/cgroups", proc_cgroups(4 if layout == "v1" else 0, 11))
    count = MemcgCounter(tree.host).read()
    assert count is not None
    assert (count.empty, count.zombies) == (7, 0)


@contextmanager
def zombies(count: int, parent: Path, tmpfs: Path) -> Iterator[None]:
    """Facts 8.1: a cgroup joined, a page of tmpfs written, left and removed: it can't go."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    home = parent.parent / next(x.split(":", 2)[2] for x in lines if ":memory:" in x).lstrip("/")
    subprocess.run(["mount", "-t", "tmpfs", "none", str(tmpfs)], check=True)
    try:
        parent.mkdir()
        pid = str(os.getpid())
        for number in range(count):
            child = parent / f"z{number}"
            child.mkdir()
            (child / "cgroup.procs").write_text(pid)
            try:
                (tmpfs / f"{number}").write_bytes(b"x" * PAGE)
            finally:
                (home / "cgroup.procs").write_text(pid)
            _remove(child)
        yield
    finally:
        subprocess.run(["umount", "-l", str(tmpfs)], check=True)
        for folder in (*parent.glob("z*"), parent):
            _remove(folder)


def _remove(folder: Path) -> None:
    for _ in range(50):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.02)
        else:
            return


@pytest.mark.kernel
def test_real_zombies_are_counted_and_their_parent_and_pin_named(tmp_path: Path) -> None:
    host = Host()
    tree = find(host, "memory")
    if tree is None or tree.version != 1 or not tree.is_whole or os.geteuid() != 0:
        pytest.skip("needs root and the whole v1 memory hierarchy")
    before = _settled_count(host)
    parent = tree.root / f"exhume-test-{os.getpid()}"
    with zombies(ZOMBIES, parent, tmp_path):
        after = _settled_count(host)
        assert after - before == pytest.approx(ZOMBIES, rel=0.01)
        # The kernel hands in what its cores kept to themselves every 2 s.
        deadline = time.monotonic() + 10
        while (ours := _held(host, parent)) != ("shmem", ZOMBIES * PAGE):
            assert time.monotonic() < deadline, ours
            time.sleep(0.2)
    for _ in range(100):
        if _settled_count(host) - before < 0.05 * ZOMBIES:
            return
        time.sleep(0.1)
    pytest.fail(f"they stayed when the tmpfs went: {before} before, {_settled_count(host)} after")


def _held(host: Host, parent: Path) -> tuple[str, int]:
    """What pins those below it, and how much of that there is."""
    holders = HolderSearch(host).read()
    assert holders is not None
    [ours] = [one for one in holders.found if one.path == f"/{parent.name}"]
    return ours.pin, ours.shmem_bytes


def _settled_count(host: Host) -> int:
    """Others make and remove cgroups too: ask until a walk was not disturbed."""
    for _ in range(100):
        count = MemcgCounter(host).read()
        assert count is not None
        if count.zombies is not None:
            return count.zombies
        time.sleep(0.02)
    pytest.skip("cgroups never stood still here")
