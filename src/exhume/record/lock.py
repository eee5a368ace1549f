"""One recorder per data directory: the kernel drops the lock with the process, however it ends."""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from contextlib import suppress
from pathlib import Path

from exhume.errors import EXIT_PERMISSION, ExhumeError


def lock_path(data: Path) -> Path:
    return data / "lock"


_TRIES = 5
_PAUSE_SECONDS = 0.02


def acquire(data: Path) -> int:
    """The descriptor to keep open while recording."""
    path = lock_path(data)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as error:
        raise ExhumeError(
            f"cannot write to {data}: {error.strerror}",
            todo="run as root, or give --data a directory that you may write to",
            exit_code=EXIT_PERMISSION,
        ) from error
    if not _lock(fd):
        owner = _owner(fd)
        os.close(fd)
        raise _taken(data, owner)
    with suppress(OSError):  # on a full disk the lock holds without saying whose it is
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def _lock(fd: int) -> bool:
    """More than one try: who only asks for the holder has the lock himself for an instant."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(_PAUSE_SECONDS)
    return False


def holder(data: Path) -> int | None:
    """The pid of the recorder that runs on this directory (0: not known); None where none does.

    OSError where that can't be told.
    """
    try:
        fd = os.open(lock_path(data), os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return _owner(fd)
    finally:
        os.close(fd)


def refuse_second(data: Path) -> None:
    """For who has something to say before the recorder itself would find out."""
    with suppress(OSError):
        owner = holder(data)
        if owner is not None:
            raise _taken(data, owner)


def _owner(fd: int) -> int:
    """0: not known."""
    text = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else 0


def _taken(data: Path, owner: int) -> ExhumeError:
    return ExhumeError(
        f"another recorder (pid {owner or 'unknown'}) writes to {data}",
        todo=f"look at it with `exhume status --data {shlex.quote(str(data))}`, stop it, or give "
        "--data another directory",
        exit_code=EXIT_PERMISSION,
    )
