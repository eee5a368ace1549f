"""Which core belongs to which NUMA node, by the last word on it."""

from __future__ import annotations

from exhume.derive.zombies import last
from exhume.model.answers import CoreNode
from exhume.model.window import Window
from exhume.store.queries.series import series
from exhume.store.recording import Recording

_LOOK_BACK_NS = 600 * 1_000_000_000
"""It is read once a minute, and seldom changes: where it stood at the end is enough."""


def numa_nodes(recording: Recording, window: Window) -> tuple[CoreNode, ...]:
    """In order of cores; empty where it was not recorded."""
    recent = Window(max(window.start_ns, window.end_ns - _LOOK_BACK_NS), window.end_ns)
    found = {
        int(one.instance): node
        for one in series(recording, "topology.numa_node", recent)
        if one.instance.isascii() and one.instance.isdigit() and (node := last(one)) is not None
    }
    return tuple(CoreNode(core, node) for core, node in sorted(found.items()))
