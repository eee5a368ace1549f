from __future__ import annotations

import json
import math
from enum import IntEnum
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.model.answers import CoreMoment, SeriesAnswer
from exhume.model.arrays import F32, I64, U8
from exhume.model.jsonable import from_jsonable, json_name, jsonable
from exhume.model.series import MISSING
from exhume.model.stack import Frame, FrameKind
from exhume.model.status import Cost, Damage, Disk, Missing, Pin, SourceState, Status
from exhume.model.window import Window


class Colour(IntEnum):
    RED = 0
    GREEN = 1


class Inner(Struct, frozen=True):
    wall_ns: int
    length_ns: int | None


class Everything(Struct, frozen=True):
    name: str
    flag: bool
    ratio: float
    number: int
    colour: Colour
    state: Literal["on", "off"]
    window: Window
    inner: tuple[Inner, ...]
    pair: tuple[int, str]
    maybe: int | str | None
    cells: F32
    readings: I64
    spent_ns: I64
    flags: U8
    notes: dict[str, int] = field(default_factory=dict)


def example() -> Everything:
    return Everything(
        "a", True, 0.5, 7, Colour.GREEN, "on", Window(1_500_000_000, 2_000_000_000),
        (Inner(3_000_000_000, None), Inner(4_000_000_000, 250_000_000)), (1, "x"), None,
        np.array([[1.5, np.nan], [0.1, 100.0]], np.float32), np.array([5, MISSING], np.int64),
        np.array([1_500_000_000, 0], np.int64), np.array([0, 255], np.uint8), {"k": 1},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wall_ns", "time"),
        ("since_wall_ns", "since_time"),
        ("start_ns", "start"),
        ("end_ns", "end"),
        ("total_ns", "total_seconds"),
        ("distance_ns", "distance_seconds"),
        ("column_seconds", "column_seconds"),
        ("percent_of_one_core", "percent_of_one_core"),
        ("runs", "runs"),
    ],
)
def test_names_say_their_unit(name: str, expected: str) -> None:
    assert json_name(name) == expected


def test_every_kind_of_value_has_one_form() -> None:
    assert jsonable(example()) == {
        "name": "a",
        "flag": True,
        "ratio": 0.5,
        "number": 7,
        "colour": "green",
        "state": "on",
        "window": {"start": 1.5, "end": 2.0},
        "inner": [{"time": 3.0, "length_seconds": None}, {"time": 4.0, "length_seconds": 0.25}],
        "pair": [1, "x"],
        "maybe": None,
        "cells": [[1.5, None], [0.1, 100.0]],
        "readings": [5, None],
        "spent_seconds": [1.5, 0.0],
        "flags": [0, 255],
        "notes": {"k": 1},
    }


def test_it_can_be_dumped_strictly_and_read_back() -> None:
    text = json.dumps(jsonable(example()), allow_nan=False)
    again = from_jsonable(Everything, json.loads(text))
    assert jsonable(again) == json.loads(text)
    assert again.cells.dtype == np.float32
    assert again.readings[1] == MISSING
    assert again.inner == example().inner
    assert again.colour is Colour.GREEN


def test_nothing_known_is_null_and_never_zero() -> None:
    assert jsonable(math.nan) is None
    assert jsonable(np.float32("inf")) is None
    assert jsonable(MISSING) is None
    assert jsonable(np.array([], np.float32)) == []


def test_the_answers_of_the_store_have_a_form() -> None:
    moment = CoreMoment(
        3, 10_000_000_000, 5_000_000, "a", 1, 2, "/", (Frame("f", "m", FrameKind.KERNEL),), "system"
    )
    assert jsonable(moment) == {
        "core": 3, "time": 10.0, "distance_seconds": 0.005, "comm": "a", "pid": 1, "tid": 2,
        "cgroup": "/", "stack": [{"name": "f", "module": "m", "kind": "kernel"}], "mode": "system",
    }  # fmt: skip
    times = np.array([1_000_000_000], np.int64)
    series = SeriesAnswer("cpu.user", "3", times, np.array([MISSING]), np.zeros(1, np.uint8))
    shown = jsonable(series)
    assert isinstance(shown, dict)
    assert (shown["time"], shown["values"]) == ([1.0], [None])


