"""Values ↔ JSON, by rule and not by hand. The contract of every `--json` and of the page's API:

- times are epoch seconds: `wall_ns` → `time`, `since_wall_ns` → `since_time`, `start_ns` → `start`,
  `end_ns` → `end`;
- every other `*_ns` is a duration: `total_ns` → `total_seconds`;
- NaN and a missing reading → null, never 0;
- enumerations → their name in lower case; arrays → nested lists; tuples → lists.

`model.schema` writes the same rules down as JSON Schema.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import Struct
from msgspec.structs import fields

from exhume.errors import ParseError
from exhume.model.series import MISSING

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
T = TypeVar("T")

_TIMES = {"wall_ns": "time", "start_ns": "start", "end_ns": "end"}
# float32 columns carry percentages; more digits than the kernel measured only cost bytes.
_FLOAT32_DECIMALS = 4


def json_name(name: str) -> str:
    if name in _TIMES:
        return _TIMES[name]
    if name.endswith("_wall_ns"):
        return name.removesuffix("_wall_ns") + "_time"
    return name.removesuffix("_ns") + "_seconds" if is_nanoseconds(name) else name


def is_nanoseconds(name: str) -> bool:
    return name.endswith("_ns")


def is_time(name: str) -> bool:
    """A point in time, as opposed to a duration."""
    return name in _TIMES or name.endswith("_wall_ns")


def jsonable(value: object, *, nanoseconds: bool = False) -> Json:
    """A value of `model` as what `json.dumps` takes (with `allow_nan=False`)."""
    if isinstance(value, Struct):
        return {
            json_name(name): jsonable(getattr(value, name), nanoseconds=is_nanoseconds(name))
            for name in value.__struct_fields__
        }
    if isinstance(value, np.ndarray):
        return _array(value, nanoseconds)
    if isinstance(value, Enum):
        return value.name.lower()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | np.integer | np.floating):
        return _number(value.item() if isinstance(value, np.generic) else value, nanoseconds)
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [jsonable(entry, nanoseconds=nanoseconds) for entry in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def from_jsonable(kind: type[T], data: object, *, path: str = "JSON") -> T:
    """The value again; ParseError names the place where the data is not what the type says.

    Keys that the type doesn't know are skipped, so that an older exhume reads a newer one's file.
    """
    value: T = _read(kind, data, path, "the top", nanoseconds=False)
    return value


def _number(value: int | float, nanoseconds: bool) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value == MISSING:
        return None
    return value / 1e9 if nanoseconds else value


def _array(value: np.ndarray[Any, Any], nanoseconds: bool) -> Json:
    if value.dtype.kind == "f":
        absent = ~np.isfinite(value)
        shown = value.astype(np.float64)
        if value.dtype.itemsize <= 4:
            shown = shown.round(_FLOAT32_DECIMALS)
    else:
        absent = value == MISSING if value.dtype == np.int64 else np.zeros(value.shape, bool)
        shown = value / 1e9 if nanoseconds else value
    if absent.any():
        shown = shown.astype(object)
        shown[absent] = None
    listed: Json = shown.tolist()
    return listed


@lru_cache
def type_hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, data: object, path: str, where: str, *, nanoseconds: bool) -> Any:
    def wrong(expected: str) -> ParseError:
        return ParseError(path, where, expected)

    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return _read_union(arguments, data, path, where, nanoseconds)
    if origin is Literal:
        if data not in arguments:
            raise wrong("one of " + ", ".join(map(str, arguments)))
        return data
    if origin is np.ndarray:
        return _read_array(get_args(arguments[1])[0], data, wrong, nanoseconds)
    if origin is tuple:
        if not isinstance(data, list):
            raise wrong("a list")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            kinds: Sequence[Any] = [arguments[0]] * len(data)
        elif len(arguments) == len(data):
            kinds = arguments
        else:
            raise wrong(f"a list of {len(arguments)}")
        return tuple(
            _read(entry_kind, entry, path, f"{where}[{index}]", nanoseconds=nanoseconds)
            for index, (entry_kind, entry) in enumerate(zip(kinds, data, strict=True))
        )
    if origin in (dict, Mapping):
        if not isinstance(data, dict):
            raise wrong("an object")
        return {
            key: _read(arguments[1], entry, path, f"{where}.{key}", nanoseconds=False)
            for key, entry in data.items()
        }
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _read_struct(kind, data, path, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        if not isinstance(data, str) or data.upper() not in kind.__members__:
            raise wrong("one of " + ", ".join(name.lower() for name in kind.__members__))
        return kind[data.upper()]
    return _read_scalar(kind, data, wrong, nanoseconds)


def _read_scalar(kind: Any, data: object, wrong: Any, nanoseconds: bool) -> Any:
    number = isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < 1e300
    if kind is float and data is None:
        return math.nan
    if kind is float and number:
        return float(data)  # type: ignore[arg-type]
    if kind is int and number:
        if nanoseconds:
            return round(data * 1e9)  # type: ignore[operator]
        if data == int(data):  # type: ignore[call-overload]
            return int(data)  # type: ignore[call-overload]
    if kind in (str, bool) and type(data) is kind:
        return data
    raise wrong(
        {int: "a whole number", float: "a number", str: "text", bool: "true or false"}[kind]
    )


def _read_union(
    kinds: tuple[Any, ...], data: object, path: str, where: str, nanoseconds: bool
) -> Any:
    if data is None and type(None) in kinds:
        return None
    problem: ParseError | None = None
    for kind in kinds:
        if kind is not type(None):
            try:
                return _read(kind, data, path, where, nanoseconds=nanoseconds)
            except ParseError as error:
                problem = error
    raise problem or ParseError(path, where, "nothing")


def _read_array(dtype: Any, data: object, wrong: Any, nanoseconds: bool) -> np.ndarray[Any, Any]:
    try:
        read = np.array(data, np.float64)  # null becomes NaN
        if np.issubdtype(dtype, np.floating):
            return read.astype(dtype)
        absent = np.isnan(read)
        exact = np.where(absent, 0, np.rint(read * 1e9) if nanoseconds else read).astype(dtype)
        if absent.any():
            exact[absent] = MISSING
        return exact
    except (ValueError, TypeError, OverflowError):
        raise wrong("an array of numbers") from None


def _read_struct(kind: type[Struct], data: object, path: str, where: str) -> Any:
    if not isinstance(data, dict):
        raise ParseError(path, where, f"an object ({kind.__name__})")
    given: dict[str, Any] = {}
    for entry in fields(kind):
        key = json_name(entry.name)
        if key in data:
            place = f"{where}.{key}" if where != "the top" else key
            given[entry.name] = _read(
                entry.type, data[key], path, place, nanoseconds=is_nanoseconds(entry.name)
            )
        elif entry.required:
            raise ParseError(path, where, f"a field '{key}'")
    return kind(**given)
