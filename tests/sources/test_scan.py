"""Numbers out of kernel text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.sources.scan import core_list, number, numbers, pairs


@pytest.mark.parametrize("token", ["", "-1", "+1", "1_0", " 1", "１", "1.5", "0x1", "9" * 19])
def test_a_number_is_plain_decimal_and_fits(token: str) -> None:
    with pytest.raises(ParseError):
        number(token, "f", 1)


@given(st.lists(st.integers(0, 10**17), min_size=1, max_size=40))
def test_a_row_of_numbers_comes_back(values: list[int]) -> None:
    row = "   ".join(map(str, values)).encode()
    assert numbers(row, len(values), "f", 1).tolist() == values


@pytest.mark.parametrize(
    ("row", "count"), [(b"1 2", 3), (b"1 2 3", 2), (b"  ", 1), (b"1 x", 2), (b"9" * 25, 1)]
)
def test_too_few_too_many_or_too_large_numbers_are_refused(row: bytes, count: int) -> None:
    with pytest.raises(ParseError):
        numbers(row, count, "f", 1)


@pytest.mark.parametrize(
    ("text", "cores"),
    [("0-3,8\n", (0, 1, 2, 3, 8)), ("7\n", (7,)), ("\n", ()), ("0-1,1-2", (0, 1, 2))],
)
def test_lists_of_cores(text: str, cores: tuple[int, ...]) -> None:
    assert core_list(text, "f") == cores


@pytest.mark.parametrize("text", ["a", "3-1", "0-", "-", "0-99999999999"])
def test_a_list_of_cores_that_makes_no_sense_or_would_fill_memory_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        core_list(text, "f")


def test_the_first_odd_line_is_named() -> None:
    with pytest.raises(ParseError, match="line 2"):
        pairs("a 1\nb\nc 3\n", "f")
