from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.model.arrays import I64
from exhume.perf.joins import Rows

WIDE = st.integers(-(1 << 63), (1 << 63) - 1)
ROW = st.tuples(st.integers(-2, 2) | WIDE, st.integers(0, 2))


def columns(rows: list[tuple[int, int]]) -> list[I64]:
    return list(np.array(rows, np.int64).reshape(-1, 2).T)


@given(st.lists(st.lists(ROW, max_size=20), max_size=5))
@settings(deadline=None, max_examples=100)
def test_rows_are_numbered_as_a_dictionary_would_from_call_to_call(
    batches: list[list[tuple[int, int]]],
) -> None:
    held, known = Rows(2), dict[tuple[int, int], int]()
    for batch in batches:
        before = len(held)
        numbers = held.add(*columns(batch))
        assert numbers.tolist() == [known.setdefault(row, len(known)) for row in batch]
        fresh = list(known)[before:]
        assert list(zip(held.column(0, before), held.column(1, before), strict=True)) == fresh
    assert len(held) == len(known)


def test_a_table_that_grows_past_its_first_room_keeps_its_rows() -> None:
    held = Rows(1)
    numbers = np.arange(100_000)
    for _ in range(2):
        assert np.array_equal(held.add(numbers * 977), numbers)
    assert np.array_equal(held.column(0), numbers * 977)


def test_columns_that_do_not_fit_are_refused() -> None:
    held = Rows(2)
    with pytest.raises(ValueError, match="rows of 2 columns"):
        held.add(np.arange(3))
    with pytest.raises(ValueError, match="different lengths"):
        held.add(np.arange(3), np.arange(2))
    with pytest.raises(IndexError):
        held.column(2)
