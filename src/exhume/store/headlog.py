"""The head log: what was recorded since the last segment was closed, one frame a second.

    file   := header frame*
    header := "EXHUMEHD" u32 version u32 crc32
    frame  := "XHF\\n" u32 kind u32 length u32 crc32 i64 start_ns i64 end_ns payload[length]

All little-endian; the checksum covers kind, length, times and payload, the header's what is before
it. A frame is appended with one write, so a kill leaves at most one torn frame at the end. A reader
that meets damage looks for the next frame mark and says how many bytes it passed over: damage costs
what it hit, no more.
"""

from __future__ import annotations

import os
import struct
import zlib
from enum import IntEnum
from pathlib import Path
from typing import Any

import zstandard
from msgspec import Struct

from exhume.errors import ParseError
from exhume.store.columns import Columns, pack, unpack

VERSION = 1
SUFFIX = ".head"
DAMAGED = ".damaged"
"""Of a log that could not be closed; kept aside for whoever wants to look."""
_FILE_MAGIC = b"EXHUMEHD"
_FILE_START = struct.Struct("<8sI")
_FILE_HEADER_BYTES = _FILE_START.size + 4
_MARK = b"XHF\n"
_FRAME = struct.Struct("<4sIIIqq")
_CHECKED = struct.Struct("<IIqq")
COMPRESSION_LEVEL = 1
_CHUNK_BYTES = 1 << 20


class FrameKind(IntEnum):
    ORIGIN = 1
    """Which machine, boot and recorder: the first frame."""
    CLOCK = 2
    """A pair of clocks."""
    STRETCH = 3
    """Event and rate of the samples from here on."""
    TICK = 4
    """One second: samples, new stacks, side band, readings, events."""
    STATE = 5
    """Threads, mappings and cgroups that were there before we looked: a scan of /proc."""


class FrameInfo(Struct, frozen=True):
    kind: int
    start_ns: int
    end_ns: int
    offset: int
    """Of the payload."""
    length: int


class Damage(Struct, frozen=True):
    offset: int
    length: int
    what: str


def file_header(version: int) -> bytes:
    start = _FILE_START.pack(_FILE_MAGIC, version)
    return start + zlib.crc32(start).to_bytes(4, "little")


def is_older(name: str, live: str) -> bool:
    """By the machine's own clock. The recorder may have begun yet another log since it told us."""
    try:
        _, boot, began_ms = name.removesuffix(SUFFIX).rsplit("-", 2)
        _, live_boot, live_began_ms = live.removesuffix(SUFFIX).rsplit("-", 2)
        return boot != live_boot or int(began_ms) < int(live_began_ms)
    except ValueError:
        return name != live


class HeadWriter:
    """Appends frames. Raises OSError (ENOSPC among others) with the file as it was before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(
            path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o640
        )
        self._compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
        self.size_bytes = 0
        try:
            self._append(file_header(VERSION))
        except OSError:
            self.close()
            raise

    def write(self, kind: FrameKind, start_ns: int, end_ns: int, columns: Columns) -> int:
        """Append one frame; how many bytes it took."""
        return self.write_packed(kind, start_ns, end_ns, pack(columns, self._compressor))

    def write_packed(self, kind: FrameKind, start_ns: int, end_ns: int, payload: bytes) -> int:
        checksum = zlib.crc32(
            payload, zlib.crc32(_CHECKED.pack(kind, len(payload), start_ns, end_ns))
        )
        header = _FRAME.pack(_MARK, kind, len(payload), checksum, start_ns, end_ns)
        self._append(header + payload)
        return len(header) + len(payload)

    def _append(self, data: bytes) -> None:
        done = 0
        try:
            while done < len(data):
                done += os.write(self._fd, data[done:] if done else data)
        except OSError:
            os.ftruncate(self._fd, self.size_bytes)
            raise
        self.size_bytes += len(data)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class HeadFile:
    """A head log as it stood when opened; it may grow meanwhile, and be damaged anywhere.

    Read frame by frame: ten minutes of a large machine are more than a closer may hold. Not mapped:
    the recorder cuts off what it could not write whole, and that would be a SIGBUS here.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        """`start`: where to go on, at the end of a frame that was read before."""
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size_bytes = os.fstat(self._fd).st_size
        self.frames: list[FrameInfo] = []
        self.damage: list[Damage] = []
        self._scan(start)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)

    def _bytes(self, at: int, length: int) -> bytes:
        return os.pread(self._fd, max(0, min(length, self.size_bytes - at)), at)

    def _scan(self, start: int) -> None:
        at = start or self._past_header()
        while at < self.size_bytes:
            frame = self._frame_at(at)
            if frame is not None:
                self.frames.append(frame)
                at = frame.offset + frame.length
                continue
            following = self._find_mark(at + 1)
            while following >= 0 and self._frame_at(following) is None:
                following = self._find_mark(following + 1)
            end = following if following >= 0 else self.size_bytes
            self.damage.append(
                Damage(at, end - at, "torn at the end" if following < 0 else "damaged")
            )
            at = end

    def _find_mark(self, at: int) -> int:
        """Where the next frame mark is; -1 where there is none."""
        while at < self.size_bytes:
            chunk = self._bytes(at, _CHUNK_BYTES)
            if not chunk:  # cut off since
                return -1
            found = chunk.find(_MARK)
            if found >= 0:
                return at + found
            at += max(1, len(chunk) - len(_MARK) + 1)
        return -1

    def _past_header(self) -> int:
        """Where the first frame is; 0 if the header is damaged: the frames may still be good."""
        head = self._bytes(0, _FILE_HEADER_BYTES)
        if len(head) < _FILE_HEADER_BYTES:
            return 0
        magic, version = _FILE_START.unpack_from(head)
        if magic != _FILE_MAGIC or head != file_header(version):
            return 0
        if version > VERSION:
            raise ParseError(
                str(self.path), "header", f"head log version {VERSION} or older, not {version}",
                todo="read it with the version of exhume that recorded it, or a newer one",
            )  # fmt: skip
        return _FILE_HEADER_BYTES

    def _frame_at(self, at: int) -> FrameInfo | None:
        header = self._bytes(at, _FRAME.size)
        if len(header) < _FRAME.size:
            return None
        mark, kind, length, checksum, start_ns, end_ns = _FRAME.unpack(header)
        offset = at + _FRAME.size
        if mark != _MARK or offset + length > self.size_bytes:
            return None
        checked = zlib.crc32(_CHECKED.pack(kind, length, start_ns, end_ns))
        if zlib.crc32(self._bytes(offset, length), checked) != checksum:
            return None
        return FrameInfo(kind, start_ns, end_ns, offset, length)

    def read(self, frame: FrameInfo) -> Columns:
        payload = self._bytes(frame.offset, frame.length)
        return unpack(payload, str(self.path), f"offset {frame.offset}")

    def values(self, kind: FrameKind) -> list[dict[str, Any]]:
        """The JSON values of every frame of a kind."""
        return [dict(self.read(frame).values) for frame in self.frames if frame.kind == kind]
