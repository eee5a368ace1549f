"""Where the hierarchies are, and the walk."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.host import Host
from exhume.sources.cgroup_tree import Walk, find
from tests.sources.trees import Layout, Machine, Tree


@pytest.mark.parametrize(
    ("layout", "version", "where"),
    [("v1", 1, "memory"), ("hybrid", 1, "memory"), ("v2", 2, "cgroup")],
)
def test_the_memory_hierarchy_is_found_in_every_layout(
    tmp_path: Path, layout: Layout, version: int, where: str
) -> None:
    tree = find(Tree(tmp_path, Machine(2, cgroups=layout)).build().host, "memory")
    assert tree is not None
    assert (tree.version, tree.root.name, tree.is_whole) == (version, where, True)


def test_a_controller_of_the_unified_part_of_a_hybrid_is_found(tmp_path: Path) -> None:
    tree = find(Tree(tmp_path, Machine(2, cgroups="hybrid")).build().host, "hugetlb")
    assert tree is not None
    assert (tree.version, tree.root.name) == (2, "unified")


def test_no_cgroups_is_none(tmp_path: Path) -> None:
    assert find(Tree(tmp_path, Machine(2, cgroups="none")).build().host, "memory") is None


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_the_root_of_a_private_namespace_is_known_by_its_files(
    tmp_path: Path, layout: Layout
) -> None:
    tree = Tree(tmp_path, Machine(2, cgroups=layout)).build()
    if layout == "v1":
        (tmp_path / "sys/fs/cgroup/memory/release_agent").unlink()
    else:
        tree.write("sys/fs/cgroup/cgroup.events", "populated 1\nfrozen 0\n")
    found = find(tree.host, "memory")
    assert found is not None
    assert not found.is_whole


def test_a_walk_visits_every_directory_once_and_knows_the_leaves(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/file").touch()
    walk = Walk(tmp_path)
    walk.step(Host(), 10**9)
    assert walk.is_done
    below = {str(Path(folder).relative_to(tmp_path)) for folder in walk.folders}
    assert below == {".", "a", "a/b", "a/b/c", "a/d", "e"}
    assert {Path(leaf).name for leaf in walk.leaves} == {"c", "d", "e"}
    assert len(walk.folders) == 6


def test_a_walk_stops_at_its_budget_and_goes_on_later(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for number in range(1000):
        (tmp_path / f"c{number}").mkdir()
    tree.clock.step_ns = 1_000_000
    walk = Walk(tmp_path)
    walk.step(tree.host, 1_500_000)
    assert 0 < len(walk.folders) < 300
    while not walk.is_done:
        walk.step(tree.host, 1_500_000)
    assert len(walk.folders) == 1001


@pytest.mark.kernel
def test_the_real_hierarchy_is_whole_or_said_not_to_be() -> None:
    tree = find(Host(), "memory")
    if tree is None:
        pytest.skip("no memory controller here")
    walk = Walk(tree.root)
    walk.step(Host(), 10**9)
    listed = sum(1 for _ in tree.root.rglob("cgroup.procs"))
    assert abs(len(walk.folders) - listed) <= 3, "others make and remove cgroups meanwhile"
