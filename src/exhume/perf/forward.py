"""Forward through a stream, which may be compressed and knows no way back."""

from __future__ import annotations

import os
from typing import BinaryIO

_STEP_BYTES = 1 << 20


def read(stream: BinaryIO, size: int) -> bytes:
    """Less where it ends before."""
    parts: list[bytes] = []
    while size > 0 and (part := stream.read(min(size, _STEP_BYTES))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def skip(stream: BinaryIO, size: int) -> None:
    """Forward, with a seek where the stream can."""
    if size > 0 and stream.seekable():
        try:
            stream.seek(size, os.SEEK_CUR)
        except (OSError, OverflowError):  # a damaged offset, more than a file can have
            stream.seek(0, os.SEEK_END)
        return
    while size > 0 and (part := stream.read(min(size, _STEP_BYTES))):
        size -= len(part)
