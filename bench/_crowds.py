"""What a recorder is put among in bench.evidence: crowds that rest, and storms that don't."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from bench._overhead_watch import Groups
from exhume.host import Host
from exhume.sources.cgroup_tree import find
from tests.evidence.leaks import leaking
from tests.kernel.programs import Programs, finish

LIVE_CGROUPS = 20_000
BELOW_ONE = 100
ZOMBIES = 50_000
PROCESSES = 2_000
BIRTHS_PER_SECOND = 2_000
THREADS = 10_000
BUDGET_PERCENT = 1.0
STORM_BUDGET_PERCENT = 2 * BUDGET_PERCENT
LEAST_OF_PLANNED = 0.95


class Stage(Struct):
    """Where a crowd is made."""

    folder: Path
    groups: Groups
    seconds: float
    """How long a turn takes, at least: a storm blows so long, and ends by itself."""
    troubles: list[str] = field(default_factory=list)


@contextmanager
def nothing(_stage: Stage) -> Iterator[None]:
    yield


@contextmanager
def live_cgroups(_stage: Stage) -> Iterator[None]:
    """As pods have them: in the memory and in the CPU hierarchy, a hundred below each parent."""
    trees = (find(Host(), name) for name in ("memory", "cpu"))
    roots = {tree.root.resolve() for tree in trees if tree is not None}
    tops = [root / f"exhume-bench-live-{os.getpid()}" for root in roots]
    parents = [top / f"p{number}" for top in tops for number in range(LIVE_CGROUPS // BELOW_ONE)]
    try:
        for folder in (*tops, *parents):
            folder.mkdir()
        for parent in parents:
            for number in range(BELOW_ONE - 1):  # the parent is one, too
                (parent / f"c{number}").mkdir()
        yield
    finally:
        for top in tops:
            for path, _, _ in os.walk(top, topdown=False):
                Path(path).rmdir()


@contextmanager
def zombies(stage: Stage) -> Iterator[None]:
    with leaking(stage.folder, ZOMBIES, ZOMBIES, 0) as leak:
        leak.finish()
        yield


@contextmanager
def sleeping_processes(_stage: Stage) -> Iterator[None]:
    """They end by themselves, should nobody be left to end them."""
    program = shutil.which("sleep") or "/bin/sleep"
    pids: list[int] = []
    try:
        while len(pids) < PROCESSES:
            pids.append(os.posix_spawn(program, ["sleep", "600"], {}))
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)


@contextmanager
def births(stage: Stage, kind: str) -> Iterator[None]:
    """On every core its part of them; each is waited for before the next."""
    programs = Programs.compile(stage.folder)
    cores = sorted(os.sched_getaffinity(0))
    words = (stage.seconds, -1, shutil.which("true") or "/bin/true", BIRTHS_PER_SECOND / len(cores))
    with ExitStack() as stack:
        running = [stack.enter_context(programs.start("xh_forker", kind, *words)) for _ in cores]
        for one in running:
            stage.groups.put(one.pid, "load")
        yield
        done = [finish(one, 2 * stage.seconds) for one in running]
    rate = sum(one.count / one.seconds for one in done)
    if rate < LEAST_OF_PLANNED * BIRTHS_PER_SECOND:
        stage.troubles.append(f"not to be quoted: only {rate:.0f} {kind} a second were made")


@contextmanager
def threads(stage: Stage) -> Iterator[None]:
    programs = Programs.compile(stage.folder)
    with programs.start("xh_threads", "threads", stage.seconds, -1, THREADS) as running:
        stage.groups.put(running.pid, "load")
        yield
        made = finish(running, 2 * stage.seconds).count
    if made < THREADS:
        stage.troubles.append(f"not to be quoted: this machine gave only {made} threads")


class Crowd(Struct, frozen=True):
    name: str
    make: Callable[[Stage], AbstractContextManager[None]]
    budget_percent: float = BUDGET_PERCENT
    """Of one core."""


CROWDS = (
    Crowd("plain", nothing),
    Crowd(f"{LIVE_CGROUPS:,} live cgroups", live_cgroups),
    Crowd(f"{ZOMBIES:,} zombie cgroups", zombies),
    Crowd(f"{PROCESSES:,} processes", sleeping_processes),
    Crowd(
        f"{BIRTHS_PER_SECOND:,} forks a second",
        partial(births, kind="forks"),
        STORM_BUDGET_PERCENT,
    ),
    Crowd(
        f"{BIRTHS_PER_SECOND:,} execs a second",
        partial(births, kind="execs"),
        STORM_BUDGET_PERCENT,
    ),
    Crowd(f"{THREADS:,} threads", threads, STORM_BUDGET_PERCENT),
)
