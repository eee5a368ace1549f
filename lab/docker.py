"""A Docker engine of our own, and an agent on it that is removed and run anew, over and over."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from lab.cgroups import BASE
from lab.ledger import remove_group

LIFE_SECONDS = 1.0
PAUSE_SECONDS = 1.0
BUSYBOX = Path("/usr/bin/busybox")
DOCKER = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else "docker"
_START_SECONDS = 30.0


def why_not() -> str:
    """What it needs that is not here; empty where all is."""
    if shutil.which("dockerd") and shutil.which("runc") and BUSYBOX.exists():
        return ""
    return "needs a Docker engine and a static busybox (Debian docker.io, busybox-static)"


class Engine(Struct, frozen=True):
    socket: Path
    image: str

    def docker(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        command = [DOCKER, "--host", f"unix://{self.socket}", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.socket.parent)}
        return subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=60
        )


@contextmanager
def docker_engine(folder: Path, image: str, inside: Sequence[str] = ()) -> Iterator[Engine | None]:
    """None where it does not start. The path of the socket must be short."""
    folder.mkdir()
    engine = Engine(folder / "d.sock", image)
    before = engine_groups()
    command = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
    command += ["--pidfile", f"{folder}/pid", "-H", f"unix://{engine.socket}"]
    command += ["--iptables=false", "--bridge=none"]
    try:
        with (folder / "log").open("wb") as log, subprocess.Popen(
            [*inside, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        ) as process:  # fmt: skip
            try:
                yield engine if _is_up(engine, process) and _import(engine, folder) else None
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
    finally:
        for root in engine_groups() - before:
            remove_group(root)


def engine_groups() -> set[Path]:
    """Where an engine puts its containers."""
    return {*BASE.glob("*/docker"), *BASE.glob("docker")}


def _is_up(engine: Engine, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if engine.socket.exists() and engine.docker("version").returncode == 0:
            return True
        time.sleep(0.05)
    return False


def _import(engine: Engine, folder: Path) -> bool:
    """An image of one program: no registry is needed."""
    root = folder / "rootfs/bin"
    root.mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "busybox")
    for name in ("sh", "sleep", "head"):
        (root / name).symlink_to("busybox")
    archive = shutil.make_archive(str(folder / "image"), "tar", folder / "rootfs")
    return engine.docker("import", archive, engine.image).returncode == 0


class Agent(Struct):
    """What is run again and again, by its own count."""

    name: str
    image: str
    began: float
    ended: float = 0.0
    runs: int = 0

    @property
    def runs_per_hour(self) -> float:
        return 3600 * self.runs / (self.ended - self.began)


@contextmanager
def rm_and_run(
    engine: Engine,
    name: str,
    *,
    life: float = LIFE_SECONDS,
    pause: float = PAUSE_SECONDS,
    options: Sequence[str] = (),
    first: str = "",
) -> Iterator[Agent]:
    """`first`: what its shell does before it lives and dies."""
    agent = Agent(name, engine.image, time.time())
    stop = threading.Event()

    def loop() -> None:
        words = ["run", "--rm", "--network", "none", *options, "--name", agent.name, agent.image]
        while not stop.is_set():
            run = engine.docker(*words, "/bin/sh", "-c", f"{first}sleep {life}; exit 3")
            if run.returncode == 3:
                agent.runs += 1
            stop.wait(pause)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield agent
    finally:
        stop.set()
        thread.join(60)
        agent.ended = time.time()
