"""Named arrays as one compressed block: the payload of a head-log frame.

A JSON line (name, type, shape of each array; small values inline), then the arrays' bytes in that
order, all of it zstd-compressed. Self-describing, so that a column may be added without a new
version, and a reader skips what it does not know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from exhume.errors import ParseError

MAX_BLOCK_BYTES = 256 << 20
"""More than any second or scan of a machine makes: a larger claim is damage."""
_ALLOWED_KINDS = "iufb"
_BROKEN = (
    zstandard.ZstdError, ValueError, KeyError, TypeError, OverflowError, RecursionError,
    MemoryError,
)  # fmt: skip

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Columns:
    arrays: Mapping[str, Array] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    """JSON values: names, paths, small tables."""

    def get(self, name: str, dtype: str) -> Array:
        """The array of that name, or an empty one where this frame has none."""
        return self.arrays[name] if name in self.arrays else np.empty(0, dtype)


def pack(columns: Columns, compressor: zstandard.ZstdCompressor) -> bytes:
    head = {
        "arrays": [[name, array.dtype.str, array.shape] for name, array in columns.arrays.items()],
        "values": columns.values,
    }
    parts = [json.dumps(head, separators=(",", ":")).encode(), b"\n"]
    parts.extend(np.ascontiguousarray(array).tobytes() for array in columns.arrays.values())
    return compressor.compress(b"".join(parts))


def unpack(data: bytes | memoryview, path: str, where: str) -> Columns:
    try:
        if not 0 <= zstandard.frame_content_size(data) <= MAX_BLOCK_BYTES:
            raise ValueError("its size is not given, or larger than any frame's is")
        raw = zstandard.ZstdDecompressor().decompress(data)
        line = raw.index(b"\n")
        head = json.loads(raw[:line])
        arrays: dict[str, Array] = {}
        at = line + 1
        for name, type_, shape in head["arrays"]:
            dtype = np.dtype(type_)
            if dtype.kind not in _ALLOWED_KINDS:
                raise ValueError(f"array type {type_}")
            count = math.prod(shape)
            if count < 0 or at + count * dtype.itemsize > len(raw):
                raise ValueError(f"array {name} runs past the end")
            arrays[name] = np.frombuffer(raw, dtype, count, at).reshape(shape)
            at += count * dtype.itemsize
        return Columns(arrays, dict(head["values"]))
    except _BROKEN as error:
        raise ParseError(path, where, f"a block of columns ({error})") from error
