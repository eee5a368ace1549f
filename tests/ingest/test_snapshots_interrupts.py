"""Which core an interrupt goes to, by copies of /proc/interrupts."""

from __future__ import annotations

from pathlib import Path

from exhume.model.series import MISSING
from tests.ingest.test_snapshots import mark, read, values


def copy(*counts: tuple[int, int, int]) -> str:
    """Of queues 0, 1, …: on three cores."""
    head = "            CPU0       CPU1       CPU2\n"
    lines = (
        f"{24 + queue:3}: {a:10} {b:10} {c:10}   PCI-MSI {queue}-edge      eth0-Tx-Rx-{queue}\n"
        for queue, (a, b, c) in enumerate(counts)
    )
    return (
        head + "".join(lines) + "LOC:        745        588        700   Local timer interrupts\n"
    )


QUEUES = ("24 eth0-Tx-Rx-0", "25 eth0-Tx-Rx-1")


def test_the_column_that_grows_is_where_it_goes(tmp_path: Path) -> None:
    text = (
        mark(0) + copy((9000, 8000, 0), (0, 0, 5000))
        + mark(60) + copy((9000, 9500, 0), (0, 0, 6000))
        + mark(120) + copy((9400, 9900, 0), (0, 0, 6003))
    )  # fmt: skip
    found = values(read(tmp_path, text), "irq.core")
    assert found[QUEUES[0]] == [MISSING, 1, -1], "since the boot on two, then on one, then on both"
    assert found[QUEUES[1]] == [2, 2, MISSING], "three interrupts tell nothing"


def test_a_reboot_begins_anew_and_a_wrap_does_not(tmp_path: Path) -> None:
    high = (1 << 32) - 100
    text = (
        mark(0) + copy((high, 0, 0), (0, 7000, 0))
        + mark(60) + copy((900, 0, 0), (0, 0, 50))
    )  # fmt: skip
    found = values(read(tmp_path, text), "irq.core")
    assert found == {QUEUES[0]: [0, 0], QUEUES[1]: [1, 2]}
