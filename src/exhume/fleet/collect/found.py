"""What collectors put together, and how they read files that may be anything."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from exhume.fleet import scrub
from exhume.model.fingerprint import Field, Kind, Value

MAX_FILE_BYTES = 1 << 20
MAX_NAME = 300
MAX_VALUE = 2_000
MAX_FIELDS = 20_000
"""An area with more is cut, and said to be."""


class Found(Struct):
    fields: dict[str, dict[str, Field]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def area(self, *names: str) -> None:
        """These were looked at: what is not in them is absent, not unknown."""
        for name in names:
            self.fields.setdefault(name, {})

    def put(self, area: str, name: str, value: Value | None, kind: Kind = "config") -> None:
        """None: this node doesn't say."""
        if value is None:
            return
        fields = self.fields.setdefault(area, {})
        if len(fields) >= MAX_FIELDS:
            self.missing.setdefault(area, f"more than {MAX_FIELDS:,} of them: the rest is left out")
            return
        if isinstance(value, str):
            value = value if len(value) <= MAX_VALUE else f"{scrub.text_hash(value)} (long)"
        fields[name[:MAX_NAME]] = Field.of(kind, value)

    def lack(self, what: str, error: OSError | str) -> None:
        why = error if isinstance(error, str) else error.strerror or type(error).__name__
        self.missing[what[:MAX_NAME]] = why

    def take(self, other: Found) -> None:
        for area, fields in other.fields.items():
            self.fields.setdefault(area, {}).update(fields)
        self.missing.update(other.missing)


def read_file(path: Path, limit: int = MAX_FILE_BYTES) -> str | None:
    """A text file of any file system. None where there is none, or something that is no file.

    A named pipe in a directory of configuration must not hang us, nor a huge file fill the memory.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENXIO, errno.ELOOP, errno.EISDIR):
            return None
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        chunks: list[bytes] = []
        left = limit
        while left > 0 and (chunk := os.read(fd, min(left, 1 << 18))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks).decode("utf-8", "replace")
    finally:
        os.close(fd)


def line_of(path: Path) -> str | None:
    """The one line of a small kernel file; None where it is not there, or won't be read."""
    try:
        text = read_file(path, 4096)
    except OSError:
        return None
    return text.strip() or None if text is not None else None


def names_in(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def files_below(path: Path, depth: int = 3) -> Iterator[Path]:
    """Files and links, not what lies behind linked directories."""
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth > 1:
                yield from files_below(Path(entry.path), depth - 1)
        else:
            yield Path(entry.path)
