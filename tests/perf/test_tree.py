from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.derive.stacks import level_starts
from exhume.model.arrays import I64
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.perf.tree import TreeBuilder

FRAMES = [Frame(str(number), "", FrameKind.USER) for number in range(1 << 16)]
PATH = st.lists(st.integers(1, 4), max_size=6).map(tuple)
BATCHES = st.lists(st.lists(PATH, max_size=8), max_size=4)

Path = tuple[int, ...]


def add(builder: TreeBuilder, paths: Sequence[Path]) -> I64:
    lengths = np.array([len(path) for path in paths], np.int64)
    frames = np.array([frame for path in paths for frame in path], np.int64)
    return builder.add(frames, np.cumsum(lengths) - lengths, lengths, np.zeros_like(lengths))


def paths_of(tree: StackTree) -> list[Path]:
    """The path that ends at each node, by following the parents."""
    found: list[Path] = [()]
    for node in range(1, len(tree.parent)):
        found.append((*found[tree.parent[node]], int(tree.frame[node])))
    return found


def check(batches: Sequence[Sequence[Path]]) -> StackTree:
    """Builds the tree and compares it with what a dictionary of paths says it must hold."""
    builder = TreeBuilder()
    ends = [add(builder, batch) for batch in batches]
    together = np.concatenate([np.empty(0, np.int64), *ends])
    modes = (together % 4).astype(np.uint8)
    tree, renumbered = builder.finish(FRAMES, together, modes)
    paths = paths_of(tree)
    wanted = {path[:depth] for batch in batches for path in batch for depth in range(len(path) + 1)}
    assert sorted(paths) == sorted(wanted | {()})
    for batch, nodes in zip(batches, ends, strict=True):
        assert [paths[node] for node in renumbered[nodes]] == list(batch)
    assert tree.mode[renumbered[together]].tolist() == modes.tolist()
    return tree


@given(BATCHES)
@settings(deadline=None, max_examples=60)
def test_the_tree_holds_each_prefix_once_and_every_path_ends_where_it_should(
    batches: list[list[Path]],
) -> None:
    check(batches)


@given(BATCHES)
@settings(deadline=None, max_examples=60)
def test_nodes_are_in_breadth_first_order_whatever_order_they_came_in(
    batches: list[list[Path]],
) -> None:
    tree = check(batches)
    assert tree.parent[0] == -1
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    depth = [len(path) for path in paths_of(tree)]
    assert depth == sorted(depth)
    starts = level_starts(tree.parent)
    assert [depth.index(level) for level in range(1, max(depth) + 1)] == starts[1:-1]


def test_no_paths_make_a_tree_of_the_root_alone() -> None:
    tree = check([])
    assert tree.parent.tolist() == [-1]
    assert tree.frame.tolist() == [0]


def test_a_deep_path_in_a_later_batch_hangs_below_an_earlier_one() -> None:
    deep = tuple(range(1, 500))
    tree = check([[(1, 2)], [deep, (1, 2, 3)]])
    assert len(tree.parent) == 500


@pytest.mark.parametrize("number", [0x7FFF_FFFF, 0x8000_0000 - 2])
def test_frame_numbers_use_their_whole_width_and_do_not_run_into_the_parent(number: int) -> None:
    builder = TreeBuilder()
    ends = add(builder, [(1, number), (2, number), (number,)])
    tree, renumbered = builder.finish([], ends, np.zeros(3, np.uint8))
    paths = paths_of(tree)
    assert [paths[node] for node in renumbered[ends]] == [(1, number), (2, number), (number,)]
