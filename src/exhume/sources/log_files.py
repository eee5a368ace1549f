"""Log files that the user names, read as they grow: job logs, whose failures are the symptom.

Also a user's own signatures. Files are rotated, truncated and written to in pieces: a file is
followed by its inode, read from where it ended, and a line counts once it is complete.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct, field

from exhume.derive.signatures import Signature, parse
from exhume.errors import ParseError
from exhume.host import read_bytes

MAX_BYTES_PER_READ = 1 << 20
MAX_LINE_BYTES = 1 << 14
_MAX_SIGNATURE_BYTES = 1 << 20


class NewLines(Struct, frozen=True):
    path: str
    lines: tuple[str, ...]
    skipped_bytes: int
    """Written faster than is read: the oldest are left out."""


class LogFollower(Struct):
    """Lines added since the last call; of a file that was there from the start, only new ones."""

    path: Path
    max_bytes: int = MAX_BYTES_PER_READ
    _fd: int = -1
    _inode: tuple[int, int] = (0, 0)
    _offset: int = 0
    _part: bytearray = field(default_factory=bytearray)
    _is_first: bool = True

    def read(self) -> NewLines | None:
        """None while there is no such file."""
        if self._fd < 0 and not self._open():
            self._is_first = False  # what appears later is new from its first byte
            return None
        try:
            found, skipped = self._more()
            if self._was_replaced():  # rotated: the rest of the old one is read, then the new one
                self.close()
                if self._open():
                    more, skipped_too = self._more()
                    found, skipped = found + more, skipped + skipped_too
        except OSError:  # a pipe, or a file server that forgot us: what is there next time may do
            self.close()
            raise
        return NewLines(str(self.path), tuple(found), skipped)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
        self._part.clear()

    def _open(self) -> bool:
        try:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        status = os.fstat(self._fd)
        before, self._inode = self._inode, (status.st_dev, status.st_ino)
        if self._is_first:
            self._offset = status.st_size
        elif self._inode != before:
            self._offset = 0
        self._is_first = False
        return True

    def _was_replaced(self) -> bool:
        try:
            status = self.path.stat()
        except OSError:
            return False  # moved away, and its successor is not there yet
        return (status.st_dev, status.st_ino) != self._inode

    def _more(self) -> tuple[list[str], int]:
        size = os.fstat(self._fd).st_size
        if size < self._offset:  # truncated in place (copytruncate)
            self._offset = 0
            self._part.clear()
        skipped = max(0, size - self._offset - self.max_bytes)
        if skipped:
            self._offset += skipped
            self._part.clear()
        data = os.pread(self._fd, self.max_bytes, self._offset)
        self._offset += len(data)
        *complete, rest = (bytes(self._part) + data).split(b"\n")
        self._part = bytearray(rest[:MAX_LINE_BYTES])
        if skipped and complete:
            del complete[0]  # begins in the middle of a line
        lines = [line[:MAX_LINE_BYTES].decode("utf-8", "replace") for line in complete if line]
        return lines, skipped


def load_signatures(path: Path) -> tuple[Signature, ...]:
    """A user's signatures; ParseError says which entry is wrong, and how."""
    data = read_bytes(path)
    if data is None:
        raise ParseError(str(path), "whole file", "a file of [[signature]] entries")
    if len(data) > _MAX_SIGNATURE_BYTES:
        raise ParseError(str(path), "whole file", f"at most {_MAX_SIGNATURE_BYTES} bytes")
    return parse(data.decode("utf-8", "replace"), str(path))
