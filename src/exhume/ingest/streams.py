"""An input as a stream of bytes, whatever it is compressed with: its first bytes tell.

A text that a Windows machine wrote (`ssh node perf script > out.txt` in PowerShell) is UTF-16, or
has a mark before its first byte: readers are given it as all others. So is one that was copied out
of a web page, where blanks are no-break ones.
"""

from __future__ import annotations

import bz2
import codecs
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

import zstandard
from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_BYTES = 1 << 16
_MAX_WINDOW_BYTES = 128 << 20
_STEP_BYTES = 1 << 18
_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_CUT = (
    "offset {}: the compressed data is cut off, or damaged before; what came before is all that "
    "was read of it: copy the file again"
)
_DAMAGED = (
    "near offset {}: the compressed data is damaged ({}); what came before is all that was read of "
    "it: copy the file again"
)

# What a file begins with → what it is compressed with.
_MAGICS = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    *((b"BZh%d1AY&" % level, "bzip2") for level in range(1, 10)),
)

# The mark that a text begins with → what it is encoded in.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# U+00A0 of web pages and chats; U+202F, which newer libraries write before AM and PM.
_BLANKS = (b"\xc2\xa0", b"\xe2\x80\xaf")
_HALF_BLANKS = (b"\xe2\x80", b"\xe2", b"\xc2")

Progress = Callable[[int], None]
"""Told how many bytes of the file were read since the last call."""


def no_progress(_: int) -> None:
    """Nobody watches."""


class Source(Struct, frozen=True):
    """A file to import."""

    path: Path
    compression: str
    """`gzip`, `xz`, `zstd`, `bzip2`, or empty."""
    mark: bytes = b""
    """What stands before a text, and says how it is encoded."""
    has_odd_blanks: bool = False
    """Somebody copied it out of a web page."""

    @staticmethod
    def of(path: Path) -> Source:
        with open(path, "rb") as file:
            magic = file.read(8)
        packed = next((name for start, name in _MAGICS if magic.startswith(start)), "")
        first = Source(path, packed).head(8) if packed else magic
        source = Source(path, packed, next((m for m, _ in _MARKS if first.startswith(m)), b""))
        head = source.head()
        is_odd = any(blank in head for blank in _BLANKS) and b"\0" not in head
        return replace(source, has_odd_blanks=is_odd) if is_odd else source

    def open(self, progress: Progress = no_progress) -> BinaryIO:
        """Forward only where it is compressed. `Inflated` tells at its end what was wrong."""
        file = _Counted(open(self.path, "rb", buffering=0), progress)  # noqa: SIM115
        kind = _DECOMPRESSORS.get(self.compression)
        stream: _Reads = file if kind is None else _Frames(file, *kind)
        if self.mark:
            stream = _Recoded(stream, self.mark)
        if self.has_odd_blanks:
            stream = _Blanks(stream)
        return cast(BinaryIO, file if stream is file else Inflated(stream, file))

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Its first bytes, decompressed; less where it is shorter."""
        return self._beginning(size)[0]

    def head_problem(self) -> str:
        """Why `head` is shorter than the file's maker meant it to be; empty where it is not."""
        return self._beginning(HEAD_BYTES)[1]

    def damage(self) -> str:
        """What `Inflated` tells at its end; empty where it is whole."""
        if not self.compression:
            return ""
        with self.open() as stream:
            while stream.read(_STEP_BYTES):
                pass
            return problem_of(stream)

    def _beginning(self, size: int) -> tuple[bytes, str]:
        with self.open() as stream:
            parts: list[bytes] = []
            while size > 0 and (part := stream.read(size)):
                parts.append(part)
                size -= len(part)
            problem = problem_of(stream)
        return b"".join(parts), problem


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
        self._rest = b""
        self.problem = ""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        if not self._rest:
            try:
                self._rest = self._stream.read(min(len(view), _STEP_BYTES))
            except _BrokenError as error:
                self.problem = str(error)
                return 0
            except OSError as error:
                self.problem = f"offset {self._file.tell()}: can't be read ({error.strerror})"
                return 0
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def problem_of(stream: BinaryIO) -> str:
    """Why a stream ended too early, told at its end; empty where it did not."""
    return stream.problem if isinstance(stream, Inflated) else ""


