"""Up to where the kernel log is stored: /dev/kmsg replays from boot whenever it is opened.

A line of text in the data directory, `BOOT_ID SEQUENCE`, rewritten in place after the frame that
holds the records. A kill in between costs at most one second's lines twice.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

FILE = "kmsg"
_WIDTH = 64


class KmsgPlace(Struct):
    boot_id: str
    next: int
    """Sequence number of the first record that is not stored yet."""
    _fd: int
    _saved: int = -1

    @staticmethod
    def open(data: Path, boot_id: str) -> KmsgPlace:
        fd = os.open(data / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        words = os.pread(fd, _WIDTH, 0).decode("ascii", "replace").split()
        is_this_boot = len(words) == 2 and words[0] == boot_id and words[1].isdigit()
        return KmsgPlace(boot_id, int(words[1]) if is_this_boot else 0, fd)

    def save(self) -> None:
        if self.next == self._saved:
            return
        line = f"{self.boot_id} {self.next}"
        os.pwrite(self._fd, f"{line:<{_WIDTH - 1}}\n".encode(), 0)
        self._saved = self.next

    def close(self) -> None:
        self.save()
        os.close(self._fd)
