from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.runs import positions

STRETCHES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=9)


@given(STRETCHES)
def test_positions_are_those_of_slices(stretches: list[tuple[int, int]]) -> None:
    start, count = np.array(stretches, np.int64).reshape(-1, 2).T
    expected = [at for begin, length in stretches for at in range(begin, begin + length)]
    assert positions(start, count).tolist() == expected
