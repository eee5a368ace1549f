from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive import flame_shapes as shapes
from exhume.derive.flame import FrameTable, branches_of, flame_tree
from exhume.derive.stacks import level_starts
from exhume.model.answers import FlameTree
from exhume.model.window import Window
from tests.store.make import tree_of

Stacks = dict[tuple[str, ...], int]
STACKS: Stacks = {
    ("app", "main"): 1,
    ("app", "main", "work"): 2,
    ("app", "main", "work", "work", "k_read"): 4,
    ("app", "init", "work", "k_read"): 8,
    ("other", "main"): 16,
}


def tree(stacks: Stacks) -> FlameTree:
    made, nodes = tree_of(tuple(stacks))
    own = np.zeros(len(made.parent), np.int64)
    own[nodes] = list(stacks.values())
    table = FrameTable()
    branches = branches_of(made, own, level_starts(made.parent), table)
    return flame_tree(branches, table.frames(), Window(0, 1), sum(stacks.values()), 0.0)


def stacks_of(found: FlameTree) -> Stacks:
    """Every path that holds own time."""
    paths: list[tuple[str, ...]] = []
    for node, above in enumerate(found.parent.tolist()):
        paths.append((*paths[above], found.frames[node].name) if above >= 0 else ())
    return {path: int(own) for path, own in zip(paths, found.self_ns.tolist(), strict=True) if own}


def check_sums(found: FlameTree) -> None:
    """What a node holds is its own and its children's."""
    inside = np.bincount(found.parent[1:], found.total_ns[1:], len(found.parent))
    assert (found.total_ns == found.self_ns + inside).all()


def test_without_a_frame_its_stacks_are_gone() -> None:
    assert stacks_of(shapes.without(tree(STACKS), "k_read")) == {
        ("app", "main"): 1,
        ("app", "main", "work"): 2,
        ("other", "main"): 16,
    }


def test_only_a_frame_keeps_whole_stacks() -> None:
    found = shapes.only(tree(STACKS), "work")
    assert stacks_of(found) == {path: own for path, own in STACKS.items() if "work" in path}
    assert found.total_ns[0] == 14


def test_recursion_collapses_to_one_frame() -> None:
    found = shapes.collapsed(tree(STACKS))
    assert stacks_of(found)["app", "main", "work", "k_read"] == 4
    assert found.total_ns[0] == 31
    check_sums(found)


def test_callees_join_all_outermost_calls() -> None:
    assert stacks_of(shapes.callees(tree(STACKS), "work")) == {
        ("work",): 2,
        ("work", "work", "k_read"): 4,
        ("work", "k_read"): 8,
    }


def test_callers_are_the_way_up() -> None:
    assert stacks_of(shapes.callers(tree(STACKS), "k_read")) == {
        ("k_read", "work", "work", "main", "app"): 4,
        ("k_read", "work", "init", "app"): 8,
    }


def test_a_frame_that_is_not_there_leaves_an_empty_tree() -> None:
    for shape in (shapes.only, shapes.callees, shapes.callers):
        found = shape(tree(STACKS), "nobody")
        assert (len(found.parent), int(found.total_ns[0])) == (1, 0)


def test_two_trees_as_one_keep_both_times() -> None:
    mine: Stacks = {("app", "a"): 3, ("app", "b"): 1}
    theirs: Stacks = {("app", "b"): 5, ("zed",): 7}
    both, total, own = shapes.against(tree(mine), tree(theirs))
    names = [frame.name for frame in both.frames]
    assert dict(zip(names, both.total_ns.tolist(), strict=True)) == {
        "": 4, "app": 4, "a": 3, "b": 1, "zed": 0,
    }  # fmt: skip
    assert dict(zip(names, total.tolist(), strict=True)) == {
        "": 12, "app": 5, "a": 0, "b": 5, "zed": 7,
    }  # fmt: skip
    assert own[names.index("zed")] == 7


def test_what_an_interrupt_calls_is_painted_as_interrupt() -> None:
    found = tree({("swapper", "k_idle", "k_x"): 1})
    paints = [shapes.PAINTS[number] for number in shapes.paints(found).tolist()]
    assert paints[1:] == ["process", "kernel", "kernel"]
    frames = tuple(
        type(frame)("handle_softirqs" if frame.name == "k_idle" else frame.name, *rest)
        for frame in found.frames
        for rest in [(frame.module, frame.kind)]
    )
    irq = FlameTree(found.window, found.parent, frames, found.total_ns, found.self_ns, 1, 0)
    paints = [shapes.PAINTS[number] for number in shapes.paints(irq).tolist()]
    assert paints[1:] == ["process", "softirq", "softirq"]


words = st.sampled_from(["a", "b", "k_c"])
paths = st.lists(words, min_size=1, max_size=6).map(tuple)


@given(st.dictionaries(paths, st.integers(1, 50), min_size=1, max_size=12), words)
def test_hiding_and_keeping_part_the_time_in_two(stacks: Stacks, name: str) -> None:
    whole = tree(stacks)
    kept, rest = shapes.only(whole, name), shapes.without(whole, name)
    assert stacks_of(kept) | stacks_of(rest) == stacks_of(whole)
    assert kept.total_ns[0] + rest.total_ns[0] == whole.total_ns[0]
    for found in (kept, rest, shapes.collapsed(whole), shapes.callees(whole, name)):
        check_sums(found)
    assert shapes.callees(whole, name).total_ns[0] == kept.total_ns[0]
    assert shapes.callers(whole, name).total_ns[0] == kept.total_ns[0]


@given(
    st.dictionaries(paths, st.integers(1, 50), min_size=1, max_size=12),
    st.floats(0.01, 0.6),
    words,
)
def test_what_was_pruned_stays_counted(stacks: Stacks, share: float, name: str) -> None:
    thin = shapes.thinned(tree(stacks), share)
    assert thin.total_ns[0] == sum(stacks.values())
    found = shapes.collapsed(thin)
    assert found.total_ns[0] == thin.total_ns[0]
    assert found.pruned_ns == thin.pruned_ns
    parts = shapes.only(thin, name).total_ns[0] + shapes.without(thin, name).total_ns[0]
    assert parts == pytest.approx(thin.total_ns[0])
