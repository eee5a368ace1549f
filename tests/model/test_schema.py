from __future__ import annotations

import numpy as np
from jsonschema import Draft202012Validator
from msgspec import Struct

from exhume.model.answers import CoreMap, SeriesAnswer
from exhume.model.arrays import F32
from exhume.model.jsonable import jsonable
from exhume.model.schema import field_docs, schema_of
from exhume.model.stack import Frame, FrameKind
from exhume.model.window import Window


class Tree(Struct, frozen=True):
    """A value with a bit of everything."""

    window: Window
    frames: tuple[Frame, ...]
    cells: F32
    """Shape (len(ROWS), columns): how full."""
    line: F32
    wait_ns: int
    """Until the next."""
    wall_ns: int
    label: str | None
    words: dict[str, str | int]


def check(value: object) -> list[str]:
    schema = schema_of(type(value), title="test")
    Draft202012Validator.check_schema(schema)
    errors = Draft202012Validator(schema).iter_errors(jsonable(value))
    return [error.message for error in errors]


def tree() -> Tree:
    frames = (Frame("f", "m", FrameKind.USER),)
    cells = np.array([[1, np.nan]], np.float32)
    return Tree(Window(0, 10), frames, cells, cells[0], 5, 6, None, {"a": 1, "b": "x"})


def test_a_value_fits_the_schema_of_its_class() -> None:
    assert check(tree()) == []


def test_a_value_of_another_shape_does_not() -> None:
    bad = tree()
    broken = Tree(
        bad.window, bad.frames, bad.line, bad.cells, bad.wait_ns, bad.wall_ns, bad.label, bad.words
    )
    assert len(check(broken)) >= 2


def test_names_units_and_descriptions_come_from_the_class() -> None:
    schema = schema_of(Tree, title="a tree")
    assert schema["title"] == "a tree"
    assert schema["description"] == "A value with a bit of everything."
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    own = definitions["Tree"]
    assert isinstance(own, dict)
    properties = own["properties"]
    assert isinstance(properties, dict)
    assert properties["wait_seconds"] == {
        "type": "number",
        "description": "Seconds. Until the next.",
    }
    assert properties["time"] == {"type": "number", "description": "Epoch seconds."}
    assert properties["label"] == {"type": ["string", "null"]}
    number = {"type": ["number", "null"]}
    assert properties["cells"] == {
        "type": "array",
        "items": {"type": "array", "items": number},
        "description": "Shape (len(ROWS), columns): how full.",
    }
    assert own["required"] == list(properties)
    window = definitions["Window"]
    assert isinstance(window, dict)
    assert window["required"] == ["start", "end"]


def test_the_strings_below_fields_are_found() -> None:
    docs = field_docs(CoreMap)
    assert docs["node_mean_percent_of_machine"].endswith("the average that lies.")
    assert "window" not in docs
    assert set(field_docs(SeriesAnswer)) == {"values", "segment"}
