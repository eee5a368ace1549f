from __future__ import annotations

import pytest

from exhume.model.jsonable import Json
from exhume.web.openapi import document
from exhume.web.typescript import _type, types


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "number"),
        ({"type": ["number", "null"]}, "number | null"),
        ({"type": "array", "items": {"type": ["number", "null"]}}, "(number | null)[]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "number[][]"),
        ({"$ref": "#/components/schemas/Window"}, "Window"),
        ({"anyOf": [{"$ref": "#/x/Window"}, {"type": "null"}]}, "Window | null"),
        ({"enum": ["a", "b"]}, '"a" | "b"'),
        ({"prefixItems": [{"type": "string"}, {"type": "number"}]}, "[string, number]"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "Record<string, string>"),
    ],
)
def test_a_schema_becomes_the_type_of_the_same_values(
    schema: dict[str, Json], expected: str
) -> None:
    assert _type(schema) == expected


def test_a_docstring_can_not_end_its_comment() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"x-y": {"type": "string", "description": "ends */ here"}},
        "required": [],
    }
    text = types({"components": {"schemas": {"A": schema}}, "paths": {}})
    assert text.count("*/") == 1
    assert '"x-y"?: string' in text


def test_every_answer_has_a_type() -> None:
    text = types(document())
    assert '"/api/flame": FlameColumns' in text
    assert "export interface FlameColumns {" in text
