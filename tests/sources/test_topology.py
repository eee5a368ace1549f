"""/sys/devices/system/node."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.sources import topology
from tests.sources.trees import Machine, Tree, core_list


def built(root: Path, machine: Machine, nodes: int) -> Tree:
    """Hyperthreads are numbered as on real machines: the second half sits beside the first."""
    tree = Tree(root, machine).build()
    tree.numa(nodes)
    return tree


@pytest.mark.parametrize(("cores", "nodes"), [(96, 2), (256, 8)])
def test_every_core_has_the_node_whose_list_it_is_in(
    cores: int, nodes: int, tmp_path: Path
) -> None:
    found = topology.read(built(tmp_path, Machine(cores), nodes).host)
    assert found is not None
    assert found.cores == tuple(range(cores))
    of = dict(zip(found.cores, found.numa_nodes, strict=True))
    half, each = cores // 2, cores // 2 // nodes
    assert (of[0], of[each], of[half - 1], of[half], of[cores - 1]) == (
        0, 1, nodes - 1, 0, nodes - 1,
    )  # fmt: skip
    (reading,) = topology.readings(found)
    assert (reading.instances[:2], reading.values.tolist()) == (("0", "1"), list(found.numa_nodes))


def test_a_core_that_is_off_is_left_out(tmp_path: Path) -> None:
    found = topology.read(built(tmp_path, Machine(96, offline=(7, 95)), 2).host)
    assert found is not None
    assert len(found.cores) == 94
    assert not {7, 95} & set(found.cores)


def test_a_node_of_memory_alone_adds_nothing(tmp_path: Path) -> None:
    tree = built(tmp_path, Machine(96), 2)
    tree.write("sys/devices/system/node/online", "0-2\n")
    tree.write("sys/devices/system/node/node2/cpulist", "\n")
    found = topology.read(tree.host)
    assert found is not None
    assert set(found.numa_nodes) == {0, 1}


def test_a_kernel_without_numa_is_absent_and_not_node_zero(tmp_path: Path) -> None:
    assert topology.read(Tree(tmp_path, Machine(2, is_old=True)).build().host) is None


@pytest.mark.parametrize(
    "lists", [{0: "0-1", 1: "1-2"}, {0: "x"}, {0: "3-1"}, {0: "0-99999999"}, {0: "-1"}]
)
def test_what_makes_no_sense_is_refused_with_its_path(lists: dict[int, str]) -> None:
    with pytest.raises(ParseError, match="devices/system/node/node"):
        topology.parse(lists)


def test_more_nodes_than_a_kernel_can_have_are_refused(tmp_path: Path) -> None:
    tree = built(tmp_path, Machine(2), 1)
    tree.write("sys/devices/system/node/online", "0-60000\n")
    with pytest.raises(ParseError, match="1024 nodes"):
        topology.read(tree.host)


@given(st.lists(st.integers(0, 15), min_size=1, max_size=300))
def test_lists_that_were_written_are_read_back(nodes: list[int]) -> None:
    lists = {
        node: core_list(tuple(core for core, of in enumerate(nodes) if of == node))
        for node in sorted(set(nodes))
    }
    found = topology.parse(lists)
    assert (found.cores, found.numa_nodes) == (tuple(range(len(nodes))), tuple(nodes))
