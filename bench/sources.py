"""What reading each source costs: CPU µs a read, on this machine and on a made-up one of 96 cores.

The made-up one is plain files, so it has the parsing but not the kernel's share of making them up.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from exhume.derive import signatures
from exhume.host import Host
from exhume.sources import (
    cpu,
    cpu_bandwidth,
    ethtool,
    interrupts,
    kmsg,
    memcg_count,
    memcg_holders,
    meminfo,
    pressure,
    processes,
    schedstat,
    softirqs,
    softnet,
    units,
    vmstat,
)
from tests.sources.trees import Machine, Tree
from tests.sources.trees import interrupts as made_interrupts

# How often the recorder reads it, in seconds, for the last column.
EVERY = {"meminfo": 10, "ethtool": 10, "memcg count": 10, "cpu bandwidth": 10, "units": 10}
EVERY |= {"affinity": 60, "memcg holders": 60}

T = TypeVar("T")


def sources(host: Host) -> dict[str, Callable[[], object]]:
    lines = interrupts.InterruptsReader(host)
    known = lines.read()
    threads = schedstat.NetworkThreads(host)
    hot = processes.ProcessReader(host)
    nics = ethtool.EthtoolReader(host)
    log = kmsg.KmsgReader(host)
    bandwidth = cpu_bandwidth.BandwidthReader(host)
    services = units.UnitReader(host)

    def fresh_count() -> object:
        return memcg_count.MemcgCounter(host).read()

    return {
        "cpu": lambda: _ticks(cpu.read(host), cpu.readings),
        "softirqs": lambda: _ticks(softirqs.read(host), softirqs.readings),
        "interrupts, whole": lambda: interrupts.read(host),
        "interrupts, changes": lambda: _ticks(lines.read(), interrupts.readings),
        "affinity": lambda: interrupts.read_affinity(host, known) if known else None,
        "softnet": lambda: _ticks(softnet.read(host), softnet.readings),
        "vmstat": lambda: _ticks(vmstat.read(host), vmstat.readings),
        "meminfo": lambda: _ticks(meminfo.read(host), meminfo.readings),
        "pressure": lambda: _ticks(pressure.read(host), pressure.readings),
        "network threads": lambda: _ticks(threads.read(), schedstat.readings),
        "processes": hot.read,
        "memcg count": fresh_count,
        "memcg holders": lambda: memcg_holders.HolderSearch(host).read(),
        "cpu bandwidth": bandwidth.read,
        "ethtool": nics.read,
        "kmsg": log.read,
        "units": services.read,
    }


def _ticks(read: T | None, readings: Callable[[T], object]) -> object:
    return None if read is None else readings(read)


def cost_us(
    read: Callable[[], object], seconds: float = 0.3, before: Callable[[], object] = int
) -> tuple[float, bool]:
    """CPU time a call, the lower quartile, and whether there was anything to read."""
    try:
        first = read()
    except OSError:
        return 0.0, False
    spent: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(spent) < 3:
        before()
        start = time.process_time()
        read()
        spent.append(time.process_time() - start)
    return sorted(spent)[len(spent) // 4] * 1e6, first is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=96, help="of the made-up machine")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder), Machine(chosen.cores)).build()
        real = {name: cost_us(read) for name, read in sources(Host()).items()}
        host = Host(tree.host.proc, tree.host.sys, tree.host.dev, tree.host.run)
        # Half of the lines move from tick to tick, as on a busy node.
        texts = itertools.cycle(
            [made_interrupts(tree.machine), made_interrupts(tree.machine, bump=7, step=2)]
        )
        made = {
            name: cost_us(read, before=lambda: tree.write("proc/interrupts", next(texts)))
            for name, read in sources(host).items()
        }
    load = f"load {os.getloadavg()[0]:.1f}"
    print(
        f"{os.cpu_count()} cores, Linux {os.uname().release}, {load}; CPU µs a read, with parsing"
    )
    print(f"{'source':22}{'here':>9}{f'{chosen.cores} cores':>11}{'every s':>9}{'% of a core':>13}")
    total = 0.0
    for name, (here, is_there) in real.items():
        there, is_made = made[name]
        every = EVERY.get(name, 1)
        share = max(here if is_there else 0, there if is_made else 0) / every / 1e4
        total += share if name != "interrupts, whole" else 0
        shown = [
            f"{x:9.0f}" if ok else "        –" for x, ok in ((here, is_there), (there, is_made))
        ]
        print(f"{name:22}{shown[0]}{shown[1]:>11}{every:9}{share:13.4f}")
    print(f"{'all':22}{'':29}{total:13.4f}")
    line = "ena 0000:00:05.0 eth0: Found a Tx that wasn't completed on time, qid 2, index 961."
    for what, text in (("that matches", line), ("that does not", "an ordinary line " * 5)):
        spent, _ = cost_us(partial(_match_often, text))
        print(f"a kernel log line {what}: {spent / 100:.1f} µs")


def _match_often(text: str) -> object:
    return [signatures.match(text) for _ in range(100)]


if __name__ == "__main__":
    main()
