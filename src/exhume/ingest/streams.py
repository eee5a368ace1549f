"""An input as a stream of bytes, whatever it is compressed with: its first bytes tell."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_BYTES = 1 << 16
_MAX_WINDOW_BYTES = 128 << 20
_STEP_BYTES = 1 << 18
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile)

# What a file begins with → what it is compressed with.
_MAGICS = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)

Progress = Callable[[int], None]
"""Told how many bytes of the file were read since the last call."""


def no_progress(_: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to import."""

    path: Path
    compression: str
    """`gzip`, `xz`, `zstd`, or empty."""

    @staticmethod
    def of(path: Path) -> Source:
        with open(path, "rb") as file:
            magic = file.read(8)
        return Source(path, next((name for start, name in _MAGICS if magic.startswith(start)), ""))

    def open(self, progress: Progress = no_progress) -> BinaryIO:
        """Forward only where it is compressed. `Inflated` tells at its end what was wrong."""
        file = _Counted(open(self.path, "rb", buffering=0), progress)  # noqa: SIM115
        if self.compression == "gzip":
            return cast(BinaryIO, Inflated(gzip.GzipFile(fileobj=cast(BinaryIO, file)), file))
        if self.compression == "xz":
            return cast(BinaryIO, Inflated(_Xz(file), file))
        if self.compression == "zstd":
            inflate = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
            reader = inflate.stream_reader(cast(BinaryIO, file), read_across_frames=True)
            return cast(BinaryIO, Inflated(reader, file))
        return cast(BinaryIO, file)

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Its first bytes, decompressed; less where it is shorter."""
        with self.open() as stream:
            parts: list[bytes] = []
            while size > 0 and (part := stream.read(size)):
                parts.append(part)
                size -= len(part)
        return b"".join(parts)


class _Counted(io.RawIOBase):
    """A file that tells how much of it was read."""

    def __init__(self, file: io.FileIO, progress: Progress) -> None:
        self._file = file
        self._progress = progress

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        count = self._file.readinto(buffer)
        self._progress(count or 0)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class Inflated(io.RawIOBase):
    """What a decompressor gives. Where its input is cut off or damaged, it ends there."""

    def __init__(self, stream: object, file: _Counted) -> None:
        self._stream = cast(BinaryIO, stream)
        self._file = file
        self.problem = ""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._stream.read(min(len(view), _STEP_BYTES))
        except _BROKEN as error:
            self.problem = f"the compressed data is cut off or damaged ({error})"
            return 0
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Xz:
    """lzma.LZMAFile has no limit on what an input may make it allocate."""

    def __init__(self, file: _Counted) -> None:
        self._file = file
        self._inflate = self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_WINDOW_BYTES)

    def read(self, size: int) -> bytes:
        while True:
            if self._inflate.eof:
                rest = self._inflate.unused_data or self._file.read(_STEP_BYTES) or b""
                if not rest.strip(b"\0"):
                    return b""
                self._inflate = self._new()  # several streams one after the other
                data = self._inflate.decompress(rest, size)
            else:
                more = (self._file.read(_STEP_BYTES) or b"") if self._inflate.needs_input else b""
                if self._inflate.needs_input and not more:
                    raise EOFError("the xz stream has no end")
                data = self._inflate.decompress(more, size)
            if data:
                return data
