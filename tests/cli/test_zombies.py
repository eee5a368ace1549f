from __future__ import annotations

from pathlib import Path

import pytest

from exhume.model.status import SourceState
from exhume.store.queries.zombies import missing
from exhume.store.queries.zombies import zombies as answer_of
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.cli.ask import Ask
from tests.cli.story import SECONDS, START_WALL, ZOMBIES_BEFORE, segments
from tests.store.make import SECOND, at, by_hand


@pytest.fixture
def ask(story: str, capsys: pytest.CaptureFixture[str]) -> Ask:
    return Ask(story, capsys)


def test_the_counts_their_growth_and_what_it_means(ask: Ask) -> None:
    found = ask.json("zombies")
    assert (found["live"], found["empty"], found["boots"]) == (240, 3, 1)
    assert found["zombies"] == found["counts"][-1] == ZOMBIES_BEFORE + 114
    assert found["growth"]["per_hour"] == pytest.approx(360)
    assert found["bytes_per_zombie"] == pytest.approx(338_000, rel=0.05)
    one, five = found["outlook"]["walks"]
    assert one["in_seconds"] == 0
    assert five["in_seconds"] == pytest.approx((71_429 - 60_114) * 10, rel=0.01)
    assert "numa_stat" in found["outlook"]["walker"]
    assert not found["outlook"]["reschedules"]


def test_parents_and_names_say_whose_they_are(ask: Ask) -> None:
    found = ask.json("zombies")
    (parent,) = found["parents"]
    assert (parent["path"], parent["zombies"]) == ("/system.slice", None)
    assert parent["shmem_bytes"] > parent["file_bytes"] == 0
    (name,) = found["names"]
    assert name == {
        "name": "/system.slice/ecs.service", "born": 119, "removed": 119, "released": 0,
    }  # fmt: skip
    assert found["missing"] == []


def test_the_screen_says_it_aloud(ask: Ask) -> None:
    text = " ".join(ask("zombies").split())
    assert "+360 an hour, over 19 m (20 counts)" in text
    assert "one walk takes 1 s from 14,286 zombies on: already" in text
    assert "one walk takes 5 s from 71,429 zombies on: in 1 d 7 h" in text
    assert "On Linux 5.4.0-1146-aws what walks them all is reading v1's memory.numa_stat" in text
    assert "without letting others run" in text
    assert "tmpfs or shared memory" in text
    assert "330 KiB a zombie" in text


def test_a_reboot_within_the_window_is_said_and_splits_the_growth(tmp_path: Path) -> None:
    from msgspec.structs import replace

    first, second = segments({})
    write_segment(tmp_path, first)
    write_segment(tmp_path, replace(second, origin=replace(second.origin, boot_id="another")))
    found = answer_of(Recording.open(tmp_path), at(0, SECONDS))
    assert found.boots == 2
    assert any("2 boots" in note for note in found.notes)
    assert found.growth is not None
    assert found.growth.over_ns < 600 * SECOND


def test_a_machine_without_a_memory_controller_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_segment(tmp_path, by_hand([]))
    text = Ask(str(tmp_path), capsys)(f"zombies --at {START_WALL} --for 10s")
    assert "missing: memory cgroups were not counted" in " ".join(text.split())
    absent = SourceState("memcg", "absent", "this machine does not offer it")
    (said,) = missing(None, None, [], (absent,))
    assert said.endswith("this machine has no memory controller")


def test_a_private_cgroup_namespace_is_told_as_the_reason() -> None:
    private = SourceState("memcg", "broken", "this process is in a cgroup namespace of its own")
    (said,) = missing(None, None, [], (private,))
    assert "namespace of its own" in said


def test_births_that_came_too_fast_are_told() -> None:
    lost = SourceState("cgroup-births", "broken", "7 births and removals came too fast")
    (_, said) = missing(None, None, [], (lost,))
    assert said == "births and releases by name: 7 births and removals came too fast"


def test_no_births_by_name_are_told(tmp_path: Path) -> None:
    from msgspec.structs import replace

    first, _ = segments({})
    blocks = tuple(block for block in first.blocks if block.field not in
                   ("memcg.births", "memcg.removals", "memcg.releases"))  # fmt: skip
    write_segment(tmp_path, replace(first, blocks=blocks))
    found = answer_of(Recording.open(tmp_path), at(0, 600))
    assert any("tracefs" in text for text in found.missing)
