"""No systemd, no engine: a supervisor of its own, and cgroups that the service itself makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from exhume.errors import ExhumeError
from lab.cgroups import Groups
from lab.expected import Cause
from lab.stage import Stage

PAGE = 4096
MANY = (26_000, 32_000)
"""So many hold a walker for seconds: on a processor with a large cache 16,000 did so for 1.5 s,
which harms nobody, and 24,000 for 4."""
_HOLD_EVERY_SECONDS = 11.0


@dataclass
class Leak:
    """Zombies below a cgroup of a random name, pinned by files on a tmpfs of their own."""

    stage: Stage
    zombies: int
    seconds: float
    """How long it takes until they are there."""
    core: int
    """Where the one is who walks them."""
    groups: Groups = field(init=False)
    tmpfs: Path = field(init=False)
    service: str = field(init=False)
    supervisor: str = field(init=False)
    walker: str = field(init=False)

    def __post_init__(self) -> None:
        self.groups = parent_of_zombies(self.stage)
        self.tmpfs = self.stage.tmpfs(f"size={3 * self.zombies * PAGE},nr_inodes=0")
        self.service, self.supervisor, self.walker = (self.stage.dice.name() for _ in range(3))

    def watch(self, quiet: float) -> None:
        """The walker is there from the start, and quiet for so long."""
        times = 2 * max(3, int(self.seconds // _HOLD_EVERY_SECONDS))
        walk(self.stage, self.groups, self.walker, self.core, begin=quiet, times=times)

    def begin(self) -> None:
        every = self.stage.dice.between(0.15, 0.25)
        each = round(self.zombies / (self.seconds / every))
        program = self.stage.program(self.service)
        words = (self.seconds, every, program, "service", 0, 0, self.groups.memory, self.tmpfs)
        self.stage.actor("supervise", *words, each, name=self.supervisor, at_most=self.seconds + 20)

    @property
    def cause(self) -> Cause:
        culprits, walker = (self.service, self.supervisor), (self.walker,)
        return Cause("zombie-cgroups", culprits, walker, walker, self.core)


def parent_of_zombies(stage: Stage) -> Groups:
    groups = stage.groups()
    if (switch := groups.memory / "cgroup.subtree_control").exists():  # v2
        switch.write_text("+memory")
    return groups


def walk(stage: Stage, groups: Groups, name: str, core: int, *, begin: float, times: int) -> None:
    """A daemon that has that cgroup emptied, which looks at all below it, dead ones too."""
    file = groups.memory / "memory.force_empty"
    if not file.exists():
        raise ExhumeError(f"this fault needs memory.force_empty of cgroup v1: no {file}")
    pause = stage.dice.between(3, 4)
    stage.collector(file, begin=begin, pause=pause, times=times, core=core, name=name)
