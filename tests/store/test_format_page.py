"""docs/format.md names every column that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.model.answers import MAP_MODES
from exhume.store import tables
from exhume.store.column_types import ColumnType
from exhume.store.layout import FORMAT_VERSION, TICK_NS
from exhume.store.minute_tables import TABLES
from exhume.store.rollups import MAX_FRAMES_A_MINUTE, MIN_FRAME_MS
from exhume.store.writer import PIECE_ROWS

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
SEGMENT_TABLES = {
    name: value
    for name, value in vars(tables).items()
    if isinstance(value, tuple) and all(isinstance(column, ColumnType) for column in value)
}


@pytest.mark.parametrize("name", SEGMENT_TABLES)
def test_every_column_of_a_segment_is_described(name: str) -> None:
    start = PAGE.index(f"**{name.lower()}.parquet**")
    end = PAGE.find(".parquet**", start + 2 + len(name) + 12)
    text = PAGE[start : end if end > 0 else PAGE.index("## Minutes")]
    columns: tuple[ColumnType, ...] = SEGMENT_TABLES[name]
    assert [column.name for column in columns if column.name not in text] == []


def test_every_column_of_the_minutes_is_described() -> None:
    text = PAGE[PAGE.index("## Minutes") : PAGE.index("## Pins")]
    for table in TABLES.values():
        for column in table.columns:
            mode = column.name.rpartition("_")[2]
            generic = column.name.replace(mode, "<mode>") if mode in MAP_MODES else column.name
            assert f"`{generic}`" in text


def test_the_figures_are_those_of_the_code() -> None:
    assert f"Format version {FORMAT_VERSION}." in PAGE
    assert f"steps of {TICK_NS // 1000} µs" in PAGE
    assert f"at least {MIN_FRAME_MS} ms" in PAGE
    assert f"the {MAX_FRAMES_A_MINUTE:,} largest" in PAGE
    assert f"row groups of {PIECE_ROWS:,} rows" in PAGE
