"""What a run puts on the machine, written down before it is there: anybody can take it away.

The ledger is a file of JSON lines. The run itself cleans up when it ends, its guardian when the run
was killed, and the next run what a guardian left that was killed too. Each entry is checked before
anything is done: a pid counts only with the start time it was written down with.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

FOLDER = Path("/run/exhume-lab")
_ORDER = ("process", "cgroup", "namespace", "mount", "folder")
"""Processes hold cgroups and mounts; mounts are in folders."""
_PATIENCE_SECONDS = 30.0


class Entry(Struct, frozen=True):
    what: str
    """One of `_ORDER`."""
    name: str
    """A pid, a path or the name of a network namespace."""
    started: int = 0
    """Of a process, in clock ticks since boot."""


class Ledger:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(0o600)

    def note(self, what: str, name: str | Path | int, started: int = 0) -> None:
        line = json.dumps({"what": what, "name": str(name), "started": started})
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)

    def note_process(self, pid: int) -> None:
        self.note("process", pid, start_of(pid) or 0)

    def entries(self) -> list[Entry]:
        found = []
        with suppress(FileNotFoundError):
            for line in self.path.read_text().splitlines():
                with suppress(ValueError, KeyError, TypeError):  # torn by a kill
                    row: dict[str, Any] = json.loads(line)
                    found.append(Entry(str(row["what"]), str(row["name"]), int(row["started"])))
        return found

    def clean(self) -> list[str]:
        """All of it, the last first. What could not be taken away is named, and stays written."""
        entries = list(reversed(self.entries()))
        for what in _ORDER:
            for entry in entries:
                if entry.what == what:
                    with suppress(OSError):
                        _REMOVE[what](entry)
        left = [f"{entry.what} {entry.name}" for entry in entries if _is_there(entry)]
        if not left:
            self.path.unlink(missing_ok=True)
        return left


def clean_all(folder: Path = FOLDER) -> list[str]:
    """What earlier runs left behind."""
    return [left for path in sorted(folder.glob("*.jsonl")) for left in Ledger(path).clean()]


def start_of(pid: int) -> int | None:
    """A pid is given anew one day; with its start time it is one process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def kill_process(pid: int, started: int) -> None:
    if start_of(pid) == started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_group(top: Path) -> None:
    """Everybody in a cgroup and below it, until nobody is left."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while top.exists():
        inside = [pid for folder, _, _ in os.walk(top) for pid in _members(Path(folder))]
        if not inside or time.monotonic() > deadline:
            return
        for pid in inside:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def remove_group(top: Path) -> None:
    """With all below it; who is in there has a moment to be gone."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while top.exists():
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        if time.monotonic() > deadline:
            return
        time.sleep(0.02)


def _members(folder: Path) -> list[int]:
    try:
        return [int(word) for word in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _end_process(entry: Entry) -> None:
    kill_process(int(entry.name), entry.started)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while start_of(int(entry.name)) == entry.started and time.monotonic() < deadline:
        time.sleep(0.01)


def _remove_cgroup(entry: Entry) -> None:
    kill_group(Path(entry.name))
    remove_group(Path(entry.name))


def _remove_namespace(entry: Entry) -> None:
    if (NAMESPACES / entry.name).exists():
        subprocess.run(["ip", "netns", "delete", entry.name], capture_output=True, check=False)


def _unmount(entry: Entry) -> None:
    while os.path.ismount(entry.name):
        command = ["umount", "--lazy", entry.name]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return


def _remove_folder(entry: Entry) -> None:
    """With what an engine has mounted in there."""
    for path in mounts_below(entry.name):
        subprocess.run(["umount", "--lazy", path], capture_output=True, check=False)
    shutil.rmtree(entry.name, ignore_errors=True)


def mounts_below(folder: str) -> list[str]:
    lines = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    paths = [line.split()[1] for line in lines]
    return sorted((path for path in paths if path.startswith(f"{folder}/")), reverse=True)


def _is_there(entry: Entry) -> bool:
    if entry.what == "process":
        return start_of(int(entry.name)) == entry.started
    if entry.what == "namespace":
        return (NAMESPACES / entry.name).exists()
    if entry.what == "mount":
        return os.path.ismount(entry.name)
    return Path(entry.name).exists()


NAMESPACES = Path("/run/netns")
_REMOVE = {
    "process": _end_process,
    "cgroup": _remove_cgroup,
    "namespace": _remove_namespace,
    "mount": _unmount,
    "folder": _remove_folder,
}
