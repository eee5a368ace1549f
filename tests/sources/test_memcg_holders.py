"""Whose zombies they are."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from exhume.sources import memcg_holders
from exhume.sources.memcg_holders import SLOW, Holder, HolderSearch
from tests.sources.trees import Machine, Tree, cgroup_stat

V1 = "sys/fs/cgroup/memory"
V2 = "sys/fs/cgroup"


def _v2(tree: Tree, path: str, live: int, dying: int) -> None:
    tree.cgroup(f"{V2}{path}", is_root=not path)
    tree.write(f"{V2}{path}/cgroup.stat", cgroup_stat(live, dying))


def test_on_v2_the_parent_is_who_no_child_explains(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v2")).build()
    _v2(tree, "", 5, 1000)
    _v2(tree, "/system.slice", 3, 990)
    _v2(tree, "/system.slice/docker.service", 0, 900)
    _v2(tree, "/system.slice/ssh.service", 0, 0)
    _v2(tree, "/user.slice", 0, 10)
    holders = HolderSearch(tree.host).read()
    assert holders is not None
    assert holders.is_complete
    assert [(one.path, one.zombies) for one in holders.found] == [
        ("/system.slice/docker.service", 900),
        ("/system.slice", 90),
        ("/user.slice", 10),
    ]
    (reading,) = memcg_holders.readings(holders)
    assert reading.values.tolist() == [900, 90, 10]


def _v1(
    tree: Tree,
    path: str,
    own: tuple[int, int, int] = (0, 0, 0),
    total: tuple[int, int, int] | None = None,
) -> None:
    cache, shmem, rss = own
    total_cache, total_shmem, total_rss = total or own
    tree.cgroup(f"{V1}{path}", is_root=not path)
    tree.write(
        f"{V1}{path}/memory.stat",
        f"cache {cache}\nshmem {shmem}\nrss {rss}\n"
        f"total_cache {total_cache}\ntotal_shmem {total_shmem}\ntotal_rss {total_rss}\n",
    )


def test_on_v1_the_residual_names_the_parent_and_what_pins(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v1")).build()
    page = 4096
    _v1(tree, "", (5 * page, 0, page), (1115 * page, 705 * page, 11 * page))
    _v1(tree, "/tmpfs", (0, 0, 0), (705 * page, 705 * page, 0))
    _v1(tree, "/tmpfs/alive", (5 * page, 5 * page, 0))
    _v1(tree, "/files", (5 * page, 0, page), (305 * page, 0, page))
    _v1(tree, "/clean", (100 * page, 0, 9 * page))
    holders = HolderSearch(tree.host).read()
    assert holders is not None
    assert holders.found == (
        Holder("/tmpfs", None, shmem_bytes=700 * page),
        Holder("/files", None, file_bytes=300 * page),
    )
    assert [one.pin for one in holders.found] == ["shmem", "file"]
    fields = {reading.field for reading in memcg_holders.readings(holders)}
    assert "memcg.pinned_shmem_bytes" in fields


def test_without_zombies_nobody_is_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v1")).build()
    _v1(tree, "", (10, 0, 1), (30, 0, 3))
    _v1(tree, "/a", (20, 0, 2))
    holders = HolderSearch(tree.host).read()
    assert holders is not None
    assert holders.found == ()
    assert memcg_holders.readings(holders) == ()


def test_a_kernel_whose_reads_are_slow_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v1")).build()
    _v1(tree, "")
    _v1(tree, "/a")
    spent = iter(range(0, 10**12, 50_000_000))
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(spent))
    search = HolderSearch(tree.host)
    first, second = search.read(), search.read()
    assert first is not None
    assert second is not None
    assert (first.is_complete, first.note) == (False, SLOW)
    assert second.note == SLOW
    assert next(spent) == 100_000_000, "one read, ever"


def test_a_large_tree_is_searched_in_rounds(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups="v2")).build()
    _v2(tree, "", 100, 200)
    for number in range(100):
        _v2(tree, f"/s{number}", 0, 2)
    tree.clock.step_ns = 20_000_000
    search = HolderSearch(tree.host)
    rounds = 1
    while (holders := search.read()) is None:
        rounds += 1
    assert rounds > 5
    assert holders.is_complete
    assert len(holders.found) == memcg_holders.MAX_HOLDERS
