"""Named arrays as one compressed block: the payload of a head-log frame.

A JSON line (name, type, shape of each array; small values inline), then the arrays' bytes in that
order, all of it zstd-compressed. Self-describing, so that a column may be added without a new
version, and a reader skips what it does not know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import zstandard
from msgspec import Struct, field
from numpy.typing import NDArray

from exhume.errors import ParseError

MAX_BLOCK_BYTES = 256 << 20
"""More than any second or scan of a machine makes: a larger claim is damage."""
_ALLOWED_KINDS = "iufb"
_MAX_DIMENSIONS = 32
_BROKEN = (
    zstandard.ZstdError, ValueError, KeyError, TypeError, OverflowError, RecursionError,
    MemoryError,
)  # fmt: skip

Array = NDArray[Any]


class Columns(Struct, frozen=True):
    arrays: Mapping[str, Array] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    """JSON values: names, paths, small tables."""

    def get(self, name: str, dtype: str) -> Array:
        """The array of that name, or an empty one where this frame has none."""
        return self.arrays[name] if name in self.arrays else np.empty(0, dtype)

    def run_of(self, prefix: str, dtype: str) -> tuple[list[tuple[str, int]], Array]:
        """All columns of that type whose name begins so, one after the other: names and lengths
        (the names without the prefix), and the values."""
        if isinstance(self.arrays, _InBlock):
            return self.arrays.run_of(prefix, dtype)
        some = {
            name.removeprefix(prefix): array
            for name, array in self.arrays.items()
            if name.startswith(prefix) and array.dtype == dtype and array.ndim == 1
        }
        row = np.concatenate([np.empty(0, dtype), *some.values()])
        return [(name, len(array)) for name, array in some.items()], row


class _InBlock(Mapping[str, Array]):
    """Arrays of an unpacked block, made when they are looked at: a frame has a hundred."""

    def __init__(self, raw: bytes, places: dict[str, tuple[str, list[int], int]]) -> None:
        self._raw = raw
        self._places = places

    def __getitem__(self, name: str) -> Array:
        dtype, shape, at = self._places[name]
        if len(shape) == 1:
            return np.frombuffer(self._raw, dtype, shape[0], at)
        return np.frombuffer(self._raw, dtype, math.prod(shape), at).reshape(shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def run_of(self, prefix: str, dtype: str) -> tuple[list[tuple[str, int]], Array]:
        """All arrays of that type whose name begins so, one after the other; names and lengths."""
        some = [
            (name.removeprefix(prefix), shape[0], at)
            for name, (type_, shape, at) in self._places.items()
            if name.startswith(prefix) and type_ == dtype and len(shape) == 1
        ]
        width = np.dtype(dtype).itemsize
        ends = [at + count * width for _, count, at in some]
        if [at for _, _, at in some[1:]] == ends[:-1]:  # as they were written
            begin, length = (some[0][2], ends[-1] - some[0][2]) if some else (0, 0)
            row: Array = np.frombuffer(self._raw, dtype, length // width, begin)
        else:
            row = np.concatenate([self[prefix + name] for name, _, _ in some])
        return [(name, count) for name, count, _ in some], row


def _width(type_: str) -> int:
    dtype = np.dtype(type_)
    if dtype.kind not in _ALLOWED_KINDS:
        raise ValueError(f"array type {type_}")
    return dtype.itemsize


def pack(columns: Columns, compressor: zstandard.ZstdCompressor) -> bytes:
    entries = ",".join(
        f"{_entry(name, array.dtype)}{','.join(map(str, array.shape))}]]"
        for name, array in columns.arrays.items()
    )
    values = json.dumps(columns.values, separators=(",", ":"))
    parts = [f'{{"arrays":[{entries}],"values":{values}}}\n'.encode()]
    parts.extend(array.tobytes() for array in columns.arrays.values())
    return compressor.compress(b"".join(parts))


@lru_cache(maxsize=1024)
def _entry(name: str, dtype: np.dtype[Any]) -> str:
    """Of the list of arrays, up to the shape: a second has a hundred, the same as the last one."""
    return f"[{json.dumps(name)},{json.dumps(dtype.str)},["


def unpack(data: bytes | memoryview, path: str, where: str) -> Columns:
    try:
        if not 0 <= zstandard.frame_content_size(data) <= MAX_BLOCK_BYTES:
            raise ValueError("its size is not given, or larger than any frame's is")
        raw = zstandard.ZstdDecompressor().decompress(data)
        line = raw.index(b"\n")
        head = json.loads(str(memoryview(raw)[:line], "utf-8"))
        places: dict[str, tuple[str, list[int], int]] = {}
        at = line + 1
        widths: dict[str, int] = {}
        for name, type_, shape in head["arrays"]:
            if (width := widths.get(type_)) is None:
                width = widths[type_] = _width(type_)
            size = width
            for count in shape:
                if type(count) is not int or count < 0:
                    raise ValueError(f"array {name} of shape {shape}")
                size *= count
            places[name] = type_, shape, at
            at += size
            if at > len(raw) or len(shape) > _MAX_DIMENSIONS:
                raise ValueError(f"array {name} runs past the end")
        return Columns(_InBlock(raw, places), dict(head["values"]))
    except _BROKEN as error:
        raise ParseError(path, where, f"a block of columns ({error})") from error
