"""2,000 real memory cgroups that outlived their directory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evidence.conftest import ZOMBIES, Story
from tests.kernel.memcg import PAGE, unflushed_bytes
from tests.kernel.node import needs_root

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(400), needs_root]


def row(answer: Any, name: str) -> Any:
    return next(one for one in answer["names"] if one["name"] == name)


def test_they_are_counted_within_one_percent(story: Story) -> None:
    risen = story.zombies["zombies"] - story.zombies_before
    # Whoever else is on this machine may leave some, too; that is seen by name.
    others = [
        one for one in story.zombies["names"] if not one["name"].startswith(story.leak.parent)
    ]
    left = sum(max(0, one["removed"] - one["released"]) for one in others)
    assert risen - left == pytest.approx(ZOMBIES, rel=0.01)
    assert story.zombies["tracked"] - story.zombies["live"] == pytest.approx(
        story.zombies["zombies"], abs=0.01 * ZOMBIES
    )


def test_their_parent_is_named_and_what_pins_them(story: Story) -> None:
    parents = {one["path"]: one for one in story.zombies["parents"]}
    parent = parents[story.leak.parent]
    if parent["zombies"] is not None:  # v2 says the number
        assert parent["zombies"] == pytest.approx(ZOMBIES, rel=0.01)
        return
    assert parent["shmem_bytes"] == pytest.approx(ZOMBIES * PAGE, abs=unflushed_bytes())
    for other in ("anonymous_bytes", "file_bytes"):
        assert parent[other] <= unflushed_bytes(), "nothing else pins them"
    assert parent["shmem_bytes"] == max(one["shmem_bytes"] for one in parents.values())


def test_every_birth_and_removal_is_counted_under_one_name(story: Story) -> None:
    leaked = row(story.zombies, f"{story.leak.parent}/z*")
    assert leaked["born"] == pytest.approx(ZOMBIES, rel=0.01)
    assert leaked["removed"] == pytest.approx(ZOMBIES, rel=0.01)
    assert leaked["released"] < 0.01 * ZOMBIES
    assert story.zombies["names"][0] == leaked, "who left most comes first"


def test_the_growth_is_right(story: Story) -> None:
    growth = story.zombies["growth"]
    per_hour = 3600 * ZOMBIES / (story.leak.ended - story.leak.began)
    assert growth["per_hour"] == pytest.approx(per_hour, rel=0.2)
    assert growth["low_per_hour"] > 0
    walks = story.zombies["outlook"]["walks"]
    assert all(walk["in_seconds"] is not None for walk in walks), "at this rate it will hurt"
    # 4 KB of per-CPU data on 2 cores and some 13 KB of slab (facts 3.1).
    assert 4_000 < story.zombies["bytes_per_zombie"] < 500_000


def test_let_go_they_are_gone_and_their_releases_are_counted(story: Story) -> None:
    fallen = story.zombies["zombies"] - story.zombies_later["zombies"]
    assert fallen == pytest.approx(ZOMBIES, abs=0.03 * ZOMBIES)
    leaked = row(story.zombies_later, f"{story.leak.parent}/z*")
    assert leaked["released"] == pytest.approx(ZOMBIES, rel=0.01)
    states = {one["name"]: one["state"] for one in story.status["sources"]}
    assert states["memcg"] == states["memcg-holders"] == "ok"
    assert states.get("cgroup-births", "ok") == "ok", "none was lost"
