from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.perf.symbols.build import build, of_rows
from exhume.perf.symbols.table import (
    NOWHERE,
    LoadSegment,
    SymbolTable,
    decode,
    encode,
)

ROWS = st.lists(
    st.tuples(
        st.integers(0, (1 << 64) - (1 << 20)),
        st.integers(0, 1 << 18),
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    ),
    max_size=40,
)


def table(*rows: tuple[int, int, str], segments: tuple[LoadSegment, ...] = ()) -> SymbolTable:
    return build([of_rows(rows)], segments)


def names(found: SymbolTable, *addresses: int) -> list[str | None]:
    rows = found.lookup(np.array(addresses, np.uint64)).tolist()
    return [found.name(row) if row >= 0 else None for row in rows]


def test_an_address_is_found_from_the_first_byte_of_a_function_to_its_last() -> None:
    made = table((0x1000, 0x10, "one"), (0x2000, 0x10, "two"))
    assert names(made, 0xFFF, 0x1000, 0x100F, 0x1010) == [None, "one", "one", None]
    assert names(made, 0x2000, 0x200F, 0x2010, 1 << 63) == ["two", "two", None, None]


def test_an_empty_table_knows_no_address() -> None:
    assert names(table(), 0, 1, 1 << 40) == [None, None, None]


def test_behind_an_inner_symbol_the_address_is_the_outer_ones() -> None:
    made = table((0x1000, 0x100, "outer"), (0x1040, 0x10, "inner"))
    assert names(made, 0x103F, 0x1040, 0x104F, 0x1050) == ["outer", "inner", "inner", "outer"]


def test_a_file_offset_becomes_the_address_its_segment_gives_it() -> None:
    segments = (LoadSegment(0x1000, 0x401000, 0x500), LoadSegment(0x2000, 0x700000, 0x10))
    made = table((0x401000, 4, "f"), segments=segments)
    offsets = np.array([0x1000, 0x14FF, 0x1500, 0x2008, 0], np.uint64)
    expected = [0x401000, 0x4014FF, int(NOWHERE), 0x700008, int(NOWHERE)]
    assert made.vaddr_of_offset(offsets).tolist() == expected


def test_where_two_segments_claim_an_offset_the_first_wins() -> None:
    segments = (LoadSegment(0x1000, 0x401000, 0x1000), LoadSegment(0x800, 0x900000, 0x2000))
    made = table((0x401000, 4, "f"), segments=segments)
    assert made.vaddr_of_offset(np.array([0x1004], np.uint64)).tolist() == [0x401004]


def test_addresses_of_a_table_without_segments_stay_as_they_are() -> None:
    addresses = np.array([0, 5, 1 << 63], np.uint64)
    assert table().vaddr_of_offset(addresses).tolist() == addresses.tolist()


def test_an_address_beyond_all_segments_has_no_name() -> None:
    made = table((0, 1 << 62, "huge"), segments=(LoadSegment(0, 0, 16),))
    vaddrs = made.vaddr_of_offset(np.array([99], np.uint64))
    assert made.lookup(vaddrs).tolist() == [-1]


@settings(deadline=2000)
@given(ROWS)
def test_a_table_reads_back_as_it_was_written(rows: list[tuple[int, int, str]]) -> None:
    made = build([of_rows(rows)], (LoadSegment(1, 2, 3),), ("", "module"))
    read = decode(encode(made), "x")
    assert read.start.tolist() == made.start.tolist()
    assert read.end.tolist() == made.end.tolist()
    assert read.name_offset.tolist() == made.name_offset.tolist()
    assert read.module.tolist() == made.module.tolist()
    assert (read.names, read.modules, read.load_segments) == (
        made.names, made.modules, made.load_segments,
    )  # fmt: skip


@settings(deadline=2000)
@given(ROWS, st.lists(st.integers(0, (1 << 64) - 1), min_size=1))
def test_whatever_is_found_covers_the_address_and_what_covers_it_is_found(
    rows: list[tuple[int, int, str]], addresses: list[int]
) -> None:
    made = build([of_rows(rows)])
    wanted = [*addresses, *(row[0] for row in rows)]
    for address, index in zip(
        wanted, made.lookup(np.array(wanted, np.uint64)).tolist(), strict=True
    ):
        covered = (made.start <= np.uint64(address)) & (np.uint64(address) < made.end)
        assert (index >= 0) == bool(covered.any())
        assert index < 0 or covered[index]


@settings(deadline=2000)
@given(st.data())
def test_a_cut_or_flipped_file_is_refused(data: st.DataObject) -> None:
    whole = encode(table((0x1000, 16, "one"), (0x2000, 16, "two"), (0x3000, 0, "three")))
    if data.draw(st.booleans()):
        damaged = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        bit = data.draw(st.integers(0, len(whole) * 8 - 1))
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged = bytes(flipped)
    with pytest.raises(ParseError):
        decode(damaged, "x")


@settings(deadline=2000)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        decode(data, "x")


def test_saving_leaves_the_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "abc.sym"
    size = table((1, 1, "f")).save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["abc.sym"]
    assert path.stat().st_size == size
    assert names(SymbolTable.load(path), 1) == ["f"]


def test_a_failed_save_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "abc.sym"
    path.mkdir()  # a directory can't be replaced by a file
    with pytest.raises(OSError, match="directory"):
        table((1, 1, "f")).save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["abc.sym"]
