"""A line of JSON with a time and a text, by the names that logging libraries and shippers use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from exhume.derive.stamps import number_ns, text_ns
from exhume.ingest.log_entries import Entry
from exhume.ingest.log_levels import INFO, level_named

_TIME_KEYS = (
    *("time", "ts", "timestamp", "@timestamp", "asctime", "t", "date", "eventTime", "@t"),
    *("timeMillis", "datetime", "instant", "timestamp_ms", "__REALTIME_TIMESTAMP"),
)
_TEXT_KEYS = (
    *("msg", "message", "log", "event", "text", "MESSAGE", "short_message", "textPayload"),
    *("@m", "@mt", "body", "line"),
)
_MORE_KEYS = (
    *("err", "error", "exc_info", "exception", "stack", "stacktrace", "traceback", "reason"),
    *("full_message", "@x"),
)
_WHO_KEYS = (
    *("logger", "name", "component", "service", "app", "unit", "container", "program"),
    *("SYSLOG_IDENTIFIER", "appname", "ident"),
)
_LEVEL_KEYS = ("level", "severity", "lvl", "levelname", "log.level", "s", "@l", "PRIORITY")
_INSIDE = ("jsonPayload", "record", "fields")
"""Objects in the object that may have the text."""


def of_object(line: str) -> tuple[Entry, bool] | None:
    """None where it is no such object; and whether its time has a zone."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    fields = _with_inside(cast(dict[str, Any], value))
    at = _time(next((fields[key] for key in _TIME_KEYS if key in fields), None))
    text = _first_text(fields, _TEXT_KEYS)
    if at is None or not text:
        return None
    more = [str(fields[key])[:2000] for key in _MORE_KEYS if fields.get(key)]
    level = next((level_named(fields[key]) for key in _LEVEL_KEYS if key in fields), INFO)
    entry = Entry(
        at[0], " ".join([text.rstrip("\n"), *more]), _is_kernel(fields), level, "",
        _first_text(fields, _WHO_KEYS)[:64],
    )  # fmt: skip
    return entry, at[1]


def _with_inside(value: dict[str, Any]) -> Mapping[str, Any]:
    for name in _INSIDE:
        inside = value.get(name)
        if isinstance(inside, dict) and _first_text(inside, _TEXT_KEYS):
            return {**value, **inside}
    return value


def _first_text(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")


def _is_kernel(fields: Mapping[str, Any]) -> bool:
    """An entry of the journal that somebody forwards: as journal.py has it."""
    facility = str(fields.get("SYSLOG_FACILITY", "0"))
    return fields.get("_TRANSPORT") == "kernel" and facility == "0"


def _time(value: Any) -> tuple[int, bool] | None:
    if isinstance(value, dict):
        # MongoDB's, Log4j's, loguru's
        names = ("$date", "epochSecond", "timestamp")
        value = next((value[name] for name in names if name in value), None)
    if isinstance(value, str):
        return text_ns(value[:64])
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return number_ns(value), True
        except (ValueError, OverflowError):
            return None
    return None
