"""/sys/devices/system/node: which cores share memory. A burst that fills one NUMA node shows so."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources.scan import core_list, core_names

FOLDER = "devices/system/node"
_MAX_NODES = 1 << 10
"""As many as the kernel can be built for (NODES_SHIFT is 10 at most)."""


class Topology(Struct, frozen=True):
    cores: tuple[int, ...]
    numa_nodes: tuple[int, ...]
    """Of each core. Cores that are off belong to none, and are left out."""


def read(host: Host) -> Topology | None:
    """None on kernels that were built without NUMA."""
    online = host.read_sys(f"{FOLDER}/online")
    if online is None:
        return None
    nodes = core_list(online, f"sys/{FOLDER}/online")
    if nodes and nodes[-1] >= _MAX_NODES:
        raise ParseError(f"sys/{FOLDER}/online", 1, f"less than {_MAX_NODES} nodes")
    lists = {node: host.read_sys(f"{FOLDER}/node{node}/cpulist") for node in nodes}
    found = parse({node: text for node, text in lists.items() if text is not None})
    return found if found.cores else None


def parse(lists: Mapping[int, str]) -> Topology:
    """`cpulist` by node. A node of memory alone has an empty one."""
    found: dict[int, int] = {}
    for node, text in lists.items():
        path = f"sys/{FOLDER}/node{node}/cpulist"
        for core in core_list(text, path):
            if core in found:
                raise ParseError(path, 1, f"cores of no other node; {core} is of {found[core]} too")
            found[core] = node
    cores = tuple(sorted(found))
    return Topology(cores, tuple(found[core] for core in cores))


def readings(topology: Topology) -> tuple[Reading, ...]:
    names = core_names(topology.cores)
    return (Reading.of_each("topology.numa_node", names, topology.numa_nodes),)
