"""A real systemd as PID 1 of a container, whose unit crash-loops and leaks a cgroup each time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from lab.cgroups import Groups, is_v2, own_groups

RESTART_SECONDS = 1.0
LIFE_SECONDS = 0.5
_BOOT_SECONDS = 40.0
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


def why_not() -> str:
    """What it needs that is not here; empty where all is."""
    if shutil.which("systemd-nspawn") and shutil.which("dbus-daemon"):
        return ""
    return "needs systemd-nspawn and dbus (Debian systemd-container, dbus)"


class Machine(Struct, frozen=True):
    unit: str
    run: Path
    """Its /run, as the host sees it."""
    cgroup: str
    """`/xh-machine-abcdefgh`: all that is in it is below that."""


@contextmanager
def booted_systemd(folder: Path, unit: str, name: str) -> Iterator[Machine | None]:
    """With that unit, in cgroups of that name. None where it does not boot."""
    with own_groups(name) as groups, boot(folder, unit, groups) as machine:
        yield machine


@contextmanager
def boot(folder: Path, unit: str, groups: Groups) -> Iterator[Machine | None]:
    folder.mkdir()
    (folder / unit).write_text(UNIT)
    (folder / "exhume.target").write_text(TARGET.format(unit=unit))
    command = ["systemd-nspawn", "-D", "/", "--volatile=yes", "--register=no", "--keep-unit"]
    command += ["--private-network", f"--bind-ro={folder}:/etc/systemd/system", "--quiet"]
    # Only with a user namespace may it make cgroups of the v1 controllers.
    command += ["--private-users=identity"]
    command += ["--boot", "systemd.firstboot=off", "systemd.unit=exhume.target"]
    environment = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1" if is_v2() else "0"}
    with subprocess.Popen(
        [*groups.within, *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            run = _run_of(process)
            yield None if run is None else Machine(unit, run, groups.path)
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
    deadline = time.monotonic() + _BOOT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for child in _children(process.pid):
            run = Path(f"/proc/{child}/root/run")
            if (run / "dbus/system_bus_socket").exists():
                return run
        time.sleep(0.05)
    return None


def _children(pid: int) -> list[int]:
    try:
        return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
