from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.host import Host
from exhume.model.check import EnabledUnit
from exhume.sources.unit_files import read
from tests.sources.trees import Machine, Tree

WANTS = "etc/systemd/system/multi-user.target.wants"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "node", Machine(cores=2)).build()


def enable(tree: Tree, name: str, file: str, wants: str = WANTS) -> None:
    tree.write(file.lstrip("/"), "[Service]\nExecStart=/bin/true\n")
    link(tree, name, file, wants)


def link(tree: Tree, name: str, to: str, wants: str = WANTS) -> None:
    folder = tree.host.root / wants
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(to)


def found(tree: Tree) -> dict[str, EnabledUnit]:
    units = read(tree.host)
    assert units is not None
    return {unit.name: unit for unit in units}


def test_a_node_without_systemd_has_none(tree: Tree) -> None:
    assert read(tree.host) is None


def test_by_convention_what_lies_in_etc_was_put_there_by_hand(tree: Tree) -> None:
    enable(tree, "sshd.service", "/usr/lib/systemd/system/sshd.service")
    enable(tree, "shipper.service", "/etc/systemd/system/shipper.service")
    enable(tree, "probe.timer", "/usr/local/lib/systemd/system/probe.timer")
    units = found(tree)
    assert {name: unit.is_packaged for name, unit in units.items()} == {
        "sshd.service": True, "shipper.service": False, "probe.timer": False,
    }  # fmt: skip
    assert units["shipper.service"].path == "/etc/systemd/system/shipper.service"
    assert units["shipper.service"].wanted_by == ("multi-user.target",)


def test_where_dpkg_keeps_lists_they_decide(tree: Tree) -> None:
    enable(tree, "cron.service", "/usr/lib/systemd/system/cron.service")
    enable(tree, "stray.service", "/usr/lib/systemd/system/stray.service")
    enable(tree, "ours.service", "/etc/systemd/system/ours.service")
    lists = "var/lib/dpkg/info"
    tree.write(f"{lists}/cron.list", "/.\n/lib/systemd/system/cron.service\n")  # before usr-merge
    tree.write(f"{lists}/ours.list", "/.\n/etc/systemd/system/ours.service\n")
    assert {name: unit.is_packaged for name, unit in found(tree).items()} == {
        "cron.service": True, "ours.service": True, "stray.service": False,
    }  # fmt: skip


def test_links_that_lead_nowhere_are_no_agents(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "outside.service").write_text("[Service]\n")
    link(tree, "masked.service", "/dev/null")
    link(tree, "gone.service", "/usr/lib/systemd/system/gone.service")
    link(tree, "loop.service", "loop.service")
    link(tree, "out.service", "../../../../../outside.service")
    link(tree, "notes.txt", "/etc/hostname")
    assert found(tree) == {}


def test_an_alias_and_two_wants_are_one_agent(tree: Tree) -> None:
    enable(tree, "a.service", "/usr/lib/systemd/system/a.service")
    link(tree, "a.service", "/usr/lib/systemd/system/a.service",
         "etc/systemd/system/network.target.requires")  # fmt: skip
    (unit,) = found(tree).values()
    assert unit.wanted_by == ("multi-user.target", "network.target")


@given(st.binary(max_size=200))
def test_any_list_of_dpkg_is_read(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    tree = Tree(tmp_path_factory.mktemp("any") / "node", Machine(cores=2)).build()
    enable(tree, "a.service", "/usr/lib/systemd/system/a.service")
    tree.write("var/lib/dpkg/info/a.list", "")
    (tree.host.root / "var/lib/dpkg/info/a.list").write_bytes(text)
    assert set(found(tree)) == {"a.service"}


def test_this_machine_is_read() -> None:
    units = read(Host())
    assert units is None or all(unit.path.startswith("/") for unit in units)
