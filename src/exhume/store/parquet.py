"""The only module that touches Arrow: columns in, a Parquet file out, and back.

`pyarrow._parquet` is what `pyarrow.parquet` wraps. Going there directly saves 9 MiB of resident
memory (file systems, TLS, datasets) in the segment closer, whose whole budget is 85.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow._parquet as arrow_parquet
from numpy.typing import NDArray

# The system allocator gives memory back; Arrow's own pools keep it.
pa.set_memory_pool(pa.system_memory_pool())

Array: TypeAlias = NDArray[Any]
Column: TypeAlias = Array | Sequence[str]

COMPRESSION_LEVEL = 3


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How a column looks to a reader, and how its values are laid out in the file."""

    name: str
    type: str
    """`uint16`, `int64`, … or `string`."""
    encoding: str
    """`delta` for what rises slowly, `dictionary` for what repeats, `split` for noise, `plain`."""
    nullable: bool = False
    """Whole numbers only: the lowest int64 stands for null in memory."""


_ENCODINGS: dict[str, Any] = {
    "delta": "DELTA_BINARY_PACKED",
    "split": "BYTE_STREAM_SPLIT",
    "plain": "PLAIN",
    "text": "DELTA_LENGTH_BYTE_ARRAY",
}
_NULL = np.iinfo(np.int64).min


class TableWriter:
    """One Parquet file, written in as many row groups as there are calls of `write`."""

    def __init__(self, path: Path, columns: Sequence[ColumnType], level: int | None = None) -> None:
        self._columns = tuple(columns)
        self._schema = pa.schema([pa.field(c.name, _arrow_type(c), c.nullable) for c in columns])
        dictionary = [c.name for c in columns if c.encoding == "dictionary"]
        self._writer = arrow_parquet.ParquetWriter(
            str(path),
            self._schema,
            use_dictionary=dictionary or False,
            column_encoding={
                c.name: _ENCODINGS[c.encoding] for c in columns if c.encoding != "dictionary"
            },
            compression="ZSTD",
            compression_level=COMPRESSION_LEVEL if level is None else level,
            version="2.6",
            data_page_version="2.0",
            write_statistics=False,
            store_schema=False,
            writer_engine_version="V2",
        )

    def write(self, values: Mapping[str, Column]) -> None:
        """One row group."""
        arrays = [_to_arrow(values[c.name], c) for c in self._columns]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()


def release_memory() -> None:
    """Give what the allocator holds and nobody uses back to the system."""
    pa.default_memory_pool().release_unused()


def write_table(path: Path, columns: Sequence[ColumnType], values: Mapping[str, Column]) -> None:
    with TableWriter(path, columns) as writer:
        writer.write(values)


def row_group_rows(data: bytes) -> list[int]:
    """How many rows each row group has."""
    reader = arrow_parquet.ParquetReader()
    reader.open(pa.BufferReader(data))
    return [reader.metadata.row_group(i).num_rows for i in range(reader.num_row_groups)]


def read_table(
    data: bytes, columns: Sequence[ColumnType], row_groups: list[int] | None = None
) -> dict[str, Any]:
    """The columns as arrays, text as a list. Damage raises what Arrow raises, or ValueError."""
    reader = arrow_parquet.ParquetReader()
    # Text that repeats comes as numbers of a dictionary, so each text is decoded once.
    repeated = [c.name for c in columns if c.type == "string" and c.encoding == "dictionary"]
    reader.open(pa.BufferReader(data), read_dictionary=repeated)
    names = [reader.schema_arrow.field(i).name for i in range(len(reader.schema_arrow))]
    wanted = [names.index(column.name) for column in columns]
    # A file in no row group at all is an empty table.
    if row_groups is None:
        table = reader.read_all(column_indices=wanted, use_threads=False)
    else:
        table = reader.read_row_groups(row_groups, column_indices=wanted, use_threads=False)
    return {column.name: _from_arrow(table.column(column.name), column) for column in columns}


def _arrow_type(column: ColumnType) -> pa.DataType:
    return pa.string() if column.type == "string" else pa.from_numpy_dtype(np.dtype(column.type))


def _to_arrow(values: Column, column: ColumnType) -> pa.Array[Any]:
    if column.type == "string":
        try:
            return pa.array(values, pa.string())
        except UnicodeEncodeError:  # a lone surrogate: a name that was not UTF-8 where it came from
            legible = [str(text).encode("utf-8", "replace").decode() for text in values]
            return pa.array(legible, pa.string())
    array = np.ascontiguousarray(values, dtype=column.type)
    # Straight from the buffers: pa.array() imports numpy.ma, which is 1.5 MiB more to hold.
    valid = None
    if column.nullable and (absent := array == _NULL).any():
        valid = pa.py_buffer(np.packbits(~absent, bitorder="little").tobytes())
    return pa.Array.from_buffers(_arrow_type(column), len(array), [valid, pa.py_buffer(array.data)])


def _from_arrow(chunked: pa.ChunkedArray[Any], column: ColumnType) -> Array | list[str]:
    if column.type == "string":
        return [text for chunk in chunked.chunks for text in _texts(chunk)]
    dtype = np.dtype(column.type)
    parts = [_chunk(chunk, dtype) for chunk in chunked.chunks]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _texts(chunk: Any) -> list[str]:
    if not isinstance(chunk, pa.DictionaryArray):
        return [str(text) for text in chunk.to_pylist()]
    known = [str(text) for text in chunk.dictionary.to_pylist()]
    return [known[number] for number in _chunk(chunk.indices, np.dtype(np.int32)).tolist()]


def _chunk(chunk: pa.Array[Any], dtype: np.dtype[Any]) -> Array:
    if chunk.type != pa.from_numpy_dtype(dtype):
        raise pa.ArrowInvalid(f"a column is {chunk.type}, not {dtype}")
    valid, data = chunk.buffers()
    if data is None:
        return np.empty(0, dtype)
    values: Array = np.frombuffer(memoryview(data), dtype)[chunk.offset :][: len(chunk)]
    if valid is None or chunk.null_count == 0:
        return values
    bits = np.unpackbits(np.frombuffer(memoryview(valid), np.uint8), bitorder="little")
    return np.where(bits[chunk.offset : chunk.offset + len(chunk)], values, _NULL)
