"""TypeScript types of the API, made from its description: the page can't know other names."""

from __future__ import annotations

import json
import re
from typing import cast

from exhume.model.jsonable import Json

_HEAD = """// Made by `make generate` from docs/openapi.json. Do not edit.

"""
_PLAIN = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "Record<string, unknown>",
}
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
Object = dict[str, Json]


def types(document: Object) -> str:
    schemas = cast("Object", cast("Object", document["components"])["schemas"])
    parts = [_declaration(name, cast("Object", schema)) for name, schema in schemas.items()]
    return _HEAD + "\n".join([*parts, _answers(document), _parameters(document)])


def _declaration(name: str, schema: Object) -> str:
    if "properties" not in schema:
        return f"export type {name} = {_type(schema)}\n"
    required = cast("list[Json]", schema.get("required", []))
    lines = []
    for key, value in cast("Object", schema["properties"]).items():
        entry = cast("Object", value)
        if about := entry.get("description"):
            lines.append(f"  /** {_comment(str(about))} */")
        lines.append(f"  {_key(key)}{'' if key in required else '?'}: {_type(entry)}")
    about = f"/** {_comment(str(schema['description']))} */\n" if schema.get("description") else ""
    return f"{about}export interface {name} {{\n" + "\n".join(lines) + "\n}\n"


def _answers(document: Object) -> str:
    """Path → type of its answer."""
    lines = []
    for path, entry in cast("Object", document["paths"]).items():
        content = _at(entry, "get", "responses", "200", "content")
        answer = cast("Object", content.get("application/json", {})).get("schema")
        if answer:  # else a file, which nobody looks into
            lines.append(f"  {json.dumps(path)}: {_type(cast('Object', answer))}")
    return "export interface Answers {\n" + "\n".join(lines) + "\n}\n"


def _parameters(document: Object) -> str:
    """Path → what may be asked with."""
    lines = []
    for path, entry in cast("Object", document["paths"]).items():
        given = cast("list[Object]", cast("Object", cast("Object", entry)["get"])["parameters"])
        each = [
            f"{one['name']}{'' if one['required'] else '?'}: {_type(cast('Object', one['schema']))}"
            for one in given
            if one["in"] == "query"
        ]
        lines.append(f"  {json.dumps(path)}: {{ {'; '.join(each)} }}" if each else
                     f"  {json.dumps(path)}: Record<string, never>")  # fmt: skip
    return "export interface Parameters {\n" + "\n".join(lines) + "\n}\n"


def _at(value: Json, *keys: str) -> Object:
    for key in keys:
        value = cast("Object", value)[key]
    return cast("Object", value)


def _type(schema: Object) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in cast("list[Json]", schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(
            _type(cast("Object", part)) for part in cast("list[Json]", schema["anyOf"])
        )
    if "prefixItems" in schema:
        each = (_type(cast("Object", part)) for part in cast("list[Json]", schema["prefixItems"]))
        return f"[{', '.join(each)}]"
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return " | ".join(_PLAIN[str(entry)] for entry in kind)
    if kind == "array":
        inner = _type(cast("Object", schema["items"]))
        return f"({inner})[]" if " " in inner and not inner.startswith("[") else f"{inner}[]"
    if kind == "object" and "additionalProperties" in schema:
        return f"Record<string, {_type(cast('Object', schema['additionalProperties']))}>"
    return _PLAIN[str(kind)]


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else json.dumps(name)


def _comment(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /")