@pytest.mark.parametrize(
    ("change", "place", "expected"),
    [
        ({"flag": 1}, "flag", "true or false"),
        ({"number": 1.5}, "number", "a whole number"),
        ({"number": math.inf}, "number", "a whole number"),
        ({"number": math.nan}, "number", "a whole number"),
        ({"ratio": 10**400}, "ratio", "a number"),
        ({"window": {"start": 1e305, "end": 0}}, "window.start", "a whole number"),
        ({"name": None}, "name", "text"),
        ({"colour": "blue"}, "colour", "one of red, green"),
        ({"state": "maybe"}, "state", "one of on, off"),
        ({"window": {"start": 1}}, "window", "a field 'end'"),
        ({"window": 3}, "window", "an object"),
        ({"inner": [{"time": "x", "length_seconds": 1}]}, "inner[0].time", "a whole number"),
        ({"pair": [1]}, "pair", "a list of 2"),
        ({"cells": [[1], [2, 3]]}, "cells", "an array of numbers"),
        ({"notes": []}, "notes", "an object"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_the_place(
    change: dict[str, object], place: str, expected: str
) -> None:
    data = jsonable(example())
    assert isinstance(data, dict)
    with pytest.raises(ParseError) as caught:
        from_jsonable(Everything, {**data, **change}, path="status.json")
    assert caught.value.path == "status.json"
    assert caught.value.where == place
    assert expected in caught.value.expected


def test_unknown_fields_are_skipped_and_defaults_filled_in() -> None:
    data = jsonable(example())
    assert isinstance(data, dict)
    del data["notes"]
    assert from_jsonable(Everything, {**data, "new": 1}).notes == {}


WINDOWS = st.builds(
    lambda start, length: Window(start * 1_000, (start + length) * 1_000),
    st.integers(0, 4 * 10**15),
    st.integers(0, 10**12),
)
TEXT = st.text(max_size=20)
COUNTS = st.integers(0, 2**50)
MAYBE_NS = st.none() | st.integers(0, 10**12).map(lambda us: us * 1_000)
STATUSES = st.builds(
    Status,
    state=st.sampled_from(["running", "stopped", "never"]),
    data_dir=TEXT,
    disk=st.builds(
        Disk, MAYBE_NS, st.none() | COUNTS, COUNTS, st.none() | COUNTS, MAYBE_NS, COUNTS,
        st.integers(0, 10**6).map(lambda s: s * 10**9),
        st.lists(st.builds(Damage, st.none() | WINDOWS, TEXT), max_size=2).map(tuple),
        st.lists(st.builds(Pin, WINDOWS, TEXT), max_size=2).map(tuple),
    ),
    node=TEXT,
    pid=st.none() | COUNTS,
    rate_hz=st.none() | st.floats(0, 1e4),
    cost=st.none() | st.builds(
        Cost, st.none() | st.floats(0, 100), st.none() | COUNTS, MAYBE_NS, st.none() | COUNTS,
        COUNTS,
    ),
    sources=st.lists(
        st.builds(SourceState, TEXT, st.sampled_from(["ok", "absent", "broken", "slow"]), TEXT),
        max_size=3,
    ).map(tuple),
    missing=st.lists(st.builds(Missing, TEXT, TEXT, TEXT), max_size=2).map(tuple),
)  # fmt: skip


@given(STATUSES)
def test_a_status_survives_its_file_to_the_microsecond(status: Status) -> None:
    text = json.dumps(jsonable(status), allow_nan=False)
    again = from_jsonable(Status, json.loads(text))
    assert jsonable(again) == jsonable(status)
    assert again.sources == status.sources
    for pin, before in zip(again.disk.pins, status.disk.pins, strict=True):
        assert abs(pin.window.start_ns - before.window.start_ns) < 1_000
