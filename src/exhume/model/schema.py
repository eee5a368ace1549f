"""JSON Schema (draft 2020-12) of the values in `model`, by the rules of `model.jsonable`.

Descriptions are the docstrings: of the class, and of each field the string below it. An array's
depth is read from its `Shape (…)`, so prose and contract can't part.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from msgspec import Struct

from exhume.model.jsonable import Json, is_nanoseconds, is_time, json_name, type_hints

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SHAPE = re.compile(r"Shape \(((?:[^()]|\([^()]*\))*)\)")


def schema_of(kind: type, *, title: str) -> dict[str, Json]:
    """The schema of one answer, self-contained: every class it is made of is in `$defs`."""
    definitions: dict[str, Json] = {}
    reference = _schema(kind, definitions, "")
    return {
        "$schema": DIALECT,
        "title": title,
        "description": _doc(kind),
        **reference,
        "$defs": dict(sorted(definitions.items())),
    }


def schema_in(kind: Any, definitions: dict[str, Json]) -> dict[str, Json]:
    """The schema of any type; the classes it is made of are added to `definitions`."""
    return _schema(kind, definitions, "")


@lru_cache
def field_docs(kind: type) -> dict[str, str]:
    """The string literal below each field."""
    parsed = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(parsed, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, following in zip(parsed.body, parsed.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            docs[statement.target.id] = " ".join(following.value.value.split())
    return docs


def _schema(kind: Any, definitions: dict[str, Json], doc: str, name: str = "") -> dict[str, Json]:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return _union([_schema(entry, definitions, doc, name) for entry in arguments])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is np.ndarray:
        return _array(get_args(arguments[1])[0], doc, name)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": _schema(arguments[0], definitions, "", name)}
        each: list[Json] = [_schema(entry, definitions, "", name) for entry in arguments]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "items": False}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions, "")}
    if isinstance(kind, type) and issubclass(kind, Struct):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # holds the place while its own fields are described
            definitions[kind.__name__] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [entry.name.lower() for entry in kind]}
    if kind is int:
        return {"type": "number" if is_nanoseconds(name) else "integer"}
    if kind is float:
        return {"type": ["number", "null"]}  # null: not known, NaN inside
    return {"type": {str: "string", bool: "boolean", type(None): "null"}[kind]}


def _object(kind: type[Struct], definitions: dict[str, Json]) -> dict[str, Json]:
    hints, docs = type_hints(kind), field_docs(kind)
    properties: dict[str, Json] = {}
    for name in kind.__struct_fields__:
        doc = docs.get(name, "")
        schema = _schema(hints[name], definitions, doc, name)
        described = " ".join(part for part in (_unit(name), doc) if part)
        properties[json_name(name)] = {**schema, "description": described} if described else schema
    return {
        "type": "object",
        "description": _doc(kind),
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _unit(name: str) -> str:
    if is_time(name):
        return "Epoch seconds."
    return "Seconds." if is_nanoseconds(name) else ""


def _doc(kind: type) -> str:
    # getdoc would answer with Struct's own where a class has none.
    return inspect.cleandoc(kind.__doc__) if kind.__doc__ else ""


def _array(dtype: Any, doc: str, name: str) -> dict[str, Json]:
    whole = not np.issubdtype(dtype, np.floating) and not is_nanoseconds(name)
    can_miss = np.issubdtype(dtype, np.floating) or dtype is np.int64
    number = "integer" if whole else "number"
    schema: dict[str, Json] = {"type": [number, "null"] if can_miss else number}
    shape = _SHAPE.search(doc)
    depth = len([part for part in shape[1].split(",") if part.strip()]) if shape else 1
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def _union(parts: list[dict[str, Json]]) -> dict[str, Json]:
    kinds: list[Json] = []
    for part in parts:
        kind = part.get("type")
        if list(part) != ["type"] or kind is None:
            return {"anyOf": list(parts)}
        kinds += [k for k in (kind if isinstance(kind, list) else [kind]) if k not in kinds]
    return {"type": kinds}
