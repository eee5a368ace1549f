"""A fleet as one Parquet file: a row for each node, a column for each field.

Ten thousand fingerprints are gigabytes of JSON; as dictionary columns they are a few megabytes. A
cell is the value as JSON, `absent` where the node lacks it, null where that is not known.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from exhume.errors import ParseError
from exhume.fleet.cohort import UNKNOWN, Column, Fleet
from exhume.model.fingerprint import KINDS, VERSION, Value

FLEET_VERSION = 1
NODE = "node"
ABSENT = "absent"
MAX_NODES = 1_000_000
_ABOUT = b"exhume.fleet"


def write(fleet: Fleet, path: Path) -> None:
    columns: dict[str, Any] = {NODE: pa.array(fleet.nodes, pa.string())}
    for column in fleet.columns:
        cells = [_cell(value) for value in column.values]
        unknown = column.codes == UNKNOWN
        indices = pa.array(np.where(unknown, 0, column.codes), pa.int32(), mask=unknown)
        columns[column.key] = pa.DictionaryArray.from_arrays(indices, pa.array(cells, pa.string()))
    about = {
        "version": FLEET_VERSION,
        "fingerprint": VERSION,
        "kinds": {column.key: column.kind for column in fleet.columns},
    }
    table = pa.table(columns).replace_schema_metadata({_ABOUT: json.dumps(about).encode()})
    pq.write_table(table, path, compression="zstd", write_statistics=False)


def read(path: Path) -> Fleet:
    try:
        file = pq.ParquetFile(path)
        about = _about(file, path)
        names = [name for name in file.schema_arrow.names if name != NODE]
        if file.metadata.num_rows > MAX_NODES:
            raise ParseError(str(path), "rows", f"at most {MAX_NODES:,} nodes")
        table = pq.read_table(path, read_dictionary=names)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(str(path), "whole file", f"a fleet as Parquet ({error})") from None
    nodes = tuple(map(str, table.column(NODE).to_pylist()))
    kinds = about["kinds"]
    columns = [_column(name, table.column(name), kinds.get(name), path) for name in names]
    return Fleet(nodes, tuple(columns))


def is_fleet(path: Path) -> bool:
    try:
        return _ABOUT in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError, ValueError):
        return False


def _about(file: pq.ParquetFile, path: Path) -> dict[str, Any]:
    metadata = file.schema_arrow.metadata or {}
    try:
        about = json.loads(metadata[_ABOUT])
        version, kinds = about["version"], about["kinds"]
        is_known = version == FLEET_VERSION and about["fingerprint"] == VERSION
    except (KeyError, ValueError, TypeError):
        raise ParseError(str(path), "metadata", "those of a fleet that exhume wrote") from None
    if not is_known or not isinstance(kinds, dict) or NODE not in file.schema_arrow.names:
        raise ParseError(
            str(path), "metadata", f"a fleet of version {FLEET_VERSION}, not {str(version)[:20]}",
            todo="write it anew with this exhume",
        )  # fmt: skip
    return {"kinds": kinds}


def _column(name: str, cells: Any, kind: Any, path: Path) -> Column:
    area, slash, own = name.partition("/")
    if kind not in KINDS or not slash:
        raise ParseError(str(path), f"column {name}", "area/name with one of the classes")
    combined = cells.unify_dictionaries().combine_chunks()
    codes = combined.indices.fill_null(UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int32)
    values = tuple(_value(text, name, path) for text in combined.dictionary.to_pylist())
    return Column(area, own, kind, codes, values)


def _cell(value: Value | None) -> str:
    return ABSENT if value is None else json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _value(text: str | None, name: str, path: Path) -> Value | None:
    if text == ABSENT or text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and all(isinstance(member, str) for member in value):
        return tuple(value)
    if isinstance(value, bool | int | float | str):
        return value
    raise ParseError(str(path), f"column {name}", "values as JSON")
