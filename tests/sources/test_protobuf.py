"""The protobuf wire format."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.sources.protobuf import fields
from tests.sources.made_cri import varint


@given(
    st.lists(
        st.tuples(
            st.integers(1, 2**20), st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=300))
        ),
        max_size=20,
    )
)
def test_what_was_written_is_read(pairs: list[tuple[int, int | bytes]]) -> None:
    data = b""
    for number, value in pairs:
        if isinstance(value, int):
            data += varint(number << 3) + varint(value)
        else:
            data += varint(number << 3 | 2) + varint(len(value)) + value
    assert list(fields(data, "test")) == pairs


@pytest.mark.parametrize("data", [b"\x08", b"\x0a\x05ab", b"\x0b", b"\x09\x01", b"\xff" * 20])
def test_a_message_cut_short_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        list(fields(data, "test"))


@given(st.binary(max_size=200))
def test_garbage_is_a_parse_error_or_well_formed(data: bytes) -> None:
    with contextlib.suppress(ParseError):
        assert sum(1 for _ in fields(data, "test")) <= len(data)
