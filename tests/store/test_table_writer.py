"""What we write is what Arrow, an independent reader, finds in it."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as arrow_parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exhume.store.column_types import NULL, Column, ColumnType, Texts
from exhume.store.encodings import MAX_DICTIONARY_BYTES
from exhume.store.parquet import read_table, row_group_rows
from exhume.store.table_writer import TableWriter, write_table

INTEGERS = ("uint8", "uint16", "uint32", "int16", "int32", "int64")
TEXT = st.text(max_size=8)


@st.composite
def columns(draw: st.DrawFn) -> tuple[ColumnType, list[list[Any]]]:
    """A column, and its values in each of some row groups."""
    type_ = draw(st.sampled_from((*INTEGERS, "string")))
    if type_ == "string":
        kind = ColumnType("a", type_, draw(st.sampled_from(("dictionary", "text"))))
        return kind, draw(st.lists(st.lists(TEXT, max_size=40), min_size=1, max_size=4))
    narrow = np.iinfo(type_)
    encodings = ["dictionary", "delta", "plain"]
    # Others than Arrow's own split columns of 4 and 8 bytes only.
    encodings += ["split"] if narrow.bits >= 32 else []
    encoding = draw(st.sampled_from(encodings))
    numbers = st.integers(int(narrow.min), int(narrow.max))
    near = st.integers(0, 3)
    nullable = type_ == "int64" and draw(st.booleans())
    value = st.one_of(numbers, near, *([st.just(int(NULL))] if nullable else []))
    if not nullable:
        value = value.filter(lambda number: number != NULL)
    run = st.tuples(value, st.integers(1, 40)).map(lambda run: [run[0]] * run[1])
    group = st.lists(run, max_size=12).map(lambda runs: [v for some in runs for v in some])
    kind = ColumnType("a", type_, encoding, nullable)
    return kind, draw(st.lists(group, min_size=1, max_size=4))


def written(column: ColumnType, groups: list[Column]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with TableWriter(path, (column,)) as writer:
            for group in groups:
                writer.write({column.name: group})
        return path.read_bytes()


def check(column: ColumnType, groups: list[list[Any]]) -> bytes:
    as_given: list[Column] = [
        group if column.type == "string" else np.array(group, column.type) for group in groups
    ]
    data = written(column, as_given)
    assert row_group_rows(data) == [len(group) for group in groups]
    every = [value for group in groups for value in group]
    assert list(read_table(data, (column,))["a"]) == every
    for index, group in enumerate(groups):
        assert list(read_table(data, (column,), [index])["a"]) == group
    nulls = [None if value == NULL else value for value in every]
    found = arrow_parquet.read_table(io.BytesIO(data)).column("a").to_pylist()
    assert found == (nulls if column.nullable else every)
    return data


@given(columns())
@settings(deadline=None, max_examples=100)
@example((ColumnType("a", "int64", "delta"), [[-(1 << 63) + 1, (1 << 63) - 1, 0, -1]]))
@example((ColumnType("a", "int32", "delta"), [[-(1 << 31), (1 << 31) - 1] * 70]))
@example((ColumnType("a", "uint32", "delta"), [[1 << 31], [(1 << 32) - 1, 0]]))
@example((ColumnType("a", "int64", "delta", nullable=True), [[int(NULL)] * 5, []]))
@example((ColumnType("a", "uint16", "dictionary"), [[7] * 1000, list(range(300)) * 2]))
def test_every_column_comes_back_row_group_by_row_group(
    made: tuple[ColumnType, list[list[Any]]],
) -> None:
    check(*made)


@pytest.mark.parametrize("count", [1, 2, 127, 128, 129, 130, 1000, 4097])
@pytest.mark.parametrize("bits", [1, 7, 8, 31, 33, 62])
def test_differences_of_every_width_are_packed_right(count: int, bits: int) -> None:
    values = np.random.default_rng(bits).integers(0, 1 << bits, count).tolist()
    check(ColumnType("a", "int64", "delta"), [values])


@pytest.mark.parametrize("distinct", [1, 2, 3, 255, 256, 257, 70_000])
def test_dictionaries_of_every_size_are_told_apart(distinct: int) -> None:
    values = np.random.default_rng(distinct).integers(0, distinct, 100_000)
    check(ColumnType("a", "int32", "dictionary"), [values.tolist()])


def test_a_dictionary_that_grows_too_large_is_done_without() -> None:
    numbers = list(range(MAX_DICTIONARY_BYTES // 8 + 1))
    assert check(ColumnType("a", "int64", "dictionary"), [numbers]) != b""
    texts = [f"{number:08}" * 10 for number in range(MAX_DICTIONARY_BYTES // 80)]
    data = check(ColumnType("a", "string", "dictionary"), [texts])
    chunk = arrow_parquet.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(0)
    assert not chunk.has_dictionary_page


def test_numbered_texts_are_the_texts_they_stand_for() -> None:
    texts = Texts(("b", "never used", "a"), np.array([2, 0, 2, 2], np.uint32))
    for encoding in ("dictionary", "text"):
        column = ColumnType("a", "string", encoding)
        assert read_table(written(column, [texts]), (column,))["a"] == ["a", "b", "a", "a"]


def test_text_that_is_no_utf_8_becomes_legible() -> None:
    column = ColumnType("a", "string", "dictionary")
    assert read_table(written(column, [["x\udcff", "y"]]), (column,))["a"] == ["x?", "y"]


def test_a_table_says_what_its_columns_are_and_how_they_are_laid_out(tmp_path: Path) -> None:
    table = (
        ColumnType("core", "uint16", "dictionary"),
        ColumnType("time", "int32", "delta"),
        ColumnType("rank", "int32", "split"),
        ColumnType("name", "string", "text"),
        ColumnType("value", "int64", "delta", nullable=True),
    )
    path = tmp_path / "x.parquet"
    values: dict[str, Column] = {
        c.name: np.arange(3).astype(c.type) for c in table if c.type != "string"
    }
    write_table(path, table, {**values, "name": ["a", "b", "c"]})
    file = arrow_parquet.ParquetFile(path)
    types = {field.name: str(field.type) for field in file.schema_arrow}
    assert types == {c.name: c.type for c in table}
    assert [f.nullable for f in file.schema_arrow] == [False, False, False, False, True]
    chunks = [file.metadata.row_group(0).column(i) for i in range(len(table))]
    assert {chunk.compression for chunk in chunks} == {"ZSTD"}
    assert [chunk.encodings[0] for chunk in chunks] == [
        "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "DELTA_LENGTH_BYTE_ARRAY",
        "DELTA_BINARY_PACKED",
    ]  # fmt: skip


def test_columns_of_different_lengths_are_refused_and_leave_no_table(tmp_path: Path) -> None:
    table = ColumnType("a", "int32", "plain"), ColumnType("b", "int32", "plain")
    path = tmp_path / "x.parquet"
    with pytest.raises(ValueError, match="different lengths"):
        write_table(path, table, {"a": np.arange(3), "b": np.arange(2)})
    with pytest.raises(Exception, match=r"(?i)parquet"):
        read_table(path.read_bytes(), table)
