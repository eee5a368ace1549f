from __future__ import annotations

from typing import Any, cast

from exhume.web.openapi import document
from exhume.web.routes import QUESTIONS


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(entry) for entry in value.values()), set())
    if isinstance(value, list):
        return set().union(*(references(entry) for entry in value))
    return set()


def test_every_question_is_described_with_its_parameters_and_answer() -> None:
    paths = cast("dict[str, Any]", document()["paths"])
    files = {"/api/export/{format}", "/api/report/{format}"}
    assert set(paths) == files.union(question.path for question in QUESTIONS)
    for question in QUESTIONS:
        described = paths[question.path]["get"]
        names = {one["name"] for one in described["parameters"] if one["in"] == "query"}
        assert names == {parameter.name for parameter in question.parameters}
        assert described["summary"]


def test_every_reference_leads_somewhere() -> None:
    described = document()
    known = cast("dict[str, Any]", cast("dict[str, Any]", described["components"])["schemas"])
    for reference in references(described):
        assert reference.removeprefix("#/components/schemas/") in known
