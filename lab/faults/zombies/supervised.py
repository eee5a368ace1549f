"""As in life: a unit of a real systemd, or a container on a real Docker engine, that starts again
and again and leaves one cgroup each time. A week of it is there already when the recording begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from exhume.errors import ExhumeError
from lab import docker, systemd
from lab.cgroups import Groups
from lab.expected import Cause
from lab.faults.zombies.bare import MANY, PAGE, parent_of_zombies, walk
from lab.stage import Stage

_LEAK = "head -c 4096 /dev/zero > /leak/$(head -c 6 /dev/urandom | od -An -tx1 | tr -d ' \\n'); "
_WEEK_SECONDS = 60.0


@contextmanager
def unit_loop(stage: Stage, groups: Groups) -> Iterator[str]:
    """The name of the unit. The machine's cgroups are below those given."""
    name = f"{stage.dice.name()}.service"
    with systemd.boot(stage.folder / "units", name, groups) as machine:
        if machine is None:
            raise ExhumeError("systemd did not boot in a container", todo="try it by hand")
        run = stage.folder / "run"
        run.mkdir()
        for part in ("systemd", "dbus"):
            (run / part).symlink_to(machine.run / part)
        stage.record(inside=seeing(run))
        yield name


@contextmanager
def container_loop(stage: Stage, groups: Groups, tmpfs: Path) -> Iterator[str]:
    """The name of the container. The engine's cgroups are where it puts them."""
    name, image = stage.dice.name(), f"{stage.dice.name()}:1"
    with ExitStack() as stack:
        # Apart: what the engine itself uses would be emptied over and over.
        own = stage.groups()
        for root in {path.parent for path in own.folders}:
            stage.ledger.note("cgroup", root / "docker")
        engine = stack.enter_context(docker.docker_engine(stage.folder / "d", image, own.within))
        if engine is None:
            raise ExhumeError("the Docker engine did not start", todo="try dockerd by hand")
        run = stage.folder / "run"
        run.mkdir()
        (run / "docker.sock").symlink_to(engine.socket)
        stage.record(inside=seeing(run))
        options = ("--volume", f"{tmpfs}:/leak", "--cgroup-parent", f"/{groups.name}/engine")
        stack.enter_context(
            docker.rm_and_run(engine, name, life=0.3, pause=0.2, options=options, first=_LEAK)
        )
        yield name


def seeing(run: Path) -> list[str]:
    """A mount namespace in which that is /run: systemd and Docker are where they are looked for."""
    script = f'mount --bind {run} /run && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


def week_before(stage: Stage, groups: Groups, zombies: int) -> Path:
    """What earlier starts have left behind."""
    tmpfs = stage.tmpfs(f"size={3 * zombies * PAGE},nr_inodes=0")
    leaked = stage.actor("service", 0, 0, groups.memory, tmpfs, zombies)
    leaked.process.wait(_WEEK_SECONDS)
    return tmpfs


def act(stage: Stage, variant: str, *, quiet: float, seconds: float) -> Cause:
    dice = stage.dice
    core, elsewhere = dice.cores(2)
    groups = parent_of_zombies(stage)
    tmpfs = week_before(stage, groups, dice.number(*MANY))
    walker = dice.name()
    with ExitStack() as stack:
        if variant == "unit":
            culprit = stack.enter_context(unit_loop(stage, groups))
        else:
            culprit = stack.enter_context(container_loop(stage, groups, tmpfs))
        walk(stage, groups, walker, core, begin=quiet, times=int(seconds // 8))
        stage.actor("spin", elsewhere, 600)
        stage.quiet(quiet)
        with stage.trouble():
            stage.last(seconds)
    return Cause("zombie-cgroups", (culprit,), (walker,), (walker,), core)
