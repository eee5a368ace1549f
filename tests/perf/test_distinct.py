from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.perf.distinct import distinct_rows

ROWS = st.lists(st.tuples(*[st.sampled_from([-1, 0, 1, 1 << 62])] * 3), max_size=60)


@given(ROWS)
def test_equal_rows_get_one_number_and_it_is_that_of_the_first(
    rows: list[tuple[int, int, int]],
) -> None:
    columns = [np.array([row[i] for row in rows], np.int64) for i in range(3)]
    first, which = distinct_rows(*columns)
    assert [rows[first[number]] for number in which] == rows
    assert len(first) == len(set(rows))
    assert first.tolist() == sorted(first.tolist())


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths"):
        distinct_rows(np.zeros(3, np.int64), np.zeros(2, np.int64))
