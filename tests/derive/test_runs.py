from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.runs import positions, where_true

STRETCHES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=9)


@given(STRETCHES)
def test_positions_are_those_of_slices(stretches: list[tuple[int, int]]) -> None:
    start, count = np.array(stretches, np.int64).reshape(-1, 2).T
    expected = [at for begin, length in stretches for at in range(begin, begin + length)]
    assert positions(start, count).tolist() == expected


@given(st.lists(st.booleans()))
def test_runs_of_true_hold_all_that_is_true_and_touch_nowhere(flags: list[bool]) -> None:
    found = where_true(np.array(flags, np.bool_))
    covered = [at for begin, end in found for at in range(begin, end)]
    assert covered == [at for at, flag in enumerate(flags) if flag]
    assert all(end < begin for (_, end), (begin, _) in itertools.pairwise(found))
