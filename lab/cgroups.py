"""Control groups of our own in every hierarchy, and what the kernel itself counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from exhume.host import Host
from exhume.sources import cgroups
from exhume.sources.cgroup_tree import Hierarchy, Walk, find
from lab.ledger import Ledger, remove_group

BASE = Path("/sys/fs/cgroup")


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


def is_v2() -> bool:
    return (BASE / "cgroup.procs").exists()


class Groups(Struct, frozen=True):
    """One of the same name in each hierarchy."""

    name: str
    folders: tuple[Path, ...]

    @property
    def path(self) -> str:
        """As the recorder calls it."""
        return f"/{self.name}"

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

    def limit_memory(self, limit_bytes: int) -> None:
        if is_v2():
            (self.memory / "memory.max").write_text(str(limit_bytes))
        else:
            (self.memory / "memory.limit_in_bytes").write_text(str(limit_bytes))

    def limit_cpu(self, quota_seconds: float, period_seconds: float) -> None:
        quota, period = int(quota_seconds * 1e6), int(period_seconds * 1e6)
        if is_v2():
            (BASE / self.name / "cpu.max").write_text(f"{quota} {period}")
            return
        (folder,) = [one for one in self.folders if (one / "cpu.cfs_quota_us").exists()]
        (folder / "cpu.cfs_period_us").write_text(str(period))
        (folder / "cpu.cfs_quota_us").write_text(str(quota))


def make_groups(name: str, ledger: Ledger | None = None) -> Groups:
    """Everywhere but in cpuset, which wants to be told its cores first."""
    roots = (
        [BASE] if is_v2() else [root for root in BASE.iterdir() if (root / "cgroup.procs").exists()]
    )
    made: list[Path] = []
    try:
        for root in roots:
            # `cpu` may be a link to `cpu,cpuacct`.
            if root.name != "cpuset" and not root.is_symlink():
                if ledger is not None:
                    ledger.note("cgroup", root / name)
                (root / name).mkdir()
                made.append(root / name)
    except BaseException:
        for folder in made:
            remove_group(folder)
        raise
    return Groups(name, tuple(made))


@contextmanager
def own_groups(name: str) -> Iterator[Groups]:
    groups = make_groups(name)
    try:
        yield groups
    finally:
        for folder in groups.folders:
            remove_group(folder)
