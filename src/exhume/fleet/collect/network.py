"""Network cards: driver, firmware, queues, rings, and which cores their interrupts go to."""

from __future__ import annotations

from contextlib import suppress

from exhume.errors import ParseError
from exhume.fleet.collect.found import Found, line_of, names_in
from exhume.host import Host
from exhume.sources import ethtool, interfaces, interrupts
from exhume.sources.queues import queue_of

_BALANCERS = frozenset({"irqbalance"})


def collect(host: Host, ioctl: ethtool.Ioctl | None = None) -> Found:
    found = Found()
    for card in interfaces.read(host) or ():
        if not card.device:
            continue
        found.put("nic", f"{card.name} driver", card.driver or None)
        with suppress(OSError, ParseError):
            driver = ethtool.read_driver(card.name, ioctl)
            if driver is not None:
                found.put("nic", f"{card.name} driver version", driver.version or None)
                found.put("nic", f"{card.name} firmware", driver.firmware or None)
        with suppress(OSError):
            ring = ethtool.read_ring(card.name, ioctl)
            if ring is not None:
                found.put("nic", f"{card.name} receive ring", ring[0])
                found.put("nic", f"{card.name} transmit ring", ring[1])
        folder = host.sys / "class/net" / card.name
        queues = names_in(folder / "queues")
        for direction in ("rx", "tx"):
            count = sum(name.startswith(f"{direction}-") for name in queues)
            found.put("nic", f"{card.name} {direction} queues", count or None)
        for name in ("mtu", "tx_queue_len", "speed"):
            text = line_of(folder / name)
            if text is not None and text.isdigit():
                found.put("nic", f"{card.name} {name}", int(text))
        steering = {
            line_of(folder / "queues" / queue / "rps_cpus")
            for queue in queues
            if queue.startswith("rx-")
        }
        found.put("nic", f"{card.name} rps", tuple(sorted(filter(None, steering))) or None)
    _affinity(host, found)
    return found


def _affinity(host: Host, found: Found) -> None:
    """By the wish, not by what a balancer made of it this minute; queues only."""
    with suppress(OSError, ParseError):
        known = interrupts.read(host)
        for line in known.lines if known else ():
            if not line.irq.isdigit() or queue_of(line.name) is None:
                continue
            wish = line_of(host.proc / "irq" / line.irq / "smp_affinity_list")
            found.put("irq", line.name, wish, "state")
    balancing = any(line_of(host.proc / str(pid) / "comm") in _BALANCERS for pid in host.pids())
    found.put("irq", "irqbalance", "runs" if balancing else "does not run", "state")
