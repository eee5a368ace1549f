from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.cli.safe import printable
from tests.cli.made_up import HOSTILE, assert_harmless


def test_plain_names_stay_as_they_are() -> None:
    for name in (
        "kworker/3:1H-kblockd",
        "std::vector<int>",
        "größe",
        "日本語",
        "[bold]x[/]",
        "a b",
    ):
        assert printable(name) == name


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_becomes_harmless(name: str) -> None:
    assert_harmless(printable(name))


def test_what_was_there_can_still_be_read() -> None:
    assert printable("\x1b[31mred\n") == "\\x1b[31mred\\x0a"
    assert printable("a\u202eb") == "a\\u202eb"
    assert printable("\U000e0001") == "\\U000e0001"
    assert printable("\udcff") == "\\udcff"


@given(st.text())
def test_no_text_gets_through_that_can_move_the_cursor(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert_harmless(shown)
    assert printable(shown) == shown
