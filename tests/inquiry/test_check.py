"""A look at a node that is a directory, and at recordings of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.inquiry.check import check, check_imported, look_at
from exhume.model.window import Ended
from exhume.sources.units import Unit, UnitReader
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.cli.story import SECONDS, record
from tests.sources.trees import Machine, Tree, cgroup_stat
from tests.store.make import SECOND, T0, at, by_hand, jiffies

TIMES = jiffies(180, {core: {"user": 50, "idle": 50} for core in range(2)})
STORY_END = T0 + SECONDS * SECOND


def node(tmp_path: Path, kernel: str = "6.18.1", queues: int = 8) -> Tree:
    tree = Tree(tmp_path / "node", Machine(cores=4, queues=queues)).build()
    tree.write("proc/sys/kernel/osrelease", f"{kernel}\n")
    tree.write("proc/sys/kernel/hostname", "node-1\n")
    tree.clock.now_ns = STORY_END
    return tree


def test_a_node_without_systemd_and_recording_is_looked_at_and_clean(tmp_path: Path) -> None:
    tree = node(tmp_path)
    answer = check(None, tree.host)
    assert answer.status == "clean"
    assert (answer.node, answer.kernel) == ("node-1", "6.18.1")
    assert answer.looked == ("memory cgroups", "interrupts")
    assert answer.missing == ()


def test_zombies_and_an_old_kernel_are_seen(tmp_path: Path) -> None:
    tree = node(tmp_path, kernel="5.4.0")
    tree.write("sys/fs/cgroup/cgroup.stat", cgroup_stat(2, 70_000))
    answer = check(None, tree.host)
    assert answer.status == "risks"
    assert [one.kind for one in answer.risks] == ["zombie-cgroups", "zombie-walking-kernel"]
    assert answer.risks[0].figures["zombies"] == 70_000


def test_all_queues_of_a_card_on_one_core_are_seen(tmp_path: Path) -> None:
    tree = node(tmp_path)
    for number in range(8):
        tree.write(f"proc/irq/{30 + number}/effective_affinity_list", "2\n")
    (risk,) = check(None, tree.host).risks
    assert (risk.kind, risk.subject, risk.figures["core"]) == ("interrupt-imbalance", "eth0", 2)


def test_what_should_be_there_and_does_not_answer_is_not_clean(tmp_path: Path) -> None:
    tree = node(tmp_path)
    (tree.root / "run/systemd/system").mkdir(parents=True)
    answer = check(None, tree.host)
    assert answer.status == "unknown"
    assert answer.missing[0].startswith("systemd does not answer over D-Bus")


def test_broken_files_are_missing_and_no_crash(tmp_path: Path) -> None:
    tree = node(tmp_path)
    tree.write("proc/interrupts", "nonsense\n")
    tree.write("sys/fs/cgroup/cgroup.stat", "nr_descendants many\n")
    answer = check(None, tree.host)
    assert answer.status == "unknown"
    assert len(answer.missing) == 2


def test_units_are_asked_until_all_have_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Unit("a.service", "", "loaded", "activating", "auto-restart", "exit-code", 5,
                unit_file_state="enabled")  # fmt: skip
    answers = iter([(Unit("a.service", "", "loaded", "activating", "auto-restart"),), (told,)])

    def read(_: UnitReader) -> tuple[Unit, ...]:
        return next(answers)

    monkeypatch.setattr(UnitReader, "read", read)
    look = look_at(node(tmp_path).host)
    assert look.now.units is not None
    assert look.now.units[0].restarts_total == 5
    assert "1 services of systemd" in look.looked


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return Recording.open(Path(record(tmp_path_factory.mktemp("story"))))


def test_a_fresh_recording_tells_what_loops_and_leaks(tmp_path: Path, story: Recording) -> None:
    tree = node(tmp_path)
    tree.clock.now_ns = STORY_END + 60 * SECOND
    answer = check(story, tree.host)
    assert answer.looked[0] == "the last 20 min recorded"
    found = {one.kind: one for one in answer.risks}
    assert found["crash-loop"].subject == "ecs.service"
    assert found["zombie-cgroups"].figures["zombies"] == 60_114
    assert found["interrupt-imbalance"].subject == "eth0"
    assert "zombie-walking-kernel" in found
    assert answer.harmed.startswith("network-reset of eth0 queue 5")
    assert answer.harmed.endswith("; exhume why --last 1h says what is known of why")


def test_files_that_do_not_tell_are_not_clean(tmp_path: Path) -> None:
    """Of mpstat alone nobody knows whether something loops or leaks."""
    write_segment(tmp_path, by_hand([], blocks=TIMES, seconds=180, stretches=()))
    window = at(0, 180)
    answer = check_imported(Recording.open(tmp_path), Ended(window, window))
    assert (answer.status, answer.risks, answer.harmed) == ("unknown", (), "")
    assert [one.partition(":")[0] for one in answer.missing] == [
        "no counts of memory cgroups are in the files",
        "nothing in the files tells who starts again and again",
    ]


def test_an_old_recording_is_not_the_node_as_it_is_now(tmp_path: Path, story: Recording) -> None:
    tree = node(tmp_path)
    tree.clock.now_ns = STORY_END + 11 * 60 * SECOND
    answer = check(story, tree.host)
    assert answer.looked[0] == "not the recording, which ended 11 min ago"
    assert answer.status == "clean"


def enabled_by_hand(tree: Tree, name: str) -> None:
    tree.write(f"etc/systemd/system/{name}", "[Service]\nExecStart=/opt/x\n")
    wants = tree.host.root / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    (wants / name).symlink_to(f"/etc/systemd/system/{name}")


def test_an_enabled_agent_that_no_package_brought_is_told(tmp_path: Path) -> None:
    tree = node(tmp_path)
    enabled_by_hand(tree, "quux-shipper.service")
    answer = check(None, tree.host)
    assert answer.status == "risks"
    (risk,) = answer.risks
    assert (risk.kind, risk.subject) == ("unknown-agent", "quux-shipper.service")
    assert "belongs to no package (/etc/systemd/system/quux-shipper.service)" in risk.claim


def test_with_a_list_of_known_units_it_alone_decides(tmp_path: Path) -> None:
    tree = node(tmp_path)
    enabled_by_hand(tree, "quux-shipper.service")
    enabled_by_hand(tree, "other.service")
    assert check(None, tree.host, ("quux-*", "other.service")).status == "clean"
    (risk,) = check(None, tree.host, ("quux-*",)).risks
    assert risk.subject == "other.service"
    assert "is not among those that are known" in risk.claim
