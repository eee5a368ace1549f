from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.derive.stacks import level_starts
from exhume.model.arrays import I64
from exhume.model.stack import Frame, FrameKind, Mode, StackTree
from exhume.perf.paths import Paths, PlaceKind, Places
from exhume.perf.tree import NamedPlaces, TreeBuilder

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


# --- paths of places below processes -----------------------------------------------------------

Join = tuple[list[Path], NamedPlaces, list[PlaceKind], list[tuple[int, int]]]
PLACES = 6
PROCESSES = 3


@st.composite
def joins(draw: st.DrawFn) -> Join:
    """Paths of places, what is known of each place, the kinds of places, and (process, path)."""
    paths = draw(st.lists(st.lists(st.integers(0, PLACES - 1), max_size=7).map(tuple), min_size=1))
    kinds = draw(st.lists(st.sampled_from(list(PlaceKind)), min_size=PLACES, max_size=PLACES))
    names = draw(st.lists(st.integers(0, 2), min_size=PLACES, max_size=PLACES))
    modes = draw(st.lists(st.integers(-1, 3), min_size=PLACES, max_size=PLACES))
    named = NamedPlaces(
        np.array(names, np.uint32), np.array(modes, np.int8), np.array(names) == NAMELESS
    )
    process, path = st.integers(0, PROCESSES - 1), st.integers(0, len(paths) - 1)
    return paths, named, kinds, draw(st.lists(st.tuples(process, path), max_size=20))


NAMELESS = 0
_TOPS = tuple(range(100, 100 + PROCESSES))


def naive_join(
    path: Path, named: NamedPlaces, kinds: Sequence[PlaceKind], top: int
) -> tuple[Path, Mode]:
    frames, mode = [top], Mode.SYSTEM
    for above, here in zip((None, *path), path, strict=False):
        is_more = above is not None and named.is_nameless[above] and named.is_nameless[here]
        if not is_more:
            frames.append(int(named.frame[here]))
        if named.mode[here] >= 0:
            mode = Mode(int(named.mode[here]))
    if path and kinds[path[-1]] == PlaceKind.USER:
        mode = Mode.USER
    return tuple(frames), mode


@given(joins())
@settings(deadline=None, max_examples=200)
def test_what_leads_to_the_same_names_is_one_node_whatever_the_order(
    case: Join,
) -> None:
    paths, named, kinds, rows = case
    lengths = np.array([len(path) for path in paths], np.int64)
    steps = np.array([place for path in paths for place in path], np.uint32)
    nothing = np.zeros(PLACES, np.int64)
    places = Places(np.array(kinds, np.uint8), nothing.astype(np.int32), nothing.astype(np.uint64))
    builder = TreeBuilder()
    top = add(builder, [(frame,) for frame in _TOPS])
    process, path = np.array(rows, np.int64).reshape(-1, 2).T
    ends, modes = builder.join(
        Paths(places, steps, np.cumsum(lengths) - lengths, lengths), named, top, process, path
    )
    wanted = [naive_join(paths[number], named, kinds, _TOPS[one]) for one, number in rows]
    tree, renumbered = builder.finish(FRAMES, ends.astype(np.int64), modes)
    found = paths_of(tree)
    assert [found[node] for node in renumbered[ends]] == [frames for frames, _ in wanted]
    assert modes.tolist() == [mode for _, mode in wanted]
    assert len(set(found)) == len(found)


def test_a_process_path_or_place_that_there_is_not_is_refused() -> None:
    one = np.zeros(1, np.int64)
    places = Places(one.astype(np.uint8), one.astype(np.int32), one.astype(np.uint64))
    paths = Paths(places, one.astype(np.uint32), one, one + 1)
    named = NamedPlaces(one.astype(np.uint32), one.astype(np.int8), one == 1)
    builder = TreeBuilder()
    for top, process, path in ((one, one + 1, one), (one, one, one + 1), (one + 1, one, one)):
        with pytest.raises(ValueError, match="that there is not"):
            builder.join(paths, named, top, process, path)
    none = NamedPlaces(named.frame[:0], named.mode[:0], named.is_nameless[:0])
    with pytest.raises(ValueError, match="not all places are named"):
        builder.join(paths, none, one, one, one)