class _BrokenError(Exception):
    """Compressed data has no end, or is none."""


class _Frames:
    """Compressed streams one after the other, decompressed within bounds.

    gzip.GzipFile loses the last part of a file that is cut off, lzma.LZMAFile has no limit on what
    an input may make it allocate, and zstandard's reader takes a cut for an end.
    """

    def __init__(self, file: _Counted, new: Callable[[], _Decompressor], step_bytes: int) -> None:
        self._file = file
        self._new = new
        self._step_bytes = step_bytes
        self._inflate: _Decompressor | None = None
        self._input = b""

    def read(self, _: int) -> bytes:
        """Some bytes, as they come; none at the end."""
        while True:
            if self._inflate is not None and self._inflate.eof:
                self._input = self._inflate.unused_data + self._input
                self._inflate = None
            if self._inflate is None:
                self._input = self._input.lstrip(b"\0")  # padding
            if not self._input:
                self._input = self._file.read(_STEP_BYTES) or b""
                if not self._input:
                    if self._inflate is not None:
                        raise _BrokenError(_CUT.format(self._file.tell()))
                    return b""
                continue
            if self._inflate is None:
                self._inflate = self._new()
            portion, self._input = self._input[: self._step_bytes], self._input[self._step_bytes :]
            try:
                data = self._inflate.decompress(portion)
            except _BROKEN as error:
                offset = self._file.tell() - len(self._input) - len(portion)
                raise _BrokenError(_DAMAGED.format(offset, error)) from error
            if data:
                return data


class _Recoded:
    """A text in UTF-8, without the mark before it."""

    def __init__(self, stream: _Reads, mark: bytes) -> None:
        self._stream = stream
        self._mark = mark
        encoding = dict(_MARKS)[mark]
        # What is UTF-8 stays as it is: names in it may be any bytes.
        self._decode = (
            None if mark == codecs.BOM_UTF8 else codecs.getincrementaldecoder(encoding)("replace")
        )

    def read(self, size: int) -> bytes:
        while True:
            data = self._stream.read(max(size, len(self._mark))) or b""
            is_end = not data
            if self._mark:
                data, self._mark = data.removeprefix(self._mark), b""
            if self._decode is not None:
                data = self._decode.decode(data, is_end).encode()
            if data or is_end:
                return data


class _Blanks:
    """A text with blanks as terminals have them."""

    def __init__(self, stream: _Reads) -> None:
        self._stream = stream
        self._rest = b""

    def read(self, size: int) -> bytes:
        while True:
            data = self._stream.read(max(size, 1)) or b""
            is_end = not data
            data = self._rest + data
            half = next((half for half in _HALF_BLANKS if data.endswith(half)), b"")
            self._rest = b"" if is_end else half
            data = data.removesuffix(self._rest)
            for blank in _BLANKS:
                data = data.replace(blank, b" ")
            if data or is_end:
                return data


class _Reads(Protocol):
    def read(self, size: int, /) -> bytes | None: ...


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def _xz() -> _Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_WINDOW_BYTES)


def _zstd() -> _Decompressor:
    inflate = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    return cast(_Decompressor, inflate.decompressobj())


# How to decompress each, and how much input at a time makes 16 MiB at most: zstd has blocks of one
# repeated byte that take 4 bytes for 128 KiB, LZMA codes 273 bytes in about a quarter of a bit,
# deflate 258 bytes in two. Of bzip2 a block of 40 bytes may hold 46 MB, and so much it may make.
_DECOMPRESSORS: dict[str, tuple[Callable[[], _Decompressor], int]] = {
    "gzip": (lambda: zlib.decompressobj(wbits=31), 8192),
    "xz": (_xz, 1024),
    "zstd": (_zstd, 512),
    "bzip2": (bz2.BZ2Decompressor, 64),
}
