"""Fingerprint ↔ canonical JSON: sorted, versioned, ASCII; hostile or old files get a clear no."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from exhume.errors import ExhumeError, ParseError
from exhume.model.fingerprint import (
    KINDS,
    VERSION,
    Field,
    Fingerprint,
    Value,
    hash_of,
    hash_of_fields,
)
from exhume.model.jsonable import jsonable
from exhume.store import fingerprints

MAX_FIELDS = 200_000
_TODO_COLLECT = "collect it anew there: exhume fingerprint -o FILE"


class NotAFingerprintError(ParseError):
    """Some other file."""


class OtherVersionError(ExhumeError):
    """A fingerprint, but not of a version that can be compared."""


def encode(one: Fingerprint) -> bytes:
    text = json.dumps(jsonable(one), sort_keys=True, ensure_ascii=True, allow_nan=False,
                      separators=(",", ":"))  # fmt: skip
    return text.encode() + b"\n"


def read(path: Path) -> Fingerprint:
    try:
        with open(path, "rb") as file:
            data = file.read(fingerprints.MAX_BYTES + 1)
    except OSError as error:
        raise ExhumeError(
            f"{path} can't be read: {error.strerror}", todo="name a fingerprint or a recording"
        ) from error
    if len(data) > fingerprints.MAX_BYTES:
        raise NotAFingerprintError(str(path), "whole file", "a fingerprint, not something so large")
    return decode(data, str(path))


def decode(data: bytes, path: str) -> Fingerprint:
    """Raises NotAFingerprintError, OtherVersionError, or ParseError where it is damaged."""
    return from_json(load_json(fingerprints.unpack(data, path), path), path)


def load_json(data: bytes, path: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise NotAFingerprintError(path, "whole file", "JSON", todo=_TODO_COLLECT) from None


def from_json(body: Any, path: str) -> Fingerprint:
    if not isinstance(body, dict) or "fingerprint" not in body:
        raise NotAFingerprintError(path, "the top", "a fingerprint", todo=_TODO_COLLECT)
    version = body["fingerprint"]
    if type(version) is not int or version != VERSION:
        is_newer = type(version) is int and version > VERSION
        raise OtherVersionError(
            f"{path} is a fingerprint of version {str(version)[:20]}; this exhume compares "
            f"version {VERSION}",
            todo="use the exhume that wrote it, or a later one" if is_newer else _TODO_COLLECT,
        )
    fields = _fields(body.get("fields"), path)
    missing = body.get("missing", {})
    if not isinstance(missing, dict) or not all(isinstance(why, str) for why in missing.values()):
        raise ParseError(path, "missing", "an object of reasons")
    found = Fingerprint(
        fingerprint=version,
        node=_text(body, "node", path),
        wall_ns=round(_number(body, "time", path) * 1e9),
        exhume=_text(body, "exhume", path),
        cpu_seconds=_number(body, "cpu_seconds", path),
        fields=fields,
        missing=missing,
        hash=_text(body, "hash", path),
    )
    if found.hash != hash_of_fields(fields):
        raise ParseError(
            path, "hash", "the hash of its fields: it was changed after it was written",
            todo=_TODO_COLLECT,
        )  # fmt: skip
    return found


def _fields(body: Any, path: str) -> dict[str, dict[str, Field]]:
    if not isinstance(body, dict):
        raise ParseError(path, "fields", "an object of areas")
    fields: dict[str, dict[str, Field]] = {}
    total = 0
    for area, entries in body.items():
        if not isinstance(entries, dict):
            raise ParseError(path, f"fields.{area}", "an object of fields")
        total += len(entries)
        if total > MAX_FIELDS:
            raise ParseError(path, "fields", f"at most {MAX_FIELDS:,} fields")
        fields[area] = {name: _field(entry, path, area, name) for name, entry in entries.items()}
    return fields


def _field(entry: Any, path: str, area: str, name: str) -> Field:
    where = f"fields.{area}.{name}"
    if not isinstance(entry, dict) or entry.get("kind") not in KINDS:
        raise ParseError(path, where, f"a field with one of the classes {', '.join(KINDS)}")
    value = _value(entry.get("value"), path, where)
    found = Field(entry["kind"], value, hash_of(value))
    if entry.get("hash") != found.hash:
        raise ParseError(path, f"{where}.hash", f"{found.hash}, the hash of its value")
    return found


def _value(value: Any, path: str, where: str) -> Value:
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list) and all(isinstance(member, str) for member in value):
        if value != sorted(set(value)):
            raise ParseError(path, where, "a set: sorted, each member once")
        return tuple(value)
    raise ParseError(path, where, "a text, a number, true, false or a set of texts")


def _text(body: dict[str, Any], key: str, path: str) -> str:
    if not isinstance(body.get(key), str):
        raise ParseError(path, "the top", f"a text '{key}'")
    text: str = body[key]
    return text


def _number(body: dict[str, Any], key: str, path: str) -> float:
    value = body.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e12:
        raise ParseError(path, "the top", f"a number '{key}'")
    return float(value)
