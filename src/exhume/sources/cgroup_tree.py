"""/sys/fs/cgroup: where a controller's hierarchy is, and a walk over it that knows when to stop.

A directory of cgroupfs has 2 links plus one for each child (kernfs_refresh_inode), so a leaf is
known by one stat, and only directories with children are listed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from exhume.host import Host, read_text


class Hierarchy(Struct, frozen=True):
    root: Path
    version: Literal[1, 2]
    is_whole: bool
    """False in a private cgroup namespace: a part is seen, while /proc/cgroups is global."""


def find(host: Host, controller: str) -> Hierarchy | None:
    """v2, or v1, or the unified part of a hybrid: whichever has the controller."""
    base = host.sys / "fs/cgroup"
    for root in (base, base / "unified"):
        controllers = read_text(root / "cgroup.controllers")
        if controllers is not None and controller in controllers.split():
            # cgroup.events is in every directory but the true root (CFTYPE_NOT_ON_ROOT).
            return Hierarchy(root, 2, is_whole=not (root / "cgroup.events").exists())
    # v1 mounts two controllers in one place under both names, `cpu,cpuacct` with links to it.
    root = base / controller
    if (root / "cgroup.procs").exists():
        # release_agent is in the true root only (CFTYPE_ONLY_ON_ROOT).
        return Hierarchy(root, 1, is_whole=(root / "release_agent").exists())
    return None


def children(folder: Path | str) -> Iterator[str]:
    """Paths of the cgroups directly below; none when it is gone by now."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield entry.path
    except OSError:
        return


class Walk(Struct):
    """Visits every cgroup below a root, a bounded stretch at a time."""

    root: Path
    folders: list[str] = field(default_factory=list)
    """Every cgroup visited, the root first."""
    leaves: list[str] = field(default_factory=list)
    """Those without children."""
    _waiting: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._waiting.append(str(self.root))

    @property
    def is_done(self) -> bool:
        return not self._waiting

    def step(self, host: Host, budget_ns: int) -> None:
        """Go on for `budget_ns` at most, give or take the largest directory."""
        end = host.clock.monotonic_ns() + budget_ns
        waiting = self._waiting
        while waiting:
            path = waiting.pop()
            try:
                links = os.stat(path).st_nlink  # noqa: PTH116  (a Path each would double the cost)
            except OSError:
                continue  # gone since its parent was listed: not live
            self.folders.append(path)
            if links == 2:
                self.leaves.append(path)
            else:
                before = len(waiting)
                waiting.extend(children(path))
                if len(waiting) == before:  # a file system that counts links otherwise
                    self.leaves.append(path)
            if not len(self.folders) % 64 and host.clock.monotonic_ns() >= end:
                return
