"""Fingerprints of the recorded node: one file for each time something changed.

A file holds from its time until the next one's. Its modification time is when the recorder last
looked and found nothing new, so that a gap can be told from a quiet week.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import zstandard
from msgspec import Struct

from exhume.store import layout
from exhume.store.files import DamagedFileError, write_atomic

MAX_BYTES = 64 << 20
"""Of one, unpacked: a hundred times what a node has."""
_NAME = re.compile(r"(\d{8}T\d{6}Z)-([0-9a-f]{8,64})\.json\.zst")


class Stored(Struct, frozen=True):
    wall_ns: int
    hash: str
    path: Path

    def checked_wall_ns(self) -> int:
        """When it was last seen to hold still."""
        try:
            return max(self.wall_ns, self.path.stat().st_mtime_ns)
        except OSError:
            return self.wall_ns


def write(root: Path, wall_ns: int, digest: str, data: bytes) -> Path:
    moment = datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC)
    path = layout.fingerprints_path(root) / f"{moment:%Y%m%dT%H%M%SZ}-{digest}.json.zst"
    write_atomic(path, zstandard.compress(data, 10))
    return path


def stored(root: Path) -> list[Stored]:
    """Oldest first."""
    found: list[Stored] = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in layout.fingerprints_path(root).iterdir():
            match = _NAME.fullmatch(path.name)
            if match is None:
                continue
            with suppress(ValueError):
                moment = datetime.strptime(match[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
                found.append(Stored(int(moment.timestamp()) * 1_000_000_000, match[2], path))
    return sorted(found, key=lambda one: (one.wall_ns, one.path.name))


def in_force(root: Path, wall_ns: int) -> Stored | None:
    """The one that held at this time; None before the first."""
    before = [one for one in stored(root) if one.wall_ns <= wall_ns]
    return before[-1] if before else None


def confirm(one: Stored, wall_ns: int) -> None:
    """It was looked at, and nothing had changed."""
    with suppress(OSError):
        os.utime(one.path, ns=(wall_ns, wall_ns))


def drop_before(root: Path, wall_ns: int) -> None:
    """The last one before that time still holds at it, and stays."""
    old = [one for one in stored(root) if one.wall_ns < wall_ns]
    for one in old[:-1]:
        with suppress(OSError):
            one.path.unlink()


def unpack(data: bytes, path: str) -> bytes:
    """The bytes of a file, compressed or not; bounded whatever its header claims."""
    if data[:4] != b"\x28\xb5\x2f\xfd":
        return data
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(data)
        unpacked = reader.read(MAX_BYTES + 1)
    except zstandard.ZstdError as error:
        raise DamagedFileError(path, "whole file", f"a whole zstd frame ({error})") from None
    if len(unpacked) > MAX_BYTES:
        raise DamagedFileError(path, "whole file", f"at most {MAX_BYTES >> 20} MiB unpacked")
    return unpacked
