"""Which device queue an interrupt serves, by the name its driver gave it in /proc/interrupts.

`TX q 5` of eth0 in the kernel log is the line `eth0-Tx-Rx-5` here, and its affinity is the core:
the join that leads from a network reset to the core that starved it.
"""

from __future__ import annotations

import re

from msgspec import Struct


class Queue(Struct, frozen=True):
    device: str
    """An interface, a virtio or NVMe device, or `pci:0000:08:00.0` where only that is said."""
    queue: int | None
    """None for the interrupt that manages the device."""
    direction: str
    """`tx`, `rx`, `tx+rx`, `io` or `management`."""


# Each with the names it is for. Tried in order, on the whole name.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), direction)
    for pattern, direction in (
        # ena: eth0-Tx-Rx-5. igb, ixgbe, bnxt_en: eth0-TxRx-3. i40e, ice, iavf: i40e-eth0-TxRx-0.
        (r"(?:(?:i40e|ice|iavf|bnxt_en)-)?(?P<device>.+?)-Tx-?Rx-(?P<queue>\d+)", "tx+rx"),
        # vmxnet3: ens192-rxtx-0. bnx2x: eth0-fp-0.
        (r"(?P<device>.+?)-(?:rxtx|fp)-(?P<queue>\d+)", "tx+rx"),
        # igb, tg3, atlantic and others: eth0-tx-0, eth0-rx-1.
        (r"(?:(?:i40e|ice|iavf)-)?(?P<device>.+?)-[Tt]x-?(?P<queue>\d+)", "tx"),
        (r"(?:(?:i40e|ice|iavf)-)?(?P<device>.+?)-[Rr]x-?(?P<queue>\d+)", "rx"),
        # xen-netfront: eth0-q0-tx.
        (r"(?P<device>.+?)-q(?P<queue>\d+)-tx", "tx"),
        (r"(?P<device>.+?)-q(?P<queue>\d+)-rx", "rx"),
        # virtio_net: virtio2-output.0, virtio2-input.0; one queue, no number on old kernels.
        (r"(?P<device>virtio\d+)-output(?:\.(?P<queue>\d+))?", "tx"),
        (r"(?P<device>virtio\d+)-input(?:\.(?P<queue>\d+))?", "rx"),
        # virtio_blk, virtio_scsi: virtio1-req.0.
        (r"(?P<device>virtio\d+)-req(?:uest)?(?:\.(?P<queue>\d+))?", "io"),
        # mlx5_core: mlx5_comp3@pci:0000:08:00.0. mlx4: mlx4-3@0000:04:00.0.
        (r"mlx5_comp(?P<queue>\d+)@(?P<device>pci:[\w:.]+)", "tx+rx"),
        (r"mlx4-(?P<queue>\d+)@(?P<device>[\w:.]+)", "tx+rx"),
        # gve: gve-ntfy-blk3@pci:0000:00:04.0; before 6.x eth0-ntfy-block.3.
        (r"gve-ntfy-blk(?P<queue>\d+)@(?P<device>pci:[\w:.]+)", "tx+rx"),
        (r"(?P<device>.+?)-ntfy-block\.(?P<queue>\d+)", "tx+rx"),
        # nvme: nvme0q3; queue 0 takes the admin commands.
        (r"(?P<device>nvme\d+)q0", "management"),
        (r"(?P<device>nvme\d+)q(?P<queue>\d+)", "io"),
        # ena-mgmnt@pci:0000:00:05.0, gve-mgmnt@pci:…, mlx5_async0@pci:…, eth0-mgmnt.
        (r"(?:ena-mgmnt|gve-mgmnt|mlx5_async\d*)@(?P<device>pci:[\w:.]+)", "management"),
        (r"(?P<device>.+?)-mgmnt", "management"),
    )
)
_MAX_NAME = 128


def queue_of(name: str) -> Queue | None:
    """None for what is no queue of a device. A shared line counts by its first handler."""
    first = name.split(",", 1)[0].strip()
    if len(first) > _MAX_NAME:
        return None
    for pattern, direction in _PATTERNS:
        match = pattern.fullmatch(first)
        if match:
            groups = match.groupdict()
            number = groups.get("queue")
            if number is None:
                queue = None if direction == "management" else 0
            elif not number.isascii() or len(number) > 9:
                return None
            else:
                queue = int(number)
            return Queue(groups["device"], queue, direction)
    return None
