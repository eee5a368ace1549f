"""Files that are there completely or not at all, and a checksum for each."""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

from exhume.errors import ParseError
from exhume.store.layout import TEMPORARY


class DamagedFileError(ParseError):
    """A stored file is cut, flipped or missing: what it held is lost, the rest is not."""


def checksum(data: bytes) -> int:
    return zlib.crc32(data)


def read_checked(path: Path, size: int, crc: int) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedFileError(
            str(path), "whole file", f"a readable file ({error.strerror})"
        ) from error
    if len(data) != size:
        raise DamagedFileError(str(path), f"byte {min(len(data), size)}", f"{size} bytes in all")
    if checksum(data) != crc:
        raise DamagedFileError(
            str(path), "whole file", f"the checksum {crc:08x}, its content differs"
        )
    return data


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(path: Path) -> tuple[int, int]:
    """Bring a file to the disk; its size and checksum."""
    crc = size = 0
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            crc = zlib.crc32(chunk, crc)
            size += len(chunk)
        os.fsync(file.fileno())
    return size, crc


def write_atomic(path: Path, data: bytes) -> None:
    """A whole file in one step; a crash leaves the old one or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{os.getpid()}")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def remove_directory(path: Path) -> None:
    """Out of sight in one step, then away: nobody sees half a segment."""
    hidden = path.with_name(f"{TEMPORARY}gone-{path.name}-{os.getpid()}")
    shutil.rmtree(hidden, ignore_errors=True)
    path.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)


def size_of(path: Path) -> int:
    """Bytes of the files in a directory and below; 0 where it is gone."""
    try:
        with os.scandir(path) as entries:
            return sum(
                size_of(Path(entry.path))
                if entry.is_dir(follow_symlinks=False)
                else entry.stat(follow_symlinks=False).st_size
                for entry in entries
            )
    except FileNotFoundError:
        return 0
