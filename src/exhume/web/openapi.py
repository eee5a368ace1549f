"""The API described for machines (OpenAPI 3.1), made from the questions and their answers."""

from __future__ import annotations

import re
from typing import cast

from exhume import __version__
from exhume.export import FORMATS
from exhume.model.jsonable import Json
from exhume.model.schema import schema_in
from exhume.web.questions import FILTER, WINDOW, Parameter
from exhume.web.report import REPORT, REPORTS
from exhume.web.routes import QUESTIONS, Question

EXPORT = (*WINDOW, *FILTER)
_REFERENCE = "#/components/schemas/"
_PROBLEM: dict[str, Json] = {
    "type": "object",
    "description": "What went wrong, and what to do.",
    "properties": {"error": {"type": "string"}, "todo": {"type": "string"}},
    "required": ["error"],
}


def document() -> dict[str, Json]:
    definitions: dict[str, Json] = {}
    paths: dict[str, Json] = {
        question.path: {"get": _operation(question, definitions)} for question in QUESTIONS
    }
    paths["/api/export/{format}"] = {"get": _file(
        "The samples of a selection in another tool's format.", EXPORT,
        {name: one.media_type for name, one in FORMATS.items()},
    )}  # fmt: skip
    paths["/api/report/{format}"] = {"get": _file(
        "A case as a report to send.", REPORT,
        {name: one.media_type for name, one in REPORTS.items()},
    )}  # fmt: skip
    schemas: dict[str, Json] = {**dict(sorted(definitions.items())), "Problem": _PROBLEM}
    described: dict[str, Json] = {
        "openapi": "3.1.0",
        "info": {
            "title": "exhume",
            "version": __version__,
            "description": "Questions about a recording. Read only. Times are epoch seconds; "
            "null means not recorded, never zero.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    return cast("dict[str, Json]", _moved(described))


def _operation(question: Question, definitions: dict[str, Json]) -> dict[str, Json]:
    given: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", question.path)
    ]
    given += [_parameter(parameter) for parameter in question.parameters]
    return {
        "summary": question.about,
        "parameters": given,
        "responses": {
            "200": _response("The answer.", schema_in(question.kind, definitions)),
            "400": _response("A parameter is wrong.", {"$ref": f"{_REFERENCE}Problem"}),
            "422": _response("The recording can't answer.", {"$ref": f"{_REFERENCE}Problem"}),
        },
    }


def _file(about: str, parameters: tuple[Parameter, ...], types: dict[str, str]) -> dict[str, Json]:
    """`types`: of the file by the name of its format."""
    formats: dict[str, Json] = {"enum": list(types)}
    content: dict[str, Json] = {kind: {} for kind in types.values()}
    named: dict[str, Json] = {"name": "format", "in": "path", "required": True, "schema": formats}
    return {
        "summary": about,
        "parameters": [named, *(_parameter(parameter) for parameter in parameters)],
        "responses": {
            "200": {"description": "The file.", "content": content},
            "400": _response("A parameter is wrong.", {"$ref": f"{_REFERENCE}Problem"}),
            "422": _response("The recording can't answer.", {"$ref": f"{_REFERENCE}Problem"}),
        },
    }


def _parameter(parameter: Parameter) -> Json:
    schema: Json = parameter.schema
    if parameter.many:
        schema = {"type": "array", "items": schema}
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.required,
        "schema": schema,
    }


def _response(about: str, schema: dict[str, Json]) -> Json:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _moved(value: Json) -> Json:
    """References point into OpenAPI's own place for schemas."""
    if isinstance(value, dict):
        return {key: _moved(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_moved(entry) for entry in value]
    if isinstance(value, str) and value.startswith("#/$defs/"):
        return _REFERENCE + value.removeprefix("#/$defs/")
    return value
