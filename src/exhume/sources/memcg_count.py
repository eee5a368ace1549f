"""Memory cgroups tracked by the kernel, live in the file system, and hence zombies.

v2 says it itself (cgroup.stat). On v1 the live ones must be counted by a walk, and the difference
is only worth something if the kernel's count stood still meanwhile: a stale live count invents
zombies. So `tracked` is read before and after, and a walk during which it moved is thrown away.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.host import Host, read_text
from exhume.model.reading import Reading
from exhume.sources import cgroup_stat, cgroups
from exhume.sources.cgroup_stat import CgroupStat
from exhume.sources.cgroup_tree import Hierarchy, Walk, find

WALK_EVERY_NS = 60_000_000_000
STEP_NS = 200_000_000
"""5,000 live cgroups take 15 to 40 ms. A walk in one piece is the likelier to stand still."""
MAX_DUTY_RATIO = 0.001
"""Whatever the size of the tree, walking it takes no more of a core than this."""
EMPTY_DUTY_RATIO = 0.0005
"""And looking for the empty ones, of which 20,000 take 0.3 s, this."""

PRIVATE_NAMESPACE = (
    "this process is in a cgroup namespace of its own and sees only a part of the tree: "
    "no zombies are claimed; run it with the host's (docker run --cgroupns=host)"
)
MOVED = "cgroups came and went during the walk; it is repeated"


class MemcgCount(Struct, frozen=True):
    version: int
    tracked: int | None
    """Live and dying. None where the kernel does not say."""
    live: int | None
    """None between walks."""
    zombies: int | None
    """None where it can't be known now; `note` says why."""
    empty: int | None = None
    """Live directories without processes or children: leaked ones, another disease."""
    note: str = ""


class MemcgCounter(Struct):
    """Call `read` every 10 s; it walks when it is time to, and rests as long as the walk cost."""

    host: Host
    _walk: Walk | None = None
    _tracked_before: int | None = None
    _next_walk_ns: int = 0
    _to_look_at: list[str] = field(default_factory=list)
    _empty_so_far: int = 0
    _next_empty_ns: int = 0

    def read(self) -> MemcgCount | None:
        """None where there is no memory controller."""
        tree = find(self.host, "memory")
        if tree is None:
            return None
        now = self.host.clock.monotonic_ns()
        if not tree.is_whole:
            return MemcgCount(tree.version, None, None, None, note=PRIVATE_NAMESPACE)
        count = self._by_stat(tree) if tree.version == 2 else None
        if count is None:
            tracked = _tracked(self.host, tree)
            count = MemcgCount(tree.version, tracked, None, None)
            if tracked is None:
                count = replace(count, note="the kernel does not count memory cgroups here")
        if now >= self._next_walk_ns:
            count = self._walk_on(tree, count, now)
        return replace(count, empty=self._look_for_empty(tree, now))

    def _by_stat(self, tree: Hierarchy) -> MemcgCount | None:
        stat = cgroup_stat.read(tree.root)
        return None if stat is None else by_stat(stat)

    def _walk_on(self, tree: Hierarchy, count: MemcgCount, now: int) -> MemcgCount:
        if self._walk is None or self._walk.root != tree.root:
            self._walk, self._tracked_before = Walk(tree.root), count.tracked
        self._walk.step(self.host, STEP_NS)
        spent = self.host.clock.monotonic_ns() - now
        self._next_walk_ns = now + int(spent / MAX_DUTY_RATIO)
        if not self._walk.is_done:
            return count
        walk, self._walk = self._walk, None
        if not self._to_look_at:  # else the last walk's are not all looked at yet
            self._to_look_at = walk.leaves
            self._empty_so_far = 0
        if count.live is not None:  # cgroup.stat has said it; the walk was for the empty ones
            self._next_walk_ns = max(self._next_walk_ns, now + WALK_EVERY_NS)
            return count
        after = _tracked(self.host, tree)
        if count.tracked is None or after is None:
            self._next_walk_ns = max(self._next_walk_ns, now + WALK_EVERY_NS)
            return replace(count, live=len(walk.folders))
        if after != self._tracked_before:
            return replace(count, note=MOVED)
        self._next_walk_ns = max(self._next_walk_ns, now + WALK_EVERY_NS)
        # Below zero only if a cgroup was made between its mkdir and the kernel's count.
        return replace(count, live=len(walk.folders), zombies=max(0, after - len(walk.folders)))

    def _look_for_empty(self, tree: Hierarchy, now: int) -> int | None:
        """Of the last walk's leaves, how many are empty: known once all were looked at."""
        if not self._to_look_at or now < self._next_empty_ns:
            return None
        start = self.host.clock.monotonic_ns()
        while self._to_look_at:
            self._empty_so_far += _is_empty(self._to_look_at.pop(), tree.version)
            if self.host.clock.monotonic_ns() - start >= STEP_NS:
                break
        spent = self.host.clock.monotonic_ns() - start
        self._next_empty_ns = now + int(spent / EMPTY_DUTY_RATIO)
        return None if self._to_look_at else self._empty_so_far


def by_stat(stat: CgroupStat) -> MemcgCount:
    """By the root's cgroup.stat."""
    live = stat.descendants + 1 if stat.memory is None else stat.memory
    return MemcgCount(2, live + stat.zombies, live, stat.zombies)


def readings(count: MemcgCount) -> tuple[Reading, ...]:
    return tuple(
        Reading.of_node(f"memcg.{name}", value)
        for name, value in (
            ("tracked", count.tracked),
            ("live", count.live),
            ("zombies", count.zombies),
            ("empty", count.empty),
        )
        if value is not None
    )


def _tracked(host: Host, tree: Hierarchy) -> int | None:
    controllers = cgroups.read(host)
    memory = controllers.get("memory") if controllers else None
    if memory is None or not memory.is_enabled:
        return None
    # Hierarchy 0 is the unified one: its number says nothing about a v1 tree, and the other way.
    return memory.cgroups if (memory.hierarchy == 0) == (tree.version == 2) else None


def _is_empty(folder: str, version: int) -> bool:
    try:
        if version == 2:
            return "populated 0" in (read_text(Path(folder, "cgroup.events")) or "")
        return read_text(Path(folder, "cgroup.procs")) == ""
    except OSError:
        return False
