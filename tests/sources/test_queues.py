"""Queue names of drivers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.sources.queues import Queue, queue_of


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("eth0-Tx-Rx-5", Queue("eth0", 5, "tx+rx")),
        ("ens5-Tx-Rx-3", Queue("ens5", 3, "tx+rx")),
        ("eth0-TxRx-31", Queue("eth0", 31, "tx+rx")),
        ("i40e-ens1f0-TxRx-0", Queue("ens1f0", 0, "tx+rx")),
        ("ice-eth-a-1-TxRx-7", Queue("eth-a-1", 7, "tx+rx")),
        ("ens192-rxtx-2", Queue("ens192", 2, "tx+rx")),
        ("eth0-fp-4", Queue("eth0", 4, "tx+rx")),
        ("eth0-tx-1", Queue("eth0", 1, "tx")),
        ("eth0-rx-1", Queue("eth0", 1, "rx")),
        ("eth0-q3-tx", Queue("eth0", 3, "tx")),
        ("vif1.0-q3-rx", Queue("vif1.0", 3, "rx")),
        ("virtio2-output.0", Queue("virtio2", 0, "tx")),
        ("virtio2-input.7", Queue("virtio2", 7, "rx")),
        ("virtio1-req.0", Queue("virtio1", 0, "io")),
        ("virtio4-input", Queue("virtio4", 0, "rx")),
        ("mlx5_comp3@pci:0000:08:00.0", Queue("pci:0000:08:00.0", 3, "tx+rx")),
        ("mlx5_async0@pci:0000:08:00.0", Queue("pci:0000:08:00.0", None, "management")),
        ("mlx4-3@0000:04:00.0", Queue("0000:04:00.0", 3, "tx+rx")),
        ("gve-ntfy-blk3@pci:0000:00:04.0", Queue("pci:0000:00:04.0", 3, "tx+rx")),
        ("eth0-ntfy-block.3", Queue("eth0", 3, "tx+rx")),
        ("ena-mgmnt@pci:0000:00:05.0", Queue("pci:0000:00:05.0", None, "management")),
        ("nvme0q3", Queue("nvme0", 3, "io")),
        ("nvme0q0", Queue("nvme0", None, "management")),
        ("eth0-Tx-Rx-2, uhci_hcd:usb1", Queue("eth0", 2, "tx+rx")),
        ("ttyS0", None),
        ("ACPI:Ged", None),
        ("virtio0-config", None),
        ("Local timer interrupts", None),
        ("", None),
    ],
)
def test_names_of_known_drivers_give_device_queue_and_direction(
    name: str, queue: Queue | None
) -> None:
    assert queue_of(name) == queue


@given(st.text(max_size=300))
def test_any_name_is_a_queue_or_none(name: str) -> None:
    queue = queue_of(name)
    assert queue is None or queue.device
