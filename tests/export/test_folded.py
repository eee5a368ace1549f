from __future__ import annotations

import re

import numpy as np
import pytest

from exhume.export.folded import lines
from exhume.model.answers import FlameTree
from exhume.model.stack import FrameKind
from tests.cli.made_up import HOSTILE, STORY_WINDOW, assert_harmless, flame_tree, frame


def test_stacks_count_samples() -> None:
    found = list(lines(flame_tree()))
    assert "python;train_step 12" in found
    assert sum(int(line.rpartition(" ")[2]) for line in found) == 480


def test_kernel_frames_are_marked_when_asked_for() -> None:
    found = list(lines(flame_tree(), mark_kernel=True))
    assert "swapper;common_interrupt_[k];ena_io_poll_[k] 6" in found
    assert "python;train_step 12" in found


def test_names_cannot_break_a_line() -> None:
    found = list(lines(flame_tree({"train_step": "a;b\nc d", "python": ""})))
    assert "[unknown];a\\x3bb\\x0ac d 12" in found


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name: str) -> None:
    tree = flame_tree({"kubelet": name, "vfs_read": name, "cpumask_next": name})
    found = list(lines(tree))
    assert_harmless("\n".join(found))
    assert all(re.fullmatch(r".* \d+", line) for line in found)
    assert len(found) == 8


def test_no_samples_give_no_lines_and_deep_stacks_one() -> None:
    nothing = np.zeros(1, np.int64)
    root = np.array([-1], np.int32)
    empty = FlameTree(STORY_WINDOW, root, (frame(""),), nothing, nothing, 0, 0)
    assert list(lines(empty)) == []
    depth = 5_000
    chain = FlameTree(
        STORY_WINDOW,
        np.arange(-1, depth, dtype=np.int32),
        tuple(frame(f"f{n}", FrameKind.USER) for n in range(depth + 1)),
        np.full(depth + 1, 10),
        np.array([*[0] * depth, 10]),
        1,
        0,
    )
    (line,) = lines(chain)
    assert line.count(";") == depth - 1


def test_counts_add_up_to_the_samples_where_the_rate_changed() -> None:
    frames = tuple(frame(f"f{n}") for n in range(8))
    parent = np.array([-1, *[0] * 7], np.int32)
    own = np.array([0, *[7] * 3, *[3] * 4], np.int64)
    total = own.copy()
    total[0] = own.sum()
    for samples in range(20, 60):
        tree = FlameTree(STORY_WINDOW, parent, frames, total, own, samples, 0)
        counts = [int(line.rpartition(" ")[2]) for line in lines(tree)]
        assert (len(counts), sum(counts)) == (7, samples)
