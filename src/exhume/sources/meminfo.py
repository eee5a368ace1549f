"""/proc/meminfo: where the memory is. Percpu and slab that only grow are what zombies cost."""

from __future__ import annotations

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources.scan import number

PATH = "proc/meminfo"

CHOSEN: tuple[tuple[str, str], ...] = (
    ("memory.total_bytes", "MemTotal"),
    ("memory.free_bytes", "MemFree"),
    ("memory.available_bytes", "MemAvailable"),
    ("memory.buffers_bytes", "Buffers"),
    ("memory.cached_bytes", "Cached"),
    ("memory.dirty_bytes", "Dirty"),
    ("memory.writeback_bytes", "Writeback"),
    ("memory.anonymous_bytes", "AnonPages"),
    ("memory.shmem_bytes", "Shmem"),
    ("memory.slab_reclaimable_bytes", "SReclaimable"),
    ("memory.slab_unreclaimable_bytes", "SUnreclaim"),
    ("memory.percpu_bytes", "Percpu"),
    ("memory.kernel_stack_bytes", "KernelStack"),
    ("memory.page_tables_bytes", "PageTables"),
    ("memory.swap_total_bytes", "SwapTotal"),
    ("memory.swap_free_bytes", "SwapFree"),
)


class MemInfo(Struct, frozen=True):
    values_bytes: tuple[int | None, ...]
    """In the order of CHOSEN; None where this kernel does not say (Percpu came in 4.20)."""

    def value_bytes(self, key: str) -> int | None:
        return self.values_bytes[[name for _, name in CHOSEN].index(key)]


def read(host: Host) -> MemInfo | None:
    text = host.read_proc("meminfo")
    return None if text is None else parse(text)


def parse(text: str) -> MemInfo:
    found: dict[str, int] = {}
    for index, line in enumerate(text.splitlines(), 1):
        key, colon, rest = line.partition(":")
        if not colon:
            raise ParseError(PATH, index, "`Key: number kB`")
        if key not in _KEYS:
            continue
        value, _, unit = rest.strip().partition(" ")
        if unit != "kB":
            raise ParseError(PATH, index, "kB")
        found[key] = number(value, PATH, index) * 1024
    if "MemTotal" not in found:
        raise ParseError(PATH, "whole file", "MemTotal")
    return MemInfo(tuple(found.get(key) for _, key in CHOSEN))


def readings(info: MemInfo) -> tuple[Reading, ...]:
    found = zip(CHOSEN, info.values_bytes, strict=True)
    return Reading.of_nodes({field: value for (field, _), value in found if value is not None})


_KEYS = frozenset(key for _, key in CHOSEN)
