"""The comment lines above perf-script text: what `perf script --header` tells of the recording."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct

MAX_HEADER_BYTES = 1 << 20
_DATED_BYTES = 1 << 18

# A line may be all blanks, so what is between the words is bounded.
_LINE = re.compile(r"^[ \t]*#[ \t]*([a-z][a-z ]{0,40}?)[ \t]{0,40}:(.*)$", re.MULTILINE)
# `# event : name = cpu-clock, , id = { 7, 8 }, type = 1, …, { sample_period, sample_freq } = 97, …`
_EVENT = re.compile(r"^name = (?P<name>.+?), ")
_VALUE = re.compile(r"\{ sample_period, sample_freq \} = (\d+)")
_FREQUENCY = re.compile(r"\bfreq = 1\b")
# `… record -F 99 -a -g`, `--freq=99`, `-c 100000`
_ASKED_RATE = re.compile(r"\s(?:-F ?|--freq[= ])(\d+)")
_ASKED_PERIOD = re.compile(r"\s(?:-c ?|--count[= ])(\d+)")
# `# reference time: 2026-11-15 20:15:19.5 = 1794773719.500000 (TOD) = 7.019862000 (monotonic)`
_REFERENCE = re.compile(r"= (\d+)\.(\d{6}) \(TOD\) = (\d+)\.(\d{9}) \(")
# `# time of first sample : 7.019862`: of all that was recorded, also where a part of it is told
_MARK = re.compile(r"(\d{1,12})\.(\d{6})")
_CLOCK = re.compile(r"^[ \t]*#\s*clockid: (\S+)", re.MULTILINE)
_CAPTURED = re.compile(rb"^[ \t]*# captured on[ \t]*: ([^\r\n]{1,40})", re.MULTILINE)
_CAPTURED_FORMAT = "%a %b %d %H:%M:%S %Y"
# `perf 7801 [000] 2026-11-17 18:08:05.301526 56425.641890: `
_DATED = re.compile(rb"\s(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6})\d*\s+(\d{1,12})\.(\d{6,9}): ")


class EventHeader(Struct, frozen=True):
    name: str
    rate_hz: float | None
    period: int | None
    """One of the two, where the header gives any."""


class ScriptHeader(Struct, frozen=True):
    hostname: str = ""
    release: str = ""
    architecture: str = ""
    cores: int | None = None
    numbered_cores: int | None = None
    """How many there are, from 0 on, where all of them are on line."""
    command: str = ""
    captured: str = ""
    """`captured on`: when the perf.data was last written, or copied, in somebody's local time."""
    clock: str = ""
    """The name of the clock that was asked for; empty for perf's own."""
    reference: tuple[int, int] | None = None
    """Wall time and that clock's time of one instant, in nanoseconds."""
    recorded: tuple[int, int] | None = None
    """First and last of all samples, in nanoseconds; the text may be a part (`--time`)."""
    events: tuple[EventHeader, ...] = ()
    dated: tuple[datetime, int] | None = None
    """Local time and that clock's time of one line, in nanoseconds: `perf script -F +tod`."""


def parse(text: bytes) -> ScriptHeader:
    """Of the lines before the first sample; empty where there are none."""
    lines = text[:MAX_HEADER_BYTES].decode("utf-8", "replace")
    values: dict[str, str] = {}
    events: list[str] = []
    for key, value in _LINE.findall(lines):
        if key == "event":
            events.append(value.strip())
        else:
            values.setdefault(key, value.strip())
    online, present = (_count(values.get(f"nrcpus {one}", "")) for one in ("online", "avail"))
    command = values.get("cmdline", "")
    clock = _CLOCK.search(lines)
    return ScriptHeader(
        hostname=values.get("hostname", ""),
        release=values.get("os release", ""),
        architecture=values.get("arch", ""),
        cores=online,
        numbered_cores=online if online == present else None,
        command=command,
        captured=values.get("captured on", ""),
        clock=clock[1] if clock else "",
        reference=_reference(lines),
        recorded=_recorded(values),
        events=tuple(event for line in events if (event := _event(line, command))),
    )


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 6 else None


def _recorded(values: dict[str, str]) -> tuple[int, int] | None:
    marks = [_MARK.fullmatch(values.get(f"time of {one} sample", "")) for one in ("first", "last")]
    first, last = (m and int(m[1]) * 1_000_000_000 + int(m[2]) * 1000 for m in marks)
    return None if first is None or last is None else (first, last)


def dated(text: bytes | memoryview) -> tuple[datetime, int] | None:
    """What the first line says that has both; the text need not be whole."""
    found = _DATED.search(text, 0, _DATED_BYTES)
    try:
        date = datetime.fromisoformat(found[1].decode()) if found else None
    except ValueError:
        return None
    if found is None or date is None:
        return None
    return date, int(found[2]) * 1_000_000_000 + int(found[3].ljust(9, b"0"))


def newest_capture(known: str, text: bytes | memoryview) -> str:
    """The latest `captured on`, of those in it and the one that is known."""
    told: list[bytes] = _CAPTURED.findall(text)
    found = [known, *(one.decode("utf-8", "replace").strip() for one in told)]
    return max(found, key=lambda one: captured_at(one) or datetime.min)


def captured_at(text: str) -> datetime | None:
    """In somebody's local time."""
    try:
        return datetime.strptime(text, _CAPTURED_FORMAT) if text else None
    except ValueError:
        return None


def _event(line: str, command: str) -> EventHeader | None:
    name = _EVENT.match(line)
    if name is None:
        return None
    value, rate, period = _VALUE.search(line), None, None
    if value:
        number = int(value[1])
        rate, period = (float(number), None) if _FREQUENCY.search(line) else (None, number)
    elif asked := _ASKED_RATE.search(command):
        rate = float(asked[1])
    elif asked := _ASKED_PERIOD.search(command):
        period = int(asked[1])
    return EventHeader(name["name"].strip(), rate, period)


def _reference(lines: str) -> tuple[int, int] | None:
    found = _REFERENCE.search(lines)
    if found is None or any(len(part) > 12 for part in found.groups()):
        return None
    wall = int(found[1]) * 1_000_000_000 + int(found[2]) * 1000
    return wall, int(found[3]) * 1_000_000_000 + int(found[4])
