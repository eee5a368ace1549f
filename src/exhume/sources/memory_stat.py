"""memory.stat of the v1 memory controller: what is charged to a cgroup, and to all below it.

What the total has and neither the cgroup itself nor its live children explain is charged to dead
children: the residual names the parent of zombies, and its type says what pins them.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import read_text
from exhume.sources.scan import number

PATH = "memory.stat"


class Charged(Struct, frozen=True):
    cache_bytes: int
    """Page cache, shared memory and tmpfs."""
    shmem_bytes: int
    """Shared memory and tmpfs alone; 0 on kernels that do not tell."""
    anonymous_bytes: int

    @property
    def file_bytes(self) -> int:
        return self.cache_bytes - self.shmem_bytes

    def minus(self, other: Charged) -> Charged:
        return Charged(
            self.cache_bytes - other.cache_bytes,
            self.shmem_bytes - other.shmem_bytes,
            self.anonymous_bytes - other.anonymous_bytes,
        )


class MemoryStat(Struct, frozen=True):
    own: Charged
    total: Charged
    """With all below it. Equal to `own` where use_hierarchy is off."""

    @property
    def below(self) -> Charged:
        return self.total.minus(self.own)


def read(folder: Path) -> MemoryStat | None:
    text = read_text(folder / "memory.stat")
    return None if text is None else parse(text)


def parse(text: str) -> MemoryStat:
    found: dict[str, int] = {}
    for index, line in enumerate(text.splitlines(), 1):
        key, _, value = line.partition(" ")
        if key.removeprefix("total_") in ("cache", "shmem", "rss"):
            found[key] = number(value, PATH, index)
    if not {"cache", "rss", "total_cache", "total_rss"} <= found.keys():
        raise ParseError(PATH, "whole file", "cache, rss, total_cache and total_rss")
    return MemoryStat(
        own=Charged(found["cache"], found.get("shmem", 0), found["rss"]),
        total=Charged(found["total_cache"], found.get("total_shmem", 0), found["total_rss"]),
    )
