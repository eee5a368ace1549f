from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.stamp_words import month, month_by_name


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("Nov", 11), ("nov.", 11), ("MAR", 3), ("Mär", 3), ("févr.", 2), ("Okt", 10), ("июн", 6),
        ("11月", 11), ("3월", 3), ("13月", None), ("market", None), ("November", None), ("x", None),
    ],
)  # fmt: skip
def test_a_month_is_told_by_its_short_name(word: str, number: int | None) -> None:
    assert month(word) == number


@pytest.mark.parametrize(
    ("word", "number"),
    [("November", 11), ("novembre", 11), ("Juli", 7), ("gennaio", 1), ("no", None)],
)
def test_where_a_month_must_stand_its_whole_name_does_too(word: str, number: int | None) -> None:
    assert month_by_name(word) == number


@given(st.text(min_size=1, max_size=12))
def test_any_word_is_a_month_or_none(word: str) -> None:
    assert month_by_name(word) in (None, *range(1, 13))
