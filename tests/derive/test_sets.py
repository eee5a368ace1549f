"""Sets as arrays, against Python's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.sets import distinct, is_in

FEW = st.lists(st.integers(-3, 3) | st.sampled_from([-(1 << 62), 1 << 62]), max_size=12)


@given(FEW)
def test_each_once_and_in_order(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))


@given(FEW, FEW)
def test_whether_each_is_one_of_them(values: list[int], among: list[int]) -> None:
    found = is_in(np.array(values, np.int64), np.array(among, np.int64))
    assert found.tolist() == [value in among for value in values]


def test_small_types_stay_what_they_are() -> None:
    assert distinct(np.array([3, 1, 3], np.uint16)).dtype == np.uint16
    assert is_in(np.array([1, 2], np.uint8), np.array([2], np.uint8)).tolist() == [False, True]
