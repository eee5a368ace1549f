"""Zombie memory cgroups on purpose, and a process that the kernel kills for its memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from lab.cgroups import own_groups
from lab.dice import random_name
from tests.kernel.node import wait_for

PAGE = 4096
LEAKER = Path(__file__).with_name("leaker.py")


class Leak(Struct):
    """Zombies below a cgroup of a random name, pinned by files on a tmpfs of their own."""

    parent: str
    """As the recorder calls it: `/xh-leak-abcdefgh`."""
    tmpfs: Path
    count: int
    process: subprocess.Popen[bytes]
    began: float
    ended: float = 0.0

    def finish(self) -> None:
        assert self.process.wait(120) == 0
        self.ended = time.time()

    def let_go(self) -> None:
        for file in self.tmpfs.iterdir():
            file.unlink()


@contextmanager
def leaking(folder: Path, count: int, burst: int, pause_seconds: float) -> Iterator[Leak]:
    tmpfs = folder / "tmpfs"
    tmpfs.mkdir()
    options = f"size={2 * count * PAGE},nr_inodes=0"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "exhume", str(tmpfs)], check=True)
    try:
        with own_groups(random_name("xh-leak-")) as groups:
            switch = groups.memory / "cgroup.subtree_control"
            if switch.exists():  # v2
                switch.write_text("+memory")
            numbers = map(str, (count, burst, pause_seconds))
            process = subprocess.Popen(
                [sys.executable, LEAKER, groups.memory, tmpfs, *numbers], stdin=subprocess.DEVNULL
            )
            try:
                yield Leak(f"/{groups.name}", tmpfs, count, process, time.time())
            finally:
                process.kill()
                process.wait()
    finally:
        subprocess.run(["umount", "--lazy", str(tmpfs)], check=True)


class Killed(Struct, frozen=True):
    comm: str
    pid: int
    cgroup: str


def kill_for_memory(program: Path) -> Killed:
    """A program that wants more than its cgroup may have: the kernel itself says so."""
    with own_groups(random_name("xh-small-")) as groups:
        limits = ("memory.limit_in_bytes", "memory.max")
        limit = next(groups.memory / name for name in limits if (groups.memory / name).exists())
        limit.write_text(str(16 << 20))
        with subprocess.Popen([*groups.within, program, "eat"]) as process:
            try:
                wait_for(lambda: process.poll() is not None, 20, "the kernel to kill it")
            finally:
                process.kill()
        assert process.returncode == -9
        return Killed(program.name, process.pid, f"/{groups.name}")
