"""What a node does just now: processes and a few levels. No diff shows them unasked."""

from __future__ import annotations

import re

from exhume.fleet.collect.found import Found, line_of
from exhume.host import Host
from exhume.sources.memcg_count import MemcgCounter

_KERNEL_THREAD = 0x00200000
_MAX_PIDS = 50_000


def collect(host: Host) -> Found:
    found = Found()
    found.area("process")
    for pid in host.pids()[:_MAX_PIDS]:
        text = line_of(host.proc / str(pid) / "stat")
        match = re.fullmatch(r"\d+ \((.*)\) (\S) (.*)", text, re.DOTALL) if text else None
        if match and not _is_kernel_thread(match[3]):
            # worker-17 and worker-18 are one thing.
            found.put("process", re.sub(r"\d{2,}", "*", match[1]), "runs", "load")
    counted = MemcgCounter(host).read()
    if counted is not None:
        found.put("load", "memory cgroups", counted.tracked, "load")
        found.put("load", "zombies", counted.zombies, "load")
    average = host.read_proc("loadavg")
    if average:
        found.put("load", "five minutes' average", float(average.split()[1]), "load")
    match = re.search(r"^MemAvailable: +(\d+) kB", host.read_proc("meminfo") or "", re.MULTILINE)
    if match:
        found.put("load", "memory available GiB", round(int(match[1]) / (1 << 20), 1), "load")
    return found


def _is_kernel_thread(rest: str) -> bool:
    """The flags are the sixth column after the state."""
    columns = rest.split()
    return len(columns) > 5 and columns[5].isdigit() and bool(int(columns[5]) & _KERNEL_THREAD)
