"""The values of one column chunk → the bytes of its pages, before they are compressed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from functools import cache

import numpy as np
from msgspec import Struct

from exhume.clibrary import C_INT, C_U64, POINTER, load
from exhume.model.arrays import I64, U32, Bool
from exhume.perf.distinct import distinct_rows
from exhume.store.column_types import NULL, Array, Column, ColumnType, Texts

ABI = 1
MAX_DICTIONARY_BYTES = 1 << 20
"""A larger dictionary is none: the values are then written as they are."""


class Encoding(IntEnum):
    """Parquet's numbers."""

    PLAIN = 0
    RLE = 3
    DELTA_BINARY_PACKED = 5
    DELTA_LENGTH_BYTE_ARRAY = 6
    RLE_DICTIONARY = 8
    BYTE_STREAM_SPLIT = 9


class Chunk(Struct, frozen=True):
    """A column of one row group: a data page, and before it maybe a dictionary."""

    rows: int
    nulls: int
    levels: bytes
    """Which rows are null; empty where the column has no nulls."""
    encoding: Encoding
    values: bytes
    dictionary: bytes | None
    dictionary_rows: int


@cache
def _library() -> ctypes.CDLL:
    one = (C_U64, [POINTER, C_U64, C_INT, POINTER])
    return load("store/_encode", ("xe_abi", ABI), {"xe_delta": one, "xe_runs": one})


def encode(column: ColumnType, values: Column) -> Chunk:
    if column.type == "string":
        if column.encoding == "text":
            return _lengths_and_text(values)
        return _dictionary_of_texts(values if isinstance(values, Texts) else Texts.of(list(values)))
    if isinstance(values, Texts):
        raise TypeError(f"column {column.name} is of numbers, not of text")
    array = np.ascontiguousarray(values, column.type)
    rows, levels, nulls = len(array), b"", 0
    if column.nullable:
        is_there = array != NULL
        levels, nulls = _runs(is_there.astype(np.uint32), 1), int((~is_there).sum())
        array = array[is_there] if nulls else array
    encoding, data, dictionary, count = _numbers(column, array)
    return Chunk(rows, nulls, levels, encoding, data, dictionary, count)


def _numbers(column: ColumnType, array: Array) -> tuple[Encoding, bytes, bytes | None, int]:
    wide = array.astype(f"<i{physical_bytes(column)}", copy=False)
    if column.encoding == "dictionary":
        first, which = distinct_rows(array.astype(np.int64, copy=False))
        if len(first) * wide.itemsize <= MAX_DICTIONARY_BYTES:
            dictionary = wide[first].tobytes()
            return Encoding.RLE_DICTIONARY, _indices(which, len(first)), dictionary, len(first)
    if column.encoding == "delta":
        return Encoding.DELTA_BINARY_PACKED, _delta(array, 8 * wide.itemsize), None, 0
    if column.encoding == "split":
        planes = wide.view(np.uint8).reshape(len(wide), wide.itemsize).T
        return Encoding.BYTE_STREAM_SPLIT, planes.tobytes(), None, 0
    return Encoding.PLAIN, wide.tobytes(), None, 0


def physical_bytes(column: ColumnType) -> int:
    """Parquet knows whole numbers of 4 and 8 bytes; smaller ones are marked as such."""
    return 8 if np.dtype(column.type).itemsize == 8 else 4


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate: a name that was not UTF-8 where it came from
        return text.encode("utf-8", "replace")


def _dictionary_of_texts(texts: Texts) -> Chunk:
    # Only what is used, in the order it comes: others may have filled the table of texts.
    first, which = distinct_rows(texts.number.astype(np.int64))
    used = [_utf8(texts.values[number]) for number in texts.number[first].tolist()]
    rows = len(which)
    if sum(map(len, used)) + 4 * len(used) > MAX_DICTIONARY_BYTES:
        plain = _plain([used[number] for number in which.tolist()])
        return Chunk(rows, 0, b"", Encoding.PLAIN, plain, None, 0)
    data = _indices(which, len(used))
    return Chunk(rows, 0, b"", Encoding.RLE_DICTIONARY, data, _plain(used), len(used))


def _plain(texts: Sequence[bytes]) -> bytes:
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def _lengths_and_text(values: Column) -> Chunk:
    rows = [values.values[n] for n in values.number] if isinstance(values, Texts) else values
    joined = "".join(rows)
    if joined.isascii():  # nearly always, and then a character is a byte
        lengths, text = np.fromiter(map(len, rows), np.int64, len(rows)), joined.encode()
    else:
        texts = [_utf8(row) for row in rows]
        lengths, text = np.fromiter(map(len, texts), np.int64, len(texts)), b"".join(texts)
    data = _delta(lengths, 32) + text
    return Chunk(len(rows), 0, b"", Encoding.DELTA_LENGTH_BYTE_ARRAY, data, None, 0)


def _delta(values: Array, bits: int) -> bytes:
    numbers: I64 = np.ascontiguousarray(values, np.int64)
    out = np.empty(40 + (len(numbers) // 128 + 1) * (14 + 128 * 8), np.uint8)
    length = _library().xe_delta(numbers.ctypes.data, len(numbers), bits, out.ctypes.data)
    return out[:length].tobytes()


def _indices(which: I64, count: int) -> bytes:
    width = max(1, (count - 1).bit_length()) if count else 1
    return bytes([width]) + _runs(which, width)


def _runs(values: I64 | U32 | Bool, width: int) -> bytes:
    numbers = np.ascontiguousarray(values, np.uint32)
    out = np.empty(20 + (len(numbers) + 8) * 5, np.uint8)
    length = _library().xe_runs(numbers.ctypes.data, len(numbers), width, out.ctypes.data)
    return out[:length].tobytes()
