"""Control groups of our own in every hierarchy, and what the kernel itself counts."""

from __future__ import annotations

import os
import random
import string
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from exhume.host import Host
from exhume.sources import cgroups
from exhume.sources.cgroup_tree import Hierarchy, Walk, find

BASE = Path("/sys/fs/cgroup")


def random_name(prefix: str, length: int = 8) -> str:
    """Letters only: digits would be folded."""
    return prefix + "".join(random.choices(string.ascii_lowercase, k=length))


def memory() -> Hierarchy | None:
    """The memory hierarchy of this machine, where all of it is seen."""
    tree = find(Host(), "memory")
    return tree if tree is not None and tree.is_whole else None


def zombies() -> int:
    """What is tracked and has no directory, by the kernel's count and a walk of our own."""
    tree = memory()
    assert tree is not None
    for _ in range(100):
        before, walk = _tracked(), Walk(tree.root)
        walk.step(Host(), 10_000_000_000)
        if before == _tracked():
            return before - len(walk.folders)
        time.sleep(0.05)
    raise AssertionError("cgroups come and go all the time")


def _tracked() -> int:
    controllers = cgroups.read(Host())
    assert controllers is not None
    return controllers["memory"].cgroups


@dataclass(frozen=True)
class Groups:
    """One of the same name in each hierarchy."""

    name: str
    folders: tuple[Path, ...]

    @property
    def memory(self) -> Path:
        tree = memory()
        assert tree is not None
        return tree.root / self.name

    @property
    def within(self) -> list[str]:
        """What to put before a command so that it runs in here."""
        files = " ".join(str(folder / "cgroup.procs") for folder in self.folders)
        script = f'for file in {files}; do echo 0 > "$file"; done; exec "$@"'
        return ["sh", "-c", script, "sh"]


@contextmanager
def own_groups(name: str) -> Iterator[Groups]:
    """Everywhere but in cpuset, which wants to be told its cores first."""
    is_v2 = (BASE / "cgroup.procs").exists()
    roots = (
        [BASE] if is_v2 else [root for root in BASE.iterdir() if (root / "cgroup.procs").exists()]
    )
    made: list[Path] = []
    try:
        for root in roots:
            # `cpu` may be a link to `cpu,cpuacct`.
            if root.name != "cpuset" and not root.is_symlink():
                (root / name).mkdir()
                made.append(root / name)
        yield Groups(name, tuple(made))
    finally:
        for folder in made:
            remove(folder)


def remove(top: Path) -> None:
    """With all below it; who is in there has a moment to be gone."""
    deadline = time.monotonic() + 5
    while top.exists():
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        if time.monotonic() > deadline:
            return
        time.sleep(0.02)
