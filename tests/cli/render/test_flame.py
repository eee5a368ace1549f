from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec.structs import replace

from exhume.cli.figures import NS
from exhume.cli.render.flame import bar, render, walk
from exhume.model.answers import FlameTree
from exhume.model.stack import FrameKind
from tests.cli.made_up import (
    HOSTILE,
    STORY_WINDOW,
    VIEW,
    assert_harmless,
    drawn,
    flame_tree,
    frame,
    look,
)

AT_80 = """\
03:14:02 – 03:14:07 UTC · 480 samples in 5 s
100 % is 4.95 s of core time: 99 % of one core.

   96 % █████████▋ kubelet → runtime.goexit → main.(*Manager).housekeeping →
                   │   syscall.read → vfs_readᵏ → memcg_stat_showᵏ  self 2.1 %
   73 % ███████▎   ├ mem_cgroup_nr_lru_pagesᵏ  self 67 %
  6.2 % ▋          │ └ _raw_spin_unlock_irqrestoreᵏ
   20 % ██         └ cpumask_nextᵏ
  2.5 % ▎          python → train_step
  1.2 % ▏          swapper → common_interruptᵏ → ena_io_pollᵏ

Not drawn: branches below 1 %, 0.6 % of the time in sum (it counts in their
callers).
"""


def shown(tree: FlameTree, width: int = 80, min_percent: float = 1.0) -> str:
    made = render(tree, VIEW, look(width), seconds_sampled=5.0, min_percent=min_percent)
    return drawn(made, width)


def test_the_tree_on_one_screen() -> None:
    assert [line.rstrip() for line in shown(flame_tree()).splitlines()] == AT_80.splitlines()


def test_shares_of_one_core_are_of_the_time_that_was_sampled() -> None:
    made = render(flame_tree(), VIEW, look(80), seconds_sampled=2.5, min_percent=1)
    text = drawn(made, 80)
    assert "480 samples in 2.5 s" in text
    assert "198 % of one core" in text


def test_samples_that_are_no_time_are_only_counted() -> None:
    shown = drawn(
        render(
            flame_tree(), VIEW, look(), seconds_sampled=5, min_percent=1, counted=("page-faults",)
        )
    )
    assert "100 % is 480 samples of page-faults: no measure of time on a core." in shown
    assert "core time" not in shown


def test_nothing_is_left_out_when_all_is_wanted() -> None:
    text = shown(flame_tree(), min_percent=0)
    assert "entry_SYSCALL_64" in text
    assert "Not drawn" not in text


def test_what_the_query_left_out_is_said_too() -> None:
    tree = replace(flame_tree(), pruned_ns=NS)
    assert "21 % of the time in sum" in shown(tree)


def chain(depth: int) -> FlameTree:
    parent = np.arange(-1, depth, dtype=np.int32)
    total = np.full(depth + 1, 10 * NS, np.int64)
    own = np.zeros(depth + 1, np.int64)
    own[-1] = total[0]
    frames = tuple(frame(f"function_{n}", FrameKind.USER) for n in range(depth + 1))
    return FlameTree(STORY_WINDOW, parent, frames, total, own, 970, 0)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_chain_is_one_entry_that_hides_no_name(width: int) -> None:
    text = shown(chain(200), width)
    assert max(map(len, text.splitlines())) <= width
    joined = "".join(text.split())
    assert all(f"function_{n}" in joined for n in range(1, 201))
    assert len(re.findall(r"\d %", text.split("\n\n")[1])) == 1


def comb(depth: int) -> FlameTree:
    """Every function does a bit itself, so that no two share a line."""
    own = np.full(depth + 1, NS, np.int64)
    own[0] = 0
    total = np.cumsum(own[::-1])[::-1].copy()
    frames = tuple(frame(f"f{n}", FrameKind.USER) for n in range(depth + 1))
    parent = np.arange(-1, depth, dtype=np.int32)
    return FlameTree(STORY_WINDOW, parent, frames, total, own, depth, 0)


def test_deep_trees_keep_room_for_names() -> None:
    text = shown(comb(90), 80, 0)
    assert max(map(len, text.splitlines())) <= 80
    assert all(re.search(rf"\bf{n}\b", text) for n in range(1, 91))
    assert "40⋯" in text


def test_very_deep_stacks_do_not_exhaust_python() -> None:
    assert sum(len(line.chain) for line in walk(comb(5_000), 0.0)) == 5_000


def test_no_samples_are_said() -> None:
    nothing = np.zeros(1, np.int64)
    root = np.array([-1], np.int32)
    empty = FlameTree(STORY_WINDOW, root, (frame(""),), nothing, nothing, 0, 0)
    assert "No samples" in shown(empty)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name: str) -> None:
    tree = flame_tree({"kubelet": name, "vfs_read": name, "cpumask_next": name})
    for width in (40, 80, 200):
        assert_harmless(shown(tree, width))


def test_a_bar_is_never_empty_and_never_too_long() -> None:
    for share in (0.0001, 0.5, 0.9999, 1.0, 1.2):
        assert len(bar(share, 10)) == 10
        assert bar(share, 10).strip()
