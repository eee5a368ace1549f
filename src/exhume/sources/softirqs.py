"""/proc/softirqs: how often each software interrupt ran on each core.

There is a column for every *possible* core, on line or not. NET_RX that stands still on a core
whose timer interrupts go on means that network work is put off there.
"""

from __future__ import annotations

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.model.arrays import I64
from exhume.model.reading import Reading
from exhume.sources.scan import core_columns, core_names, numbers

PATH = "proc/softirqs"

# Recorded: all ten of today's kernels. `BLOCK_IOPOLL` became `IRQ_POLL` in 4.5.
FIELD_OF = {
    "HI": "softirq.hi",
    "TIMER": "softirq.timer",
    "NET_TX": "softirq.net_tx",
    "NET_RX": "softirq.net_rx",
    "BLOCK": "softirq.block",
    "BLOCK_IOPOLL": "softirq.irq_poll",
    "IRQ_POLL": "softirq.irq_poll",
    "TASKLET": "softirq.tasklet",
    "SCHED": "softirq.sched",
    "HRTIMER": "softirq.hrtimer",
    "RCU": "softirq.rcu",
}


class SoftIrqs(Struct, frozen=True):
    cores: tuple[int, ...]
    names: tuple[str, ...]
    """As the kernel spells them."""
    counts: I64
    """Shape (names, cores). 32-bit in the kernel: they wrap."""


def read(host: Host) -> SoftIrqs | None:
    data = read_bytes(f"{host.proc}/softirqs")
    return None if data is None else parse(data)


def parse(text: bytes) -> SoftIrqs:
    header, *lines = text.split(b"\n")
    cores = core_columns(header, PATH)
    names: list[str] = []
    rows: list[bytes] = []
    for index, line in enumerate(lines, 2):
        if not line:
            continue
        name, colon, row = line.partition(b":")
        if not colon or not name.isascii():
            raise ParseError(PATH, index, "`NAME: counts`")
        if len(row.split()) != len(cores):
            raise ParseError(PATH, index, f"{len(cores)} numbers")
        names.append(name.strip().decode("ascii"))
        rows.append(row)
    if not rows or len(set(names)) != len(names):
        raise ParseError(PATH, 2, "one line for each software interrupt")
    counts = numbers(b" ".join(rows), len(rows) * len(cores), PATH, "whole file")
    return SoftIrqs(cores, tuple(names), counts.reshape(len(rows), len(cores)))


def readings(softirqs: SoftIrqs) -> tuple[Reading, ...]:
    instances = core_names(softirqs.cores)
    return tuple(
        Reading(FIELD_OF[name], instances, softirqs.counts[row])
        for row, name in enumerate(softirqs.names)
        if name in FIELD_OF
    )
