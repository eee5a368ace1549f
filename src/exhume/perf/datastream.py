"""The records of perf.data as a stream: whole ones, some at a time, whatever wraps them.

Most records go to the walker in bulk. Some can't: those that describe the others, those with a
payload behind them, and those that hold compressed records. They are taken out here, one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Protocol

import numpy as np
import zstandard
from msgspec import Struct

from exhume.model.arrays import U8
from exhume.perf.native import Counts, count

_HEADER_BYTES = 8
_CHATTER = b"[ perf record: "
_LARGEST_RECORD = 1 << 16
_NO_TYPE = 1 << 16
"""As in native.c."""
_MAGIC = b"PERFILE2"
_MAX_WINDOW_BYTES = 128 << 20
# One RLE block of zstd makes 128 KiB of 4 bytes: so much input can't make more than 16 MiB.
_COMPRESSED_STEP = 512


class UserRecord(IntEnum):
    """Records that perf(1) writes, tools/lib/perf/include/perf/event.h."""

    HEADER_ATTR = 64
    TRACING_DATA = 66
    HEADER_BUILD_ID = 67
    FINISHED_ROUND = 68
    AUXTRACE = 71
    EVENT_UPDATE = 78
    HEADER_FEATURE = 80
    COMPRESSED = 81
    COMPRESSED2 = 83


STOPS = (
    UserRecord.HEADER_ATTR, UserRecord.TRACING_DATA, UserRecord.HEADER_BUILD_ID,
    UserRecord.AUXTRACE, UserRecord.EVENT_UPDATE, UserRecord.HEADER_FEATURE,
    UserRecord.COMPRESSED, UserRecord.COMPRESSED2,
)  # fmt: skip


class Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


class Batch(Struct, frozen=True):
    """Whole records for the walker. The buffer is used again for the next batch."""

    buffer: U8
    bounds: Counts
    """How much is in it at most."""
    part: int
    """How many cuts lie before it."""


class Special(Struct, frozen=True):
    """A record that says something about the others."""

    type: int
    body: bytes
    """Behind the record's header."""


