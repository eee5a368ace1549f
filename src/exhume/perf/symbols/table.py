"""`SymbolTable`: which function is at an address, as columns and one blob of names."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import zstandard
from msgspec import Struct
from numpy.typing import NDArray

from exhume.errors import ParseError
from exhume.model.arrays import I64, U8, U16, U32, U64

NOWHERE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""The address of a file offset that no segment loads; no symbol covers it."""

# A file: magic, version, CRC of all that follows; the lengths of two zstd frames; the columns with
# their counts; the names.
_HEADER = struct.Struct("<8sII")
_LENGTHS = struct.Struct("<II")
_COUNTS = struct.Struct("<IIII")
_MAGIC = b"exhumSYM"
VERSION = 1
# More than `build` ever lets into a table; a damaged header must not make us allocate more.
_MAX_FRAME_BYTES = 128 << 20
_ROW_BYTES = 8 + 8 + 4 + 2
_Word = TypeVar("_Word", np.uint64, np.uint32, np.uint16)
_SEGMENT = np.dtype([("offset", "<u8"), ("vaddr", "<u8"), ("size_bytes", "<u8")])


class LoadSegment(Struct, frozen=True):
    """A PT_LOAD: these bytes of the file are at that address. Executable ones come first."""

    offset: int
    vaddr: int
    size_bytes: int


def vaddrs_of(segments: Sequence[LoadSegment], offsets: U64) -> U64:
    """File offsets → addresses; NOWHERE where no segment loads them."""
    vaddrs = np.full(len(offsets), NOWHERE, np.uint64)
    for segment in reversed(segments):
        begin = np.uint64(segment.offset)
        inside = (offsets >= begin) & (offsets - begin < np.uint64(segment.size_bytes))
        vaddrs[inside] = offsets[inside] - begin + np.uint64(segment.vaddr)
    return vaddrs


class SymbolTable(Struct, frozen=True, dict=True):
    """Ordered by start, one symbol a start. Addresses are the file's own (vaddr), or absolute."""

    start: U64
    end: U64
    name_offset: U32
    """Shape (symbols + 1,): name i is `names[name_offset[i]:name_offset[i + 1]]`. Of functions of
    a stripped program only where they are is known: their names are empty."""
    names: bytes
    module: U16
    """Index into `modules`; all 0 except for the kernel."""
    modules: tuple[str, ...] = ("",)
    """Kernel modules; the first, empty one stands for the kernel itself, or for the file."""
    load_segments: tuple[LoadSegment, ...] = ()

    def __len__(self) -> int:
        return len(self.start)

    @property
    def named(self) -> int:
        """How many have a name."""
        return int(np.count_nonzero(np.diff(self.name_offset)))

    def lookup(self, addresses: U64) -> I64:
        """Index of the symbol that covers each address, -1 where none does."""
        if not len(self.start):
            return np.full(len(addresses), -1, np.int64)
        last = np.searchsorted(self.start, addresses, "right") - 1
        found = np.where(addresses < self.end[last], last, self._widest[last])
        return np.where((last >= 0) & (addresses < self.end[found]), found, -1).astype(np.int64)

    def name(self, index: int) -> str:
        begin, end = self.name_offset[index : index + 2].tolist()
        return self.names[begin:end].decode("utf-8", "replace")

    def module_name(self, index: int) -> str:
        return self.modules[int(self.module[index])]

    def vaddr_of_offset(self, offsets: U64) -> U64:
        """File offsets → addresses. Without segments (kernel, JIT) they are addresses already."""
        return vaddrs_of(self.load_segments, offsets) if self.load_segments else offsets

    @cached_property
    def _widest(self) -> I64:
        """The symbol that reaches furthest among those that start no later than each one.

        Behind the end of a symbol inside a larger one, an address is the larger one's.
        """
        reach = np.maximum.accumulate(self.end)
        is_new = np.concatenate(([True], reach[1:] > reach[:-1]))
        return np.maximum.accumulate(np.where(is_new, np.arange(len(self.end)), 0))

    def save(self, path: Path) -> int:
        """Write it all or not at all; returns the bytes written."""
        data = encode(self)
        draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            draft.write_bytes(data)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return len(data)

    @staticmethod
    def load(path: Path) -> SymbolTable:
        """OSError where it can't be read, ParseError where it is damaged."""
        return decode(path.read_bytes(), str(path))


