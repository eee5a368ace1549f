from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.derive.stacks import level_starts
from exhume.model.arrays import I64
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.perf.tree import AddressTree, NodeKind, TreeBuilder, address_tree
from tests.perf.records_encoder import KERNEL, USER

FRAMES = [Frame(str(number), "", FrameKind.USER) for number in range(1 << 16)]
PATH = st.lists(st.integers(1, 4), max_size=6).map(tuple)
BATCHES = st.lists(st.lists(PATH, max_size=8), max_size=4)

Path = tuple[int, ...]


def add(builder: TreeBuilder, paths: Sequence[Path]) -> I64:
    lengths = np.array([len(path) for path in paths], np.int64)
    frames = np.array([frame for path in paths for frame in path], np.int64)
    return builder.add(frames, np.cumsum(lengths) - lengths, lengths)


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


# --- the tree of addresses ---------------------------------------------------------------------

GUEST_USER = (1 << 64) - 2560
MARKERS = [KERNEL, USER, GUEST_USER, (1 << 64) - 32, (1 << 64) - 4095]
WORDS = st.sampled_from([*MARKERS, 0, 1, 5, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 4096])


@st.composite
def stacks_of_few_callers(draw: st.DrawFn) -> list[tuple[list[int], int]]:
    """Leaf first, each with its space: they differ near the leaf, and now and then further up."""
    callers = draw(st.lists(st.lists(WORDS, max_size=9), min_size=1, max_size=3))
    near_leaf = st.lists(WORDS, max_size=4)
    stack = st.tuples(near_leaf, st.sampled_from(callers)).map(lambda parts: [*parts[0], *parts[1]])
    return draw(st.lists(st.tuples(stack, st.integers(-1, 2)), max_size=12))


Step = tuple[int, int]
"""Kind and address (of a space: its number)."""


def naive_path(stack: Sequence[int], space: int) -> tuple[Step, ...]:
    """From the root to the leaf; `stack` is leaf first, as perf writes it."""
    steps: list[Step] = []
    kind: NodeKind | None = None
    is_exact = True
    for word in stack:
        if word >= (1 << 64) - 4095:
            kind = NodeKind.USER if word in (USER, GUEST_USER) else NodeKind.KERNEL
            is_exact = True
            continue
        own = kind or (NodeKind.KERNEL if word >> 63 else NodeKind.USER)
        steps.append((own, (word if is_exact else word - 1) % (1 << 64)))
        is_exact = False
    has_user = any(kind == NodeKind.USER for kind, _ in steps)
    return (*([(NodeKind.SPACE, space)] if has_user else []), *steps[::-1])


def path_to(tree: AddressTree, node: int) -> tuple[Step, ...]:
    found: list[Step] = []
    while node:
        is_space = tree.kind[node] == NodeKind.SPACE
        found.append((int(tree.kind[node]), int((tree.space if is_space else tree.address)[node])))
        node = int(tree.parent[node])
    return tuple(found[::-1])


def tree_of(stacks: Sequence[tuple[Sequence[int], int]]) -> AddressTree:
    count = np.array([len(stack) for stack, _ in stacks], np.int64)
    words = np.array([word for stack, _ in stacks for word in stack], np.uint64)
    space = np.array([space for _, space in stacks], np.int64)
    start = np.cumsum(count) - count
    cut = int(start[len(start) // 2]) if len(start) else 0  # between two stacks
    return address_tree([words[:cut], words[cut:]], start, count, space)


@given(stacks_of_few_callers())
@settings(deadline=None, max_examples=200)
def test_stacks_of_addresses_share_their_ways_and_end_where_they_should(
    stacks: list[tuple[list[int], int]],
) -> None:
    tree = tree_of(stacks)
    wanted = [naive_path(stack, space) for stack, space in stacks]
    assert [path_to(tree, end) for end in tree.ends.tolist()] == wanted
    prefixes = {path[:depth] for path in wanted for depth in range(1, len(path) + 1)}
    assert len(tree.parent) == 1 + len(prefixes)
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    assert (tree.depth[1:] == tree.depth[tree.parent[1:]] + 1).all()
    of_stack = {path: space for path, (_, space) in zip(wanted, stacks, strict=True)}
    for path, end in zip(wanted, tree.ends.tolist(), strict=True):
        if path and path[0][0] == NodeKind.SPACE:
            assert tree.space[end] == of_stack[path]


def test_kernel_stacks_are_the_same_in_every_process() -> None:
    chain = [KERNEL, 1 << 63, (1 << 63) + 9]
    assert len(set(tree_of([(chain, 1), (chain, 2)]).ends.tolist())) == 1
    assert len(set(tree_of([([USER, 5], 1), ([USER, 5], 2)]).ends.tolist())) == 2


def test_a_tree_that_grows_past_its_first_room_keeps_its_nodes() -> None:
    stacks = [([KERNEL, (1 << 63) + i, (1 << 63) + i % 7], -1) for i in range(30_000)]
    tree = tree_of([*stacks, *stacks])
    assert tree.ends[:30_000].tolist() == tree.ends[30_000:].tolist()
    assert len(tree.parent) == 1 + 7 + 30_000
    assert path_to(tree, int(tree.ends[12_345])) == naive_path(*stacks[12_345])


@pytest.mark.parametrize(
    ("start", "count"), [([0], [4]), ([3], [1]), ([-1], [1]), ([0], [-1]), ([1 << 62], [1 << 62])]
)
def test_a_stack_beyond_the_words_is_refused(start: list[int], count: list[int]) -> None:
    columns = [np.array(column, np.int64) for column in (start, count, [0])]
    with pytest.raises(ValueError, match="beyond the words"):
        address_tree([np.array([1, 2, 3], np.uint64)], *columns)
    with pytest.raises(ValueError, match="beyond the words"):
        address_tree([np.array([1], np.uint64), np.array([2, 3], np.uint64)], *columns)
