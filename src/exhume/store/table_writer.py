"""Writes a Parquet file: columns in, row groups out. `store.parquet` reads them, with Arrow.

Arrow could write them too, but takes 30 MiB of resident memory only to be there: as much as all the
rest of the segment closer. What a segment needs of the format is little: flat tables, one data page
a column chunk, four encodings. https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import zstandard

from exhume.store.column_types import Column, ColumnType
from exhume.store.encodings import Chunk, Encoding, encode, physical_bytes
from exhume.store.thrift import Fields, Long, Tiny, Value
from exhume.store.thrift import encode as encode_struct

COMPRESSION_LEVEL = 3
_MAGIC = b"PAR1"
_CREATED_BY = "exhume"
_VERSION = 2
_INT32, _INT64, _BYTE_ARRAY = 1, 2, 6
_REQUIRED, _OPTIONAL = 0, 1
_ZSTD = 6
_DICTIONARY_PAGE, _DATA_PAGE_V2 = 2, 3
_UTF8 = 0
_CONVERTED = {
    "uint8": 11, "uint16": 12, "uint32": 13, "uint64": 14,
    "int8": 15, "int16": 16, "int32": 17, "int64": 18,
}  # fmt: skip


class TableWriter:
    """One Parquet file, written in as many row groups as there are calls of `write`."""

    def __init__(self, path: Path, columns: Sequence[ColumnType], level: int | None = None) -> None:
        self._columns = tuple(columns)
        self._file = open(path, "wb")  # noqa: SIM115
        self._compress = zstandard.ZstdCompressor(
            level=COMPRESSION_LEVEL if level is None else level
        ).compress
        self._groups: list[Fields] = []
        self._rows = 0
        self._at = 0
        self._put(_MAGIC)

    def write(self, values: Mapping[str, Column]) -> None:
        """One row group."""
        chunks = [encode(column, values[column.name]) for column in self._columns]
        rows = chunks[0].rows
        if any(chunk.rows != rows for chunk in chunks):
            raise ValueError("the columns are of different lengths")
        begin = self._at
        written = [self._chunk(*pair) for pair in zip(self._columns, chunks, strict=True)]
        plain_bytes = sum(size for _, size in written)
        self._groups.append(
            {
                1: [facts for facts, _ in written],
                2: Long(plain_bytes),
                3: Long(rows),
                5: Long(begin),
                6: Long(self._at - begin),
            }
        )
        self._rows += rows

    def _chunk(self, column: ColumnType, chunk: Chunk) -> tuple[Fields, int]:
        """Its facts for the footer, and what it would take without compression."""
        begin, plain_bytes = self._at, 0
        encodings = [chunk.encoding, Encoding.RLE]
        dictionary: dict[int, Value] = {}
        if chunk.dictionary is not None:
            header = {7: {1: chunk.dictionary_rows, 2: int(Encoding.PLAIN), 3: False}}
            plain_bytes += self._page(_DICTIONARY_PAGE, b"", chunk.dictionary, header)
            dictionary = {11: Long(begin)}
            encodings.append(Encoding.PLAIN)
        data_at = self._at
        header_v2: dict[int, Fields] = {
            8: {
                1: chunk.rows,
                2: chunk.nulls,
                3: chunk.rows,
                4: int(chunk.encoding),
                5: len(chunk.levels),
                6: 0,
                7: True,
            }
        }
        plain_bytes += self._page(_DATA_PAGE_V2, chunk.levels, chunk.values, header_v2)
        facts: Fields = {
            1: _physical(column),
            2: [int(encoding) for encoding in encodings],
            3: [column.name],
            4: _ZSTD,
            5: Long(chunk.rows),
            6: Long(plain_bytes),
            7: Long(self._at - begin),
            9: Long(data_at),
            **dictionary,
        }
        return {2: Long(0), 3: facts}, plain_bytes

    def _page(self, kind: int, levels: bytes, values: bytes, header: Mapping[int, Fields]) -> int:
        squeezed = self._compress(values)
        sizes = len(levels) + len(values), len(levels) + len(squeezed)
        head = encode_struct({1: kind, 2: sizes[0], 3: sizes[1], **header})
        self._put(head)
        self._put(levels)
        self._put(squeezed)
        return len(head) + sizes[0]

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)

    def close(self) -> None:
        footer = encode_struct(
            {
                1: _VERSION,
                2: [{4: "schema", 5: len(self._columns)}, *map(_element, self._columns)],
                3: Long(self._rows),
                4: self._groups,
                6: _CREATED_BY,
            }
        )
        self._put(footer + len(footer).to_bytes(4, "little") + _MAGIC)
        self._file.close()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._file.close()  # half a file: nobody is to read it


def write_table(path: Path, columns: Sequence[ColumnType], values: Mapping[str, Column]) -> None:
    with TableWriter(path, columns) as writer:
        writer.write(values)


def _physical(column: ColumnType) -> int:
    if column.type == "string":
        return _BYTE_ARRAY
    return _INT64 if physical_bytes(column) == 8 else _INT32


def _element(column: ColumnType) -> Fields:
    """What a reader is told of a column: its type, and what that stands for."""
    repetition = _OPTIONAL if column.nullable else _REQUIRED
    element: dict[int, Value] = {1: _physical(column), 3: repetition, 4: column.name}
    if column.type == "string":
        return {**element, 6: _UTF8, 10: {1: {}}}
    dtype = np.dtype(column.type)
    integer: Fields = {1: Tiny(8 * dtype.itemsize), 2: dtype.kind == "i"}
    return {**element, 6: _CONVERTED[column.type], 10: {10: integer}}
