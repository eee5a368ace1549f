from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exhume.errors import ParseError
from exhume.store.columns import MAX_BLOCK_BYTES, Array, Columns, pack, unpack

DTYPES = ("<i8", "<u8", "<i4", "<u4", "<i2", "<u2", "|u1", "|i1", "<f8", "<f4", "|b1", ">i4")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def columns(draw: st.DrawFn) -> Columns:
    names = draw(st.lists(st.text(max_size=10), unique=True, max_size=4))
    arrays: dict[str, Array] = {}
    for name in names:
        shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
        arrays[name] = draw(hnp.arrays(np.dtype(draw(st.sampled_from(DTYPES))), shape))
    return Columns(arrays, draw(st.dictionaries(st.text(max_size=5), JSON, max_size=3)))


def packed(given_: Columns) -> bytes:
    return pack(given_, zstandard.ZstdCompressor(level=1))


def check_equal(found: Columns, wanted: Columns) -> None:
    assert list(found.arrays) == list(wanted.arrays)
    for name, array in wanted.arrays.items():
        assert (found.arrays[name].dtype, found.arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found.arrays[name], array)
    assert found.values == wanted.values


def check_refused(data: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        unpack(data, "/data/x.head", "offset 42")
    assert (caught.value.path, caught.value.where) == ("/data/x.head", "offset 42")


@given(columns())
@settings(deadline=None, max_examples=80)
def test_columns_come_back_as_they_were_packed(wanted: Columns) -> None:
    check_equal(unpack(packed(wanted), "x", "y"), wanted)


def test_arrays_that_are_not_contiguous_are_packed_in_their_own_order() -> None:
    grid = np.arange(12).reshape(3, 4)
    found = unpack(packed(Columns({"a": grid.T, "b": grid[:, ::2]})), "x", "y")
    check_equal(found, Columns({"a": grid.T, "b": grid[:, ::2]}))


def test_a_column_that_is_not_there_is_empty_and_of_the_type_asked_for() -> None:
    found = Columns({"a": np.array([1])}).get("b", "<u2")
    assert (len(found), found.dtype) == (0, np.dtype("<u2"))


@given(columns(), st.data())
@settings(deadline=None, max_examples=80)
def test_a_damaged_block_is_refused_or_read_and_never_anything_worse(
    wanted: Columns, data: st.DataObject
) -> None:
    block = bytearray(packed(wanted))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(block) * 8 - 1))
        block[at // 8] ^= 1 << at % 8
    else:
        del block[data.draw(st.integers(0, len(block) - 1)) :]
    with suppress(ParseError):
        unpack(bytes(block), "x", "y")


@pytest.mark.parametrize("cut", [0, 1, 5, 20, -1])
def test_a_block_that_is_cut_is_refused(cut: int) -> None:
    check_refused(packed(Columns({"a": np.arange(100)}, {"b": "c"}))[:cut])


def block_of(head: object, tail: bytes = b"12345678") -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return zstandard.ZstdCompressor().compress(text + b"\n" + tail)


def of_array(type_: object, shape: object) -> dict[str, Any]:
    return {"arrays": [["a", type_, shape]], "values": {}}


@pytest.mark.parametrize(
    "head",
    [
        b"", b"\xff", b"[" * 100_000, b"null", [], 5, {}, {"arrays": []}, {"values": {}},
        {"arrays": 5, "values": {}}, {"arrays": [["a"]], "values": {}},
        {"arrays": [], "values": 5}, {"arrays": [], "values": "text"},
        of_array("O", [1]), of_array("S4", [1]), of_array("V8", [1]), of_array("<M8[s]", [1]),
        of_array("i4,i4", [1]), of_array("nonsense", [1]), of_array({"x": 1}, [1]),
        of_array("<i8", [2]), of_array("<i8", [-1]), of_array("<i8", [-1, -1]),
        of_array("<i8", [1 << 32, 1 << 32]), of_array("<i8", [10**30]), of_array("<i8", [1.5]),
        of_array("<i8", ["x"]), of_array("<i8", [None]), of_array("<i8", [1] * 70),
        {"arrays": [[[], "<i8", [1]]], "values": {}},
    ],
    ids=lambda head: str(head)[:40],
)  # fmt: skip
def test_a_head_that_claims_what_cannot_be_is_refused(head: object) -> None:
    check_refused(block_of(head))


def test_an_array_that_runs_past_the_end_is_refused() -> None:
    assert unpack(block_of(of_array("<i8", [1])), "x", "y").arrays["a"].tolist() != []
    check_refused(block_of(of_array("<i8", [1]), b"1234567"))


def test_a_block_that_would_fill_the_memory_is_refused_unread() -> None:
    # A few bytes that say they are more than any frame ever is.
    huge = zstandard.ZstdCompressor().compress(bytes(MAX_BLOCK_BYTES // 1024))
    frame = bytearray(huge[:4] + b"\xe0" + (1 << 50).to_bytes(8, "little") + huge[9:])
    assert zstandard.frame_content_size(bytes(frame)) == 1 << 50
    check_refused(bytes(frame))
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(
        b'{"arrays":[],"values":{}}\n'
    )
    check_refused(unsized)


def test_noise_is_refused() -> None:
    check_refused(os.urandom(200))
