"""/sys/class/net."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.host import Host
from exhume.sources import interfaces
from exhume.sources.interfaces import Interface, interface_of
from tests.sources.trees import Machine, Tree


def test_an_interface_is_joined_to_its_device_and_driver(tmp_path: Path) -> None:
    tree = Tree(tmp_path, Machine(2)).build()
    tree.network_card("eth1", "virtio2", "virtio_net")
    found = interfaces.read(tree.host)
    assert found == (
        Interface("eth0", "0000:00:05.0", "ena"),
        Interface("eth1", "virtio2", "virtio_net"),
        Interface("lo", "", ""),
    )
    assert interface_of("pci:0000:00:05.0", found) == "eth0"
    assert interface_of("virtio2", found) == "eth1"
    assert interface_of("eth0", found) == "eth0"
    assert interface_of("nvme0", found) is None


def test_no_network_at_all_is_none(tmp_path: Path) -> None:
    assert interfaces.read(Host(sys=tmp_path)) is None


@pytest.mark.kernel
def test_the_real_machine_has_a_loopback() -> None:
    found = interfaces.read(Host())
    assert found is not None
    assert "lo" in {one.name for one in found}
