"""/proc/cgroups: how many cgroups each controller keeps, the dying ones included.

The dying ones are the point: a memory cgroup whose directory is gone lives on while a page is
charged to it, and is counted here and nowhere else on v1. Kernels built without CONFIG_MEMCG_V1
have no `memory` line (7.0-aws, Debian's 7.2): there cgroup.stat says it.
"""

from __future__ import annotations

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources.scan import number

PATH = "proc/cgroups"


class Controller(Struct, frozen=True):
    name: str
    hierarchy: int
    """0 for the unified one, or for none."""
    cgroups: int
    is_enabled: bool


def read(host: Host) -> dict[str, Controller] | None:
    text = host.read_proc("cgroups")
    return None if text is None else parse(text)


def parse(text: str) -> dict[str, Controller]:
    found: dict[str, Controller] = {}
    for index, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        columns = line.split()
        if len(columns) != 4:
            raise ParseError(PATH, index, "`name hierarchy num_cgroups enabled`")
        name, hierarchy, cgroups, enabled = columns
        found[name] = Controller(
            name,
            number(hierarchy, PATH, index),
            number(cgroups, PATH, index),
            enabled == "1",
        )
    return found
