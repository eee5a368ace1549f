"""A real systemd as PID 1 of a container, whose unit crash-loops and leaks a cgroup each time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.evidence.cgroups import own_groups, random_name
from tests.kernel.node import wait_for

RESTART_SECONDS = 1.0
LIFE_SECONDS = 0.5
# A page on the container's tmpfs is charged to the unit's cgroup and keeps it when it is removed.
UNIT = f"""[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sh -c 'head -c 4096 /dev/zero > /run/leak-$$$$; sleep {LIFE_SECONDS}; exit 3'
Restart=always
RestartSec={RESTART_SECONDS:g}s
MemoryAccounting=yes
"""
TARGET = "[Unit]\nRequires=dbus.socket basic.target\nWants={unit}\nAllowIsolate=yes\n"
missing = pytest.mark.skipif(
    shutil.which("systemd-nspawn") is None or shutil.which("dbus-daemon") is None,
    reason="needs systemd-nspawn and dbus (Debian systemd-container, dbus)",
)


@dataclass(frozen=True)
class Container:
    unit: str
    run: Path
    """Its /run, as the host sees it."""
    cgroup: str
    """`/xh-machine-abcdefgh`: all that is in it is below that."""


@contextmanager
def booted_systemd(folder: Path) -> Iterator[Container | None]:
    """None where it does not boot."""
    unit = random_name("xh-unit-") + ".service"
    folder.mkdir()
    (folder / unit).write_text(UNIT)
    (folder / "exhume.target").write_text(TARGET.format(unit=unit))
    command = ["systemd-nspawn", "-D", "/", "--volatile=yes", "--register=no", "--keep-unit"]
    command += ["--private-network", f"--bind-ro={folder}:/etc/systemd/system", "--quiet"]
    # Only with a user namespace may it make cgroups of the v1 controllers.
    command += ["--private-users=identity"]
    command += ["--boot", "systemd.firstboot=off", "systemd.unit=exhume.target"]
    is_v1 = not Path("/sys/fs/cgroup/cgroup.controllers").exists()
    environment = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "0" if is_v1 else "1"}
    with (
        own_groups(random_name("xh-machine-")) as groups,
        subprocess.Popen(
            [*groups.within, *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        try:
            run = _run_of(process)
            yield None if run is None else Container(unit, run, f"/{groups.name}")
        finally:
            # Its PID 1 first: that ends everything in the container, and nspawn with it.
            for child in _children(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _run_of(process: subprocess.Popen[bytes]) -> Path | None:
    def found() -> list[Path]:
        runs = [Path(f"/proc/{child}/root/run") for child in _children(process.pid)]
        return [run for run in runs if (run / "dbus/system_bus_socket").exists()]

    with suppress(AssertionError):
        wait_for(lambda: found() or process.poll() is not None, 40, "systemd to boot")
    return next(iter(found()), None)


def _children(pid: int) -> list[int]:
    try:
        return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
