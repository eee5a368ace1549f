"""The bytes of a file, read in pieces.

Never mapped into memory: whoever owns the file may truncate it while we look, and a read behind the
new end of a mapping is SIGBUS, the death of the recorder. A `pread` behind the end is merely short.
"""

from __future__ import annotations

import os
from typing import Protocol

from msgspec import Struct


class Image(Protocol):
    @property
    def size_bytes(self) -> int: ...

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes: less, or none, where the file ends before."""


class BytesImage(Struct, frozen=True):
    data: bytes

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        return bytes(self.data[offset : offset + length])


class FileImage(Struct, frozen=True):
    """An open regular file; the descriptor stays the caller's."""

    fd: int
    size_bytes: int

    def read(self, offset: int, length: int) -> bytes:
        length = min(length, self.size_bytes - offset)
        if offset < 0 or length <= 0:
            return b""
        data = os.pread(self.fd, length, offset)
        if len(data) == length or not data:
            return data
        chunks = [data]  # a read stops at 2 GiB, and where the file was cut short
        done = len(data)
        while done < length and (data := os.pread(self.fd, length - done, offset + done)):
            chunks.append(data)
            done += len(data)
        return b"".join(chunks)