class RecordStream:
    """Iterate once. What could not be read is told in `problems`; what came before it stays."""

    def __init__(
        self, stream: Readable, offset: int, size: int | None, step_bytes: int,
        cuts: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """`stream` stands at `offset`; `size` is how much of it is records, None up to its end.

        `step_bytes` are read at a time. `cuts`: offsets, in order; a record that lies across one is
        of the part before it.
        """
        self._step_bytes = step_bytes
        self._stream = stream
        self._left = size
        self._offset = offset
        self._buffer: U8 = np.empty(self._step_bytes + _LARGEST_RECORD, np.uint8)
        self._begin = self._end = 0
        self._cuts = cuts
        self._part = 0
        self._inflate = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj(
            read_across_frames=True
        )
        self._inner = b""
        """The start of a decompressed record that is not whole yet."""
        self._ready: list[bytes] = []
        self._ready_bytes = 0
        """Records of compressed files: they come in small portions, and are handed on in large."""
        self.problems: list[str] = []
        self.is_cut = False
        """It ended before its end."""

    @property
    def offset(self) -> int:
        """In the file, of what comes next."""
        return self._offset + self._begin

    def __iter__(self) -> Iterator[Batch | Special]:
        while True:
            while self._cuts and self._cuts[0] <= self.offset:
                self._cuts = self._cuts[1:]
                self._part += 1
            until = self._cuts[0] - self.offset if self._cuts else None
            found = count(self._buffer[self._begin : self._end], STOPS, until)
            if whole := int(found.consumed):
                records = self._buffer[self._begin : self._begin + whole]
                self._begin += whole
                if self._ready:
                    yield from self._handed_on(records.tobytes())
                else:
                    yield Batch(records, found, self._part)
                continue
            header = self._header()
            if header is None:
                break
            type_, size = header
            if type_ not in STOPS:
                continue  # there is more of it now
            body = self._buffer[self._begin + _HEADER_BYTES : self._begin + size].tobytes()
            self._begin += size
            if type_ in (UserRecord.COMPRESSED, UserRecord.COMPRESSED2):
                yield from self._decompressed(type_, body)
            elif type_ in (UserRecord.TRACING_DATA, UserRecord.AUXTRACE):
                self._skip(_payload_bytes(type_, body))
            else:
                yield from self._handed_on(b"", self._step_bytes)
                yield Special(type_, body)
        yield from self._handed_on(b"", self._step_bytes)
        if self._inner and not self.problems:
            self.problems.append("the compressed records end in the middle of one")

    def _header(self) -> tuple[int, int] | None:
        """Type and size of the record that comes next, all of it in the buffer; None at the end."""
        if self._end - self._begin < _HEADER_BYTES:
            self._fill()
        held = self._end - self._begin
        if held < _HEADER_BYTES:
            if held:
                self._note_cut()
            return None
        head = self._buffer[self._begin : self._begin + len(_CHATTER)].tobytes()
        type_, _, size = struct.unpack_from("<IHH", head)
        if head == _CHATTER:
            return None  # `perf record -o - > file 2>&1`: it says goodbye behind the records
        if size < _HEADER_BYTES:
            self.problems.append(
                f"offset {self.offset}: expected a record, found one of {size} bytes; "
                "what follows can't be read"
            )
            return None
        if type_ >= _NO_TYPE:
            self.problems.append(self._no_record(head))
            return None
        if held < size:
            self._fill()
            if self._end - self._begin < size:
                self._note_cut()
                return None
        return type_, size

    def _note_cut(self) -> None:
        self.is_cut = True
        if not self.problems:  # else it was told how much is missing
            self.problems.append(f"offset {self.offset}: the file ends in the middle of a record")

    def _no_record(self, head: bytes) -> str:
        if head.startswith(_MAGIC):
            return (
                f"offset {self.offset}: another capture begins here, which is not read; "
                f"cut it off with `tail -c +{self.offset + 1}` and import it too"
            )
        return (
            f"offset {self.offset}: expected a record, found {head[:_HEADER_BYTES].hex(' ')}; "
            "what follows can't be read"
        )

    def _fill(self) -> None:
        """Move what is left to the front, and read as much as fits behind it."""
        held = self._end - self._begin
        self._buffer[:held] = self._buffer[self._begin : self._end].copy()
        self._offset += self._begin
        self._begin, self._end = 0, held
        while self._end < self._step_bytes and self._left != 0:
            wanted = self._step_bytes - self._end
            wanted = wanted if self._left is None else min(wanted, self._left)
            size = self._stream.readinto(self._buffer[self._end : self._end + wanted].data)
            if not size:
                if self._left is not None:
                    self.is_cut = True
                    self.problems.append(
                        f"offset {self._offset + self._end}: the file is cut off, {self._left} "
                        "bytes are missing: copy it again"
                    )
                self._left = 0
                break
            self._end += size
            if self._left is not None:
                self._left -= size

    def _skip(self, size: int) -> None:
        """Pass over a payload that is no records."""
        held = min(size, self._end - self._begin)
        self._begin += held
        size -= held
        if not size:
            return
        self._fill()  # nothing is held, so the offset is that of the stream
        while size > self._end - self._begin and self._end:
            size -= self._end - self._begin
            self._begin = self._end
            self._fill()
        self._begin += min(size, self._end - self._begin)

    def _decompressed(self, type_: int, body: bytes) -> Iterator[Batch]:
        if type_ == UserRecord.COMPRESSED2:  # padded: it says how much of it is data
            (size,) = struct.unpack_from("<Q", body) if len(body) >= 8 else (0,)
            body = body[8 : 8 + size]
        for at in range(0, len(body), _COMPRESSED_STEP):
            try:
                data = self._inner + self._inflate.decompress(body[at : at + _COMPRESSED_STEP])
            except zstandard.ZstdError as error:
                self._give_up(f"zstd data ({error})")
                return
            whole = int(count(np.frombuffer(data, np.uint8)).consumed)
            self._inner = data[whole:]
            if len(self._inner) >= _LARGEST_RECORD:
                self._give_up("records in the compressed data")
                return
            yield from self._handed_on(data[:whole])

    def _handed_on(self, more: bytes, at_least: int = 0) -> Iterator[Batch]:
        """`at_least` as much as a step: hand on all there is."""
        if more:
            self._ready.append(more)
            self._ready_bytes += len(more)
        if self._ready and max(self._ready_bytes, at_least) >= self._step_bytes:
            records = np.frombuffer(b"".join(self._ready), np.uint8)
            self._ready, self._ready_bytes = [], 0
            yield Batch(records, count(records), self._part)

    def _give_up(self, expected: str) -> None:
        self.problems.append(f"offset {self.offset}: expected {expected}")
        self._inner = b""
        self._left, self._begin = 0, self._end


def _payload_bytes(type_: int, body: bytes) -> int:
    if type_ == UserRecord.TRACING_DATA:
        size: int = struct.unpack_from("<I", body)[0] if len(body) >= 4 else 0
    else:
        size = struct.unpack_from("<Q", body)[0] if len(body) >= 8 else 0
    return size
