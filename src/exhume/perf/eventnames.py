"""Events by name: what `perf record -e` calls them, and which of them measure time on a core."""

from __future__ import annotations

import re

from exhume.perf.attr import Attr, EventType, Flag

# PERF_TYPE_HARDWARE and PERF_TYPE_SOFTWARE, in the order of their numbers.
_HARDWARE = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
    "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip
_SOFTWARE = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
    "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output",
    "cgroup-switches",
)  # fmt: skip
_RAW = 4

# Best first. Only time on a core can be shown as such; of several the first is taken.
_TIME_LIKE = (
    "cpu-clock", "task-clock", "cycles", "cpu-cycles", "ref-cycles", "bus-cycles", "instructions",
)  # fmt: skip
UNKNOWN = "unknown"
_CLOCKS = ("cpu-clock", "task-clock")
# `cycles:ppp`, `cpu-clock:uhH`, `cpu_core/cycles/P`, `cpu/cpu-cycles,period=…/`
_PMU_EVENT = re.compile(r"[\w.-]+/([\w-]+)[^/]*/\w*")
# tools/perf/util/parse-events.l, each once but p. A tracepoint is no modifier: `kmem:kfree`.
_MODIFIERS = re.compile(r":(?!\w*([^p\W])\w*\1)[ukhpPGHIDSWebRX]+$")


def attr_name(attr: Attr) -> str:
    """Where no name was recorded: from type and number."""
    known = {EventType.HARDWARE: _HARDWARE, EventType.SOFTWARE: _SOFTWARE}.get(attr.type, ())
    number = int(attr.config) & 0xFFFF_FFFF  # above: which PMU of a hybrid machine
    if number < len(known):
        return known[number]
    if attr.type == EventType.TRACEPOINT:
        return f"tracepoint {attr.config}"
    return f"raw {attr.config:#x}" if attr.type == _RAW else f"event {attr.type}/{attr.config:#x}"


def plain(name: str) -> str:
    """Without modifiers and PMU: events of one plain name count as one."""
    if found := _PMU_EVENT.fullmatch(name):
        name = found[1]
    return _MODIFIERS.sub("", name)


def preference(name: str) -> int:
    """Lower is better for seeing who was on a core."""
    known = plain(name)
    return _TIME_LIKE.index(known) if known in _TIME_LIKE else len(_TIME_LIKE)


def is_time_like(name: str) -> bool:
    """Where nobody says what was sampled, it is taken to be perf's default, which is."""
    return plain(name) in (*_TIME_LIKE, "", UNKNOWN)


def no_time(name: str) -> str:
    """What to say of shares of an event that is not time-like."""
    return f"{name} is no measure of time on a core: read percentages as shares of its events"


def rate_of(name: str, rate_hz: float | None, period: int | None) -> float | None:
    """Samples a second of a busy core; None where only the samples themselves can tell."""
    if rate_hz:
        return rate_hz
    if period and plain(name) in _CLOCKS:
        return 1e9 / period
    return None


def attr_rate(name: str, attr: Attr) -> float | None:
    is_frequency = bool(attr.flags & Flag.FREQ)
    value = int(attr.sample_period)
    return rate_of(name, float(value) if is_frequency else None, None if is_frequency else value)
