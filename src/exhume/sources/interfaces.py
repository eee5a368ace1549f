"""/sys/class/net: network interfaces, the device behind each, and its driver.

Interrupt names of virtio and mlx5 carry the device, the kernel log carries the interface: this
joins them.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from exhume.host import Host


class Interface(Struct, frozen=True):
    name: str
    device: str
    """`0000:00:05.0`, `virtio2`; empty for one without hardware (lo, veth, bridge)."""
    driver: str
    """`ena`, `virtio_net`; empty where there is none."""


def read(host: Host) -> tuple[Interface, ...] | None:
    try:
        names = sorted(os.listdir(host.sys / "class/net"))
    except FileNotFoundError:
        return None
    return tuple(_interface(host.sys / "class/net" / name, name) for name in names)


def interface_of(device: str, interfaces: tuple[Interface, ...]) -> str | None:
    """The interface that `sources.queues.Queue.device` means; None where none is meant."""
    wanted = device.removeprefix("pci:")
    for interface in interfaces:
        if wanted == interface.name or (interface.device and wanted == interface.device):
            return interface.name
    return None


def _interface(path: Path, name: str) -> Interface:
    return Interface(name, _target(path / "device"), _target(path / "device/driver"))


def _target(link: Path) -> str:
    try:
        return link.readlink().name
    except OSError:  # no hardware behind it, or it just went away
        return ""
