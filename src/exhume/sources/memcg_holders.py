"""Which parent the zombie memory cgroups belong to, and what pins them.

A zombie can't be listed, but its parent can be named. v2: cgroup.stat counts the dying below each
directory, so go down where the count is, and what the children don't explain is the parent's own.
v1: memory.stat's total has the charges of dead children, and nothing else explains them.

Reading memory.stat of an ancestor walks every zombie on kernels before 5.2: doing that in a loop
is the very fault this tool exists to find. So a read that takes long ends the round.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

from msgspec import Struct, field

from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources import cgroup_stat, memory_stat
from exhume.sources.cgroup_tree import Hierarchy, children, find
from exhume.sources.memory_stat import Charged, MemoryStat

ROUND_NS = 50_000_000
SLOW_READ_NS = 10_000_000
MAX_HOLDERS = 10
_PAGE_BYTES = 4096

SLOW = "reading memory.stat takes long on this kernel: not read again, or we would be the fault"


class Holder(Struct, frozen=True):
    path: str
    """Below the root of the hierarchy: `/system.slice/docker.service`."""
    zombies: int | None
    """None on v1, where only their memory shows."""
    shmem_bytes: int = 0
    file_bytes: int = 0
    anonymous_bytes: int = 0

    @property
    def pinned_bytes(self) -> int:
        return self.shmem_bytes + self.file_bytes + self.anonymous_bytes

    @property
    def pin(self) -> str:
        """What most of the memory is: `shmem` (tmpfs), `file`, `anonymous`; empty if unknown."""
        sizes = {
            "shmem": self.shmem_bytes,
            "file": self.file_bytes,
            "anonymous": self.anonymous_bytes,
        }
        largest = max(sizes, key=lambda name: sizes[name])
        return largest if sizes[largest] > 0 else ""


class Holders(Struct, frozen=True):
    found: tuple[Holder, ...]
    """Largest first, MAX_HOLDERS at most."""
    is_complete: bool
    note: str = ""


class HolderSearch(Struct):
    """One search at a time, in rounds of ROUND_NS; `read` answers when a search has ended."""

    host: Host
    slowest_read_ns: int = 0
    """Of CPU time, not of waiting: a busy machine is no reason to give up."""
    _waiting: deque[str] = field(default_factory=deque)
    _found: list[Holder] = field(default_factory=list)

    def read(self) -> Holders | None:
        """None where zombies can't be attributed, or while the search goes on."""
        tree = find(self.host, "memory")
        if tree is None or not tree.is_whole:
            return None
        if self.slowest_read_ns > SLOW_READ_NS:
            return Holders((), is_complete=False, note=SLOW)
        if not self._waiting:
            self._waiting.append(str(tree.root))
            self._found = []
        end = self.host.clock.monotonic_ns() + ROUND_NS
        while self._waiting and self.host.clock.monotonic_ns() < end:
            folder = self._waiting.popleft()
            if tree.version == 2:
                self._look_v2(tree, folder)
            else:
                self._look_v1(tree, folder)
            if self.slowest_read_ns > SLOW_READ_NS:
                self._waiting.clear()
                return Holders(self._largest(), is_complete=False, note=SLOW)
        return None if self._waiting else Holders(self._largest(), is_complete=True)

    def _look_v2(self, tree: Hierarchy, folder: str) -> None:
        stat = cgroup_stat.read(Path(folder))
        if stat is None or stat.zombies == 0:
            return
        explained = 0
        for child in children(folder):
            below = cgroup_stat.read(Path(child))
            if below is not None and below.zombies > 0:
                explained += below.zombies
                self._waiting.append(child)
        if stat.zombies > explained:
            self._found.append(Holder(_below(tree, folder), stat.zombies - explained))

    def _look_v1(self, tree: Hierarchy, folder: str) -> None:
        before = self._stat(folder)
        if before is None or self.slowest_read_ns > SLOW_READ_NS:
            return
        below = Charged(0, 0, 0)
        for child in children(folder):
            stat = self._stat(child)
            if stat is None:
                return  # came or went meanwhile; next time
            if stat.below != Charged(0, 0, 0):  # most have nothing below them, dead or alive
                self._waiting.append(child)
            below = Charged(
                below.cache_bytes + stat.total.cache_bytes,
                below.shmem_bytes + stat.total.shmem_bytes,
                below.anonymous_bytes + stat.total.anonymous_bytes,
            )
            if self.slowest_read_ns > SLOW_READ_NS:
                return
        after = self._stat(folder)
        if after is None:
            return
        holder = Holder(
            _below(tree, folder),
            zombies=None,
            shmem_bytes=_steady(before, after, below, "shmem_bytes"),
            file_bytes=_steady(before, after, below, "file_bytes"),
            anonymous_bytes=_steady(before, after, below, "anonymous_bytes"),
        )
        if holder.pinned_bytes >= _PAGE_BYTES:
            self._found.append(holder)

    def _stat(self, folder: str) -> MemoryStat | None:
        start = time.thread_time_ns()
        stat = memory_stat.read(Path(folder))
        self.slowest_read_ns = max(self.slowest_read_ns, time.thread_time_ns() - start)
        return stat

    def _largest(self) -> tuple[Holder, ...]:
        def size(holder: Holder) -> tuple[int, int]:
            return (holder.zombies or 0, holder.pinned_bytes)

        return tuple(sorted(self._found, key=size, reverse=True)[:MAX_HOLDERS])


def readings(holders: Holders) -> tuple[Reading, ...]:
    if not holders.found:
        return ()
    paths = tuple(holder.path for holder in holders.found)
    if holders.found[0].zombies is not None:
        return (Reading.of_each("memcg.held", paths, [h.zombies for h in holders.found]),)
    return (
        Reading.of_each("memcg.pinned_shmem_bytes", paths, [h.shmem_bytes for h in holders.found]),
        Reading.of_each("memcg.pinned_file_bytes", paths, [h.file_bytes for h in holders.found]),
        Reading.of_each(
            "memcg.pinned_anonymous_bytes", paths, [h.anonymous_bytes for h in holders.found]
        ),
    )


def _steady(before: MemoryStat, after: MemoryStat, children_total: Charged, kind: str) -> int:
    """What nothing live explains, if it is more than what moved while the children were read."""
    first, last = (getattr(stat.below, kind) for stat in (before, after))
    residual = min(first, last) - getattr(children_total, kind)
    return int(residual) if residual > 2 * abs(last - first) else 0


def _below(tree: Hierarchy, folder: str) -> str:
    return folder[len(str(tree.root)) :] or "/"
