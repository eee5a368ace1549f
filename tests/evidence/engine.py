"""A Docker engine of our own, and an agent on it that is removed and run anew, over and over."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.evidence.cgroups import BASE, random_name, remove
from tests.kernel.node import wait_for

LIFE_SECONDS = 1.0
PAUSE_SECONDS = 1.0
BUSYBOX = Path("/usr/bin/busybox")
DOCKER = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else "docker"
missing = pytest.mark.skipif(
    shutil.which("dockerd") is None or shutil.which("runc") is None or not BUSYBOX.exists(),
    reason="needs a Docker engine and a static busybox (Debian docker.io, busybox-static)",
)


@dataclass(frozen=True)
class Engine:
    socket: Path
    image: str

    def docker(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        command = [DOCKER, "--host", f"unix://{self.socket}", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.socket.parent)}
        return subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=60
        )


@contextmanager
def docker_engine(folder: Path) -> Iterator[Engine | None]:
    """None where it does not start. The path of the socket must be short."""
    folder.mkdir()
    engine = Engine(folder / "d.sock", random_name("xh-image-") + ":1")
    before = set(BASE.glob("*/docker"))
    command = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
    command += ["--pidfile", f"{folder}/pid", "-H", f"unix://{engine.socket}"]
    command += ["--iptables=false", "--bridge=none"]
    try:
        with (folder / "log").open("wb") as log, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
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
        for root in set(BASE.glob("*/docker")) - before:
            remove(root)


def _is_up(engine: Engine, process: subprocess.Popen[bytes]) -> bool:
    def answers() -> bool:
        return engine.socket.exists() and engine.docker("version").returncode == 0

    with suppress(AssertionError):
        wait_for(lambda: answers() or process.poll() is not None, 30, "dockerd to answer")
    return process.poll() is None and answers()


def _import(engine: Engine, folder: Path) -> bool:
    """An image of one program: no registry is needed."""
    root = folder / "rootfs/bin"
    root.mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "busybox")
    for name in ("sh", "sleep"):
        (root / name).symlink_to("busybox")
    archive = shutil.make_archive(str(folder / "image"), "tar", folder / "rootfs")
    return engine.docker("import", archive, engine.image).returncode == 0


@dataclass
class Agent:
    """What is run again and again, by its own count."""

    name: str
    image: str
    began: float
    ended: float = 0.0
    runs: int = 0
    lived_seconds: float = 0.0

    @property
    def runs_per_hour(self) -> float:
        return 3600 * self.runs / (self.ended - self.began)


@contextmanager
def rm_and_run(engine: Engine) -> Iterator[Agent]:
    agent = Agent(random_name("xh-agent-"), engine.image, time.time())
    stop = threading.Event()

    def loop() -> None:
        words = ["run", "--rm", "--network", "none", "--name", agent.name, agent.image]
        while not stop.is_set():
            run = engine.docker(*words, "/bin/sh", "-c", f"sleep {LIFE_SECONDS}; exit 3")
            if run.returncode == 3:
                agent.runs += 1
            stop.wait(PAUSE_SECONDS)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield agent
    finally:
        stop.set()
        thread.join(60)
        agent.ended = time.time()