def encode(table: SymbolTable) -> bytes:
    """Distances, not addresses; all first bytes before all second bytes: half the size."""
    segments = np.array(
        [(s.offset, s.vaddr, s.size_bytes) for s in table.load_segments], dtype=_SEGMENT
    )
    columns = b"".join(
        (
            _COUNTS.pack(len(table), len(table.names), len(segments), len(table.modules)),
            _to_planes(np.diff(table.start, prepend=np.uint64(0))),
            _to_planes(table.end - table.start),
            _to_planes(np.diff(table.name_offset)),
            _to_planes(table.module),
            segments.tobytes(),
            "\n".join(table.modules).encode(),
        )
    )
    squeeze = zstandard.ZstdCompressor(level=3, write_checksum=True).compress
    frames = squeeze(columns), squeeze(table.names)
    body = _LENGTHS.pack(*map(len, frames)) + b"".join(frames)
    return _HEADER.pack(_MAGIC, VERSION, zlib.crc32(body)) + body


def decode(data: bytes, path: str) -> SymbolTable:
    body_at = _HEADER.size + _LENGTHS.size
    if len(data) < body_at:
        raise ParseError(path, "offset 0", "a symbol table, not a cut-off file")
    magic, version, checksum = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != VERSION:
        raise ParseError(path, "offset 0", f"a symbol table of version {VERSION}")
    view = memoryview(data)
    columns, names = _LENGTHS.unpack_from(data, _HEADER.size)
    if body_at + columns + names != len(data) or zlib.crc32(view[_HEADER.size :]) != checksum:
        raise ParseError(path, f"offset {_HEADER.size}", "data that fits its checksum")
    return _from_columns(
        _expand(view[body_at : body_at + columns], path),
        _expand(view[body_at + columns :], path),
        path,
    )


def _expand(frame: memoryview, path: str) -> bytes:
    try:
        if not 0 <= zstandard.frame_content_size(frame) <= _MAX_FRAME_BYTES:
            raise ParseError(path, "its frames", "a table of a sensible size")
        return zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError as error:
        raise ParseError(path, "its frames", f"zstd data ({error})") from error


def _from_columns(data: bytes, names: bytes, path: str) -> SymbolTable:
    if len(data) < _COUNTS.size:
        raise ParseError(path, "its head", "the sizes of its columns")
    count, name_bytes, segments, modules = _COUNTS.unpack_from(data)
    at = _COUNTS.size
    segments_at = at + count * _ROW_BYTES
    modules_at = segments_at + segments * _SEGMENT.itemsize
    if modules_at > len(data) or name_bytes != len(names):
        raise ParseError(path, "its head", f"columns that fit into {len(data)} bytes")
    start = np.cumsum(_from_planes(data, at, count, np.uint64), dtype=np.uint64)
    size = _from_planes(data, at + 8 * count, count, np.uint64)
    lengths = _from_planes(data, at + 16 * count, count, np.uint32)
    module = _from_planes(data, at + 20 * count, count, np.uint16)
    module_names = tuple(data[modules_at:].decode("utf-8", "replace").split("\n"))
    offsets = np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)))
    if int(offsets[-1]) != name_bytes or len(module_names) != modules:
        raise ParseError(path, "its columns", "names for all symbols and modules")
    if int(module.max(initial=0)) >= modules:
        raise ParseError(path, "its columns", f"modules below {modules}")
    loads = np.frombuffer(data, _SEGMENT, segments, segments_at)
    return SymbolTable(
        start=start,
        end=start + size,
        name_offset=offsets.astype(np.uint32),
        names=names,
        module=module,
        modules=module_names,
        load_segments=tuple(LoadSegment(*row) for row in loads.tolist()),
    )


def _to_planes(column: U64 | U32 | U16) -> bytes:
    rows = np.ascontiguousarray(column).view(np.uint8).reshape(len(column), column.itemsize)
    return rows.T.tobytes()


def _from_planes(payload: bytes, at: int, count: int, dtype: type[_Word]) -> NDArray[_Word]:
    width = np.dtype(dtype).itemsize
    planes: U8 = np.frombuffer(payload, np.uint8, count * width, at).reshape(width, count)
    return np.ascontiguousarray(planes.T).view(dtype).reshape(count)
