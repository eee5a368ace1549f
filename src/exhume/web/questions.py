"""Query strings → windows and filters. Everything in them is hostile until it has been parsed."""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec import Struct
from starlette.datastructures import QueryParams

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.answers import Filter
from exhume.model.jsonable import Json
from exhume.model.stack import Mode
from exhume.model.window import Window

MAX_COLUMNS = 4000
MAX_VALUES = 256
_MODES = tuple(mode.name.lower() for mode in Mode)
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_FURTHEST_SECONDS = 9.2e9
"""From 1970, to either side: so many nanoseconds are in 64 bits."""
_SECONDS: dict[str, Json] = {"type": "number"}
_TEXT: dict[str, Json] = {"type": "string"}
_NUMBER: dict[str, Json] = {"type": "integer"}


class Parameter(Struct, frozen=True):
    """One name of a query string, as the description of the API has it."""

    name: str
    about: str
    schema: dict[str, Json]
    many: bool = False
    """It may be given more than once."""
    required: bool = False


START = Parameter("start", "Epoch seconds; without it the start of the recording.", _SECONDS)
END = Parameter("end", "Epoch seconds; without it the end of the recording.", _SECONDS)
WINDOW = (START, END)
FILTER = (
    Parameter("core", "Only these cores.", _NUMBER, many=True),
    Parameter("comm", "Only processes of this name, and threads.", _TEXT, many=True),
    Parameter("pid", "Only this process.", _NUMBER, many=True),
    Parameter("tid", "Only this thread.", _NUMBER, many=True),
    Parameter("cgroup", "Only this cgroup and all below it.", _TEXT, many=True),
    Parameter("unit", "Only this systemd unit.", _TEXT, many=True),
    Parameter("container", "Only this container.", _TEXT, many=True),
    Parameter("pod", "Only this pod.", _TEXT, many=True),
    Parameter("mode", "Only samples in this mode.", {"enum": list(_MODES)}, many=True),
)


def counted(name: str, about: str, default: int, most: int) -> Parameter:
    return Parameter(
        name, about, {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    )


def chosen(name: str, about: str, among: tuple[str, ...]) -> Parameter:
    return Parameter(name, about, {"enum": list(among), "default": among[0]})


def check_known(query: QueryParams, known: tuple[Parameter, ...]) -> None:
    """A misspelt filter must not read as no filter."""
    names = {parameter.name for parameter in known}
    for name in query:
        if name not in names:
            raise ExhumeError(
                f"the parameter {name[:40]!r} is not known here",
                todo=f"known are: {', '.join(sorted(names)) or 'none'}",
                exit_code=EXIT_USAGE,
            )


def window(query: QueryParams, everything: Window) -> Window:
    """`start` and `end` in epoch seconds; without them all that is recorded."""
    start = _seconds(query, "start", everything.start_ns)
    end = _seconds(query, "end", everything.end_ns)
    if end <= start:
        raise _wrong("end", "a time after start")
    return Window(start, end)


def sample_filter(query: QueryParams) -> Filter:
    modes = strings(query, "mode")
    if unknown := set(modes) - set(_MODES):
        raise _wrong("mode", f"one of {', '.join(sorted(_MODES))}, not {min(unknown)!r}")
    return Filter(
        cores=_numbers(query, "core"),
        comms=strings(query, "comm"),
        pids=_numbers(query, "pid"),
        tids=_numbers(query, "tid"),
        cgroups=strings(query, "cgroup"),
        units=strings(query, "unit"),
        containers=strings(query, "container"),
        pods=strings(query, "pod"),
        modes=modes,
    )


def number(query: QueryParams, parameter: Parameter) -> int:
    text, schema = query.get(parameter.name), parameter.schema
    most, default = schema["maximum"], schema["default"]
    assert isinstance(most, int)
    assert isinstance(default, int)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
        raise _wrong(parameter.name, f"a number from 1 to {most}")
    return int(text)


def choice(query: QueryParams, parameter: Parameter) -> str:
    among = parameter.schema["enum"]
    assert isinstance(among, list)
    text = query.get(parameter.name, str(among[0]))
    if text not in among:
        raise _wrong(parameter.name, f"one of {', '.join(map(str, among))}")
    return text


def seconds(query: QueryParams, name: str) -> int:
    if name not in query:
        raise _wrong(name, "a time in epoch seconds")
    return _seconds(query, name, 0)


def strings(query: QueryParams, name: str) -> tuple[str, ...]:
    values = query.getlist(name)
    if len(values) > MAX_VALUES:
        raise _wrong(name, f"at most {MAX_VALUES} values")
    return tuple(values)


def _seconds(query: QueryParams, name: str, default_ns: int) -> int:
    text = query.get(name)
    if text is None:
        return default_ns
    try:
        value = float(text)
    except ValueError:
        raise _wrong(name, "a time in epoch seconds") from None
    if not abs(value) < _FURTHEST_SECONDS:  # below 0: what a file from 1970 tells of
        raise _wrong(name, "a time in epoch seconds")
    return round(Decimal(repr(value)) * 10**9)  # as it is written: by floats it is 0.2 µs off


def _numbers(query: QueryParams, name: str) -> tuple[int, ...]:
    values = strings(query, name)
    if not all(_WHOLE.fullmatch(value) for value in values):
        raise _wrong(name, "a number")
    return tuple(int(value) for value in values)


def _wrong(name: str, expected: str) -> ExhumeError:
    return ExhumeError(f"the parameter {name}: expected {expected}", exit_code=EXIT_USAGE)
