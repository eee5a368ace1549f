"""Query strings → windows and filters. Everything in them is hostile until it has been parsed."""

from __future__ import annotations

from starlette.datastructures import QueryParams

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.model.answers import Filter
from exhume.model.stack import Mode
from exhume.model.window import Window

MAX_COLUMNS = 4000
MAX_VALUES = 256
_MODES = {mode.name.lower() for mode in Mode}


def window(query: QueryParams, everything: Window) -> Window:
    """`start` and `end` in epoch seconds; without them all that is recorded."""
    start = _seconds(query, "start", everything.start_ns)
    end = _seconds(query, "end", everything.end_ns)
    if end <= start:
        raise _wrong("end", "a time after start")
    return Window(start, end)


def sample_filter(query: QueryParams) -> Filter:
    modes = _strings(query, "mode")
    if unknown := set(modes) - _MODES:
        raise _wrong("mode", f"one of {', '.join(sorted(_MODES))}, not {min(unknown)!r}")
    return Filter(
        cores=_numbers(query, "core"),
        comms=_strings(query, "comm"),
        pids=_numbers(query, "pid"),
        tids=_numbers(query, "tid"),
        cgroups=_strings(query, "cgroup"),
        units=_strings(query, "unit"),
        containers=_strings(query, "container"),
        pods=_strings(query, "pod"),
        modes=modes,
    )


def number(query: QueryParams, name: str, default: int, most: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
        raise _wrong(name, f"a number from 1 to {most}")
    return int(text)


def seconds(query: QueryParams, name: str) -> int:
    if name not in query:
        raise _wrong(name, "a time in epoch seconds")
    return _seconds(query, name, 0)


def strings(query: QueryParams, name: str) -> tuple[str, ...]:
    return _strings(query, name)


def _seconds(query: QueryParams, name: str, default_ns: int) -> int:
    text = query.get(name)
    if text is None:
        return default_ns
    try:
        value = float(text)
    except ValueError:
        raise _wrong(name, "a time in epoch seconds") from None
    if not 0 <= value < 1e11:
        raise _wrong(name, "a time in epoch seconds")
    return round(value * 1e9)


def _strings(query: QueryParams, name: str) -> tuple[str, ...]:
    values = query.getlist(name)
    if len(values) > MAX_VALUES:
        raise _wrong(name, f"at most {MAX_VALUES} values")
    return tuple(values)


def _numbers(query: QueryParams, name: str) -> tuple[int, ...]:
    values = _strings(query, name)
    if any(not v.isascii() or not v.lstrip("-").isdigit() or len(v) > 10 for v in values):
        raise _wrong(name, "a number")
    return tuple(int(value) for value in values)


def _wrong(name: str, expected: str) -> ExhumeError:
    return ExhumeError(f"the parameter {name}: expected {expected}", exit_code=EXIT_USAGE)
