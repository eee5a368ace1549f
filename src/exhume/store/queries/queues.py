"""Which network queues interrupt which core, by the last word on each line's affinity."""

from __future__ import annotations

from exhume.derive.queues import NETWORK
from exhume.derive.zombies import last
from exhume.model.answers import CoreQueues
from exhume.model.window import Window
from exhume.sources.queues import queue_of
from exhume.store.queries.series import series
from exhume.store.recording import Recording

_LOOK_BACK_NS = 600 * 1_000_000_000
"""Affinity is read once a minute; where it stood at the end of a window is enough for a label."""


def queues(recording: Recording, window: Window) -> tuple[CoreQueues, ...]:
    """In order of core and device; cores that serve no queue are left out."""
    recent = Window(max(window.start_ns, window.end_ns - _LOOK_BACK_NS), window.end_ns)
    found: dict[tuple[int, str], set[int]] = {}
    for one in series(recording, "irq.core", recent):
        name = one.instance.partition(" ")[2]
        queue = queue_of(name) if name else None
        core = last(one)
        if queue is None or queue.queue is None or queue.direction not in NETWORK:
            continue
        if core is not None and core >= 0:
            found.setdefault((core, queue.device), set()).add(queue.queue)
    return tuple(
        CoreQueues(core, device, tuple(sorted(numbers)))
        for (core, device), numbers in sorted(found.items())
    )
