"""Parquet files, read with Arrow: a file in, columns out. `store.table_writer` writes them.

`pyarrow._parquet` is what `pyarrow.parquet` wraps. Going there directly saves 9 MiB of resident
memory: file systems, TLS, datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow._parquet as arrow_parquet

from exhume.store.column_types import NULL, Array, ColumnType

# The system allocator gives memory back; Arrow's own pools keep it.
pa.set_memory_pool(pa.system_memory_pool())


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
    return np.where(bits[chunk.offset : chunk.offset + len(chunk)], values, NULL)
