"""Interrupt lines → which network device has its queues on one core. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from exhume.model.evidence import Crowd, IrqLine

NETWORK = ("tx", "rx", "tx+rx")
CROWDED_PERCENT = 80.0
"""Of a device's interrupts on one core, from here on it is crowded."""
_LEAST_PER_SECOND = 100.0
"""Below this it does not matter where they go, unless all queues are sent to one core."""
_OF_CORE = re.compile(r"(?:ksoftirqd|backlog_napi|ktimers|ktimersoftd|rcuc)/(\d{1,5})(?: \d+)?")


def is_network(line: IrqLine) -> bool:
    return line.direction in NETWORK and line.queue is not None


def crowds(lines: Sequence[IrqLine], cores: int) -> tuple[Crowd, ...]:
    """Devices with several queues, all of them, or nearly all their work, on one core."""
    found: list[Crowd] = []
    devices: dict[str, list[IrqLine]] = {}
    for line in lines:
        if is_network(line):
            devices.setdefault(line.device, []).append(line)
    for device, queues in devices.items():
        total = sum(_rate(queue) for queue in queues)
        # One queue has a line for each direction on some cards: it can't be spread any further.
        if cores < 2 or len({queue.queue for queue in queues}) < 2 or not total:
            continue
        for core in {queue.core for queue in queues if queue.core is not None}:
            here = [queue for queue in queues if queue.core == core]
            share = 100 * sum(map(_rate, here)) / total
            together = len(here) == len(queues)
            busy = share >= CROWDED_PERCENT and total >= _LEAST_PER_SECOND
            if len(here) > 1 and (together or busy):
                found.append(Crowd(device, core, len(here), len(queues), share))
    return tuple(sorted(found, key=lambda one: (-one.of_queues, one.device)))


def queues_on(lines: Iterable[IrqLine], core: int) -> int:
    return sum(is_network(line) and line.core == core for line in lines)


def core_of_thread(name: str) -> int | None:
    """`ksoftirqd/39` → 39. A NAPI thread wanders: its name tells the device."""
    match = _OF_CORE.fullmatch(name)
    return int(match[1]) if match else None


def _rate(line: IrqLine) -> float:
    return line.per_second if line.per_second > 0 else 0.0  # NaN is not
