from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ExhumeError, ParseError
from exhume.fleet import codec
from exhume.fleet.codec import NotAFingerprintError, OtherVersionError
from exhume.model.fingerprint import KINDS, as_set
from tests.fleet.made import fingerprint

names = st.text(min_size=1, max_size=20)
values = st.one_of(
    st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30), st.lists(names, max_size=4).map(as_set),
)  # fmt: skip
fields = st.tuples(st.sampled_from(KINDS), values)
GOOD = codec.encode(fingerprint("n", {"sysctl": {"vm.x": "1", "vm.y": ("state", ("a", "b"))}}))


@settings(deadline=None)
@given(st.dictionaries(names, st.dictionaries(names, fields, max_size=3), max_size=3))
def test_what_is_written_is_read_again(given_fields: dict[str, dict[str, object]]) -> None:
    one = fingerprint("node", given_fields)  # type: ignore[arg-type]
    data = codec.encode(one)
    assert data.isascii()
    assert codec.decode(data, "x") == one
    assert codec.decode(zstandard.compress(data), "x") == one


def test_the_order_of_reading_does_not_show() -> None:
    one = fingerprint("n", {"a": {"x": "1", "y": "2"}, "b": {"z": "3"}})
    two = fingerprint("n", {"b": {"z": "3"}, "a": {"y": "2", "x": "1"}})
    assert codec.encode(one) == codec.encode(two)
    assert one.hash == two.hash


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_anything_else_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(ExhumeError):
        codec.decode(data, "file.json")


@settings(deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_a_flipped_byte_is_found_or_harmless(place: int, byte: int) -> None:
    data = bytearray(GOOD)
    data[place] = byte
    try:
        found = codec.decode(bytes(data), "file.json")
    except ExhumeError:
        return
    # Only what the hash doesn't cover may differ: node, time, cost.
    assert found.fields == codec.decode(GOOD, "x").fields


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5])
def test_another_version_is_refused_with_what_to_do(version: object) -> None:
    body = json.loads(GOOD) | {"fingerprint": version}
    with pytest.raises(OtherVersionError) as caught:
        codec.decode(json.dumps(body).encode(), "old.json")
    assert "old.json" in caught.value.what
    assert caught.value.todo


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"fields": []}, "fields"),
        ({"fields": {"sysctl": {"vm.x": {"kind": "odd", "value": "1", "hash": ""}}}}, "vm.x"),
        ({"node": 5}, "node"),
        ({"time": "now"}, "time"),
        ({"missing": ["x"]}, "missing"),
        ({"hash": "00"}, "hash"),
    ],
)
def test_a_missing_or_odd_field_is_named(change: dict[str, object], where: str) -> None:
    with pytest.raises(ParseError, match=where):
        codec.decode(json.dumps(json.loads(GOOD) | change).encode(), "x.json")


def test_an_edited_value_is_told() -> None:
    edited = GOOD.replace(b'"value":"1"', b'"value":"2"')
    with pytest.raises(ParseError, match="hash of its value"):
        codec.decode(edited, "x.json")


def test_a_file_that_is_no_fingerprint_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"name": "package.json"}')
    with pytest.raises(NotAFingerprintError, match=r"x\.json"):
        codec.read(file)
    with pytest.raises(ExhumeError, match="can't be read"):
        codec.read(tmp_path / "nothing")


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(ParseError, match="MiB"):
        codec.decode(zstandard.compress(b" " * (65 << 20)), "x")
