"""Sums over trees against the same sums taken stack by stack."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.flame import FrameTable, branches_of, flame_tree, joined, merge_trees
from exhume.derive.stacks import carried_down, level_starts, outermost, sum_up
from exhume.model.answers import FlameTree
from exhume.model.arrays import I64
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.model.window import Window

WINDOW = Window(0, 1)
Weights = dict[tuple[Frame, ...], int]


def frame(letter: str) -> Frame:
    return Frame(letter, "m", FrameKind.KERNEL)


def tree_of(stacks: list[str]) -> tuple[StackTree, dict[str, int]]:
    """A tree of stacks written as words, a letter a frame."""
    nodes = {word[:end] for word in stacks for end in range(len(word) + 1)} | {""}
    ordered = sorted(nodes, key=lambda word: (len(word), word))
    place = {word: index for index, word in enumerate(ordered)}
    letters = sorted({word[-1] for word in ordered if word})
    number = {letter: index + 1 for index, letter in enumerate(letters)}
    tree = StackTree(
        np.array([place[w[:-1]] if w else -1 for w in ordered], np.int32),
        np.array([number[w[-1]] if w else 0 for w in ordered], np.int32),
        np.zeros(len(ordered), np.uint8),
        (Frame("", "", FrameKind.UNKNOWN), *map(frame, letters)),
    )
    return tree, place


def weights_of(words: dict[str, int], tree: StackTree, place: dict[str, int]) -> I64:
    own = np.zeros(len(tree.parent), np.int64)
    for word, weight in words.items():
        own[place[word]] += weight
    return own


def flame_of(words: dict[str, int], min_share: float = 0.0) -> FlameTree:
    tree, place = tree_of(list(words))
    table = FrameTable()
    branches = branches_of(tree, weights_of(words, tree, place), level_starts(tree.parent), table)
    return flame_tree(branches, table.frames(), WINDOW, len(words), min_share)


def as_words(tree: FlameTree) -> tuple[dict[str, int], dict[str, int]]:
    """Every node's path with its total and its own time."""
    paths: list[str] = []
    for parent, value in zip(tree.parent.tolist(), tree.frames, strict=True):
        paths.append(paths[parent] + value.name if parent >= 0 else "")
    assert len(set(paths)) == len(paths), "one node a path"
    assert all(p < i for i, p in enumerate(tree.parent.tolist()))
    total = dict(zip(paths, tree.total_ns.tolist(), strict=True))
    own = dict(zip(paths, tree.self_ns.tolist(), strict=True))
    return total, own


words = st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 10**9), min_size=1)


@given(words)
def test_levels_end_where_the_next_one_begins(stacks: dict[str, int]) -> None:
    tree, place = tree_of(list(stacks))
    lengths = [len(word) for word in place]
    expected = [lengths.index(depth) for depth in range(max(lengths) + 1)]
    assert level_starts(tree.parent) == [*expected, len(lengths)]


@given(words)
def test_a_node_holds_what_all_stacks_through_it_hold(stacks: dict[str, int]) -> None:
    tree, place = tree_of(list(stacks))
    own = weights_of(stacks, tree, place)
    total = sum_up(tree.parent, own, level_starts(tree.parent))
    for word, node in place.items():
        assert total[node] == sum(w for s, w in stacks.items() if s.startswith(word))


@given(words)
def test_recursion_counts_once(stacks: dict[str, int]) -> None:
    tree, place = tree_of(list(stacks))
    first = outermost(tree.parent, tree.frame)
    for word, node in place.items():
        assert first[node] == (not word or word[-1] not in word[:-1])


@given(words)
def test_the_process_of_a_node_is_its_ancestor_on_the_first_level(stacks: dict[str, int]) -> None:
    tree, place = tree_of(list(stacks))
    process = carried_down(tree.parent, tree.frame, level_starts(tree.parent), 1)
    for word, node in place.items():
        if word:
            assert tree.frames[process[node]].name == word[0]


@given(words)
def test_a_flame_tree_has_every_path_with_time_and_no_other(stacks: dict[str, int]) -> None:
    total, own = as_words(flame_of(stacks))
    assert total == {
        word: sum(w for s, w in stacks.items() if s.startswith(word))
        for word in {s[:end] for s in stacks for end in range(len(s) + 1)}
    }
    assert {word: w for word, w in own.items() if w} == stacks


@given(words, st.floats(0, 1))
def test_pruned_time_is_accounted_for(stacks: dict[str, int], min_share: float) -> None:
    whole, pruned = flame_of(stacks), flame_of(stacks, min_share)
    total, own = as_words(pruned)
    assert pruned.total_ns[0] == whole.total_ns[0]
    assert sum(own.values()) + pruned.pruned_ns == sum(stacks.values())
    everything, _ = as_words(whole)
    limit = min_share * sum(stacks.values())
    assert total == {word: w for word, w in everything.items() if w >= limit or not word}


@given(st.lists(words, max_size=4))
def test_merging_trees_is_adding_their_stacks(parts: list[dict[str, int]]) -> None:
    merged = merge_trees([flame_of(part) for part in parts])
    expected: dict[str, int] = {}
    for part in parts:
        for word, weight in part.items():
            expected[word] = expected.get(word, 0) + weight
    _, own = as_words(merged)
    assert {word: w for word, w in own.items() if w} == expected
    assert merged.samples == sum(map(len, parts))


def test_merging_keeps_what_was_pruned_in_the_totals() -> None:
    a, b = flame_of({"ab": 90, "ac": 10}, 0.5), flame_of({"ab": 5})
    merged = merge_trees([a, b])
    total, own = as_words(merged)
    assert merged.pruned_ns == 10
    assert total == {"": 105, "a": 105, "ab": 95}
    assert own == {"": 0, "a": 0, "ab": 95}


def test_frames_are_told_apart_by_module_and_kind() -> None:
    user, kernel = Frame("read", "libc", FrameKind.USER), Frame("read", "libc", FrameKind.KERNEL)
    table = FrameTable()
    numbers = table.numbers((user, kernel, user), np.arange(3, dtype=np.int32))
    assert numbers.tolist() == [0, 1, 0]


def test_no_tree_at_all_is_a_root_without_time() -> None:
    tree = flame_tree(joined([]), (), WINDOW, 0, 0.0)
    assert tree.total_ns.tolist() == [0]
    assert tree.frames == (Frame("", "", FrameKind.UNKNOWN),)
