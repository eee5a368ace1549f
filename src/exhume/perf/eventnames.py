"""Events by name: what `perf record -e` calls them, and which of them measure time on a core."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

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
# What processors' own lists call cycles, as `perf list` shows them: of arm64, Intel, AMD (IBS
# counts cycles unless told otherwise), POWER, s390's sampling, and simpleperf's.
_CYCLES = frozenset({
    "cpu_cycles", "cpu_clk_unhalted.thread", "cpu_clk_unhalted.thread_p", "cpu_clk_unhalted.core",
    "cpu_clk_unhalted.core_p", "ls_not_halted_cyc", "ibs_op//", "pm_cyc", "pm_run_cyc",
    "raw-cpu-cycles", "sf_cycles_basic",
})  # fmt: skip
UNKNOWN = "unknown"
_CLOCKS = ("cpu-clock", "task-clock")
_ALIASES = ("cpu-cycles", "branch-instructions", "faults", "cs", "migrations")
_KNOWN = frozenset((*_HARDWARE, *_SOFTWARE, *_ALIASES))
_NOT_IN_KERNEL = ("probe_", "sdt_", "uprobes", "mem")
# The kernel's timer for them fires every 10 µs at most (perf_swevent_hrtimer).
_LEAST_CLOCK_NS = 10_000
# `cpu_core/cycles/P` and `cpu/cpu-cycles,period=…/` name a PMU and its event, `cycles/period=…/u`
# and `sched:sched_switch/call-graph=no/` an event and how it was recorded.
_IN_SLASHES = re.compile(r"([\w.:-]+)/([^/]*)/(\w*)")
# tools/perf/util/parse-events.l, each once but p. A tracepoint is no modifier: `kmem:kfree`.
_MODIFIERS = re.compile(r":(?!\w*([^p\W])\w*\1)([ukhpPGHIDSWebRX]+)$")


def attr_name(attr: Attr) -> str:
    """Where no name was recorded: from type and number."""
    known = {EventType.HARDWARE: _HARDWARE, EventType.SOFTWARE: _SOFTWARE}.get(attr.type, ())
    number = int(attr.config) & 0xFFFF_FFFF  # above: which PMU of a hybrid machine
    if number < len(known):
        return known[number]
    if attr.type == EventType.TRACEPOINT:
        return f"tracepoint {attr.config}"
    return f"raw {attr.config:#x}" if attr.type == _RAW else f"event {attr.type}/{attr.config:#x}"


class _Parsed(Struct, frozen=True):
    plain: str
    pmu: str
    modifiers: str


def _parsed(name: str) -> _Parsed:
    if found := _IN_SLASHES.fullmatch(name):
        whole, terms, modifiers = found.groups()
        if ":" in whole or whole in _KNOWN:
            return _Parsed(whole, "", modifiers)
        event = terms.partition(",")[0]
        is_named = event and "=" not in event
        return _Parsed(event if is_named else f"{whole}/{terms}/", whole, modifiers)
    found = _MODIFIERS.search(name)
    return _Parsed(name[: found.start()], "", found[2]) if found else _Parsed(name, "", "")


def plain(name: str) -> str:
    """Without modifiers, PMU and terms: events of one plain name measure the same."""
    found = _parsed(name).plain
    return "cycles" if found.lower() in _CYCLES else found


def measure(name: str, attr: Attr) -> str:
    """The plain name, also where `perf record -e cpu-clock/name=mine/` gave it another."""
    own, told = plain(name), attr_name(attr)
    return told if told in _KNOWN and own not in _KNOWN else own


def without_overlaps(names: Iterable[str]) -> frozenset[str]:
    """Of events that measure the same those that count nothing twice: the widest first.

    `cycles:u` beside `cycles:k` stays, beside `cycles` it doesn't. Each PMU counts for itself.
    """
    kept: dict[tuple[str, str], str] = {}
    for name in sorted(dict.fromkeys(names), key=lambda name: -len(modes_named(name))):
        pmu = _parsed(name).pmu
        if not any((pmu, mode) in kept for mode in modes_named(name)):
            kept.update({(pmu, mode): name for mode in modes_named(name)})
    return frozenset(kept.values())


def modes_named(name: str) -> str:
    """In which a core is watched: user, kernel, hypervisor."""
    told = [mode for mode in "ukh" if mode in _parsed(name).modifiers]
    return "".join(told) or "ukh"


def modes(attr: Attr) -> str:
    """As `perf record --all-user` sets them, it does not always name them."""
    flags = attr.flags
    return ("" if flags & Flag.EXCLUDE_USER else "u") + ("" if flags & Flag.EXCLUDE_KERNEL else "k")


def in_modes(measure: str, watched: Iterable[str]) -> str:
    """`cycles:u` where all of its events leave the kernel out. `watched`: the modes of each."""
    told = "".join({"u", "k"}.intersection("".join(watched)))
    return f"{measure}:{told}" if len(told) == 1 and measure and is_time_like(measure) else measure


def is_of_a_part(name: str) -> bool:
    """Is it time in programs' own code alone, or in the kernel alone?"""
    return is_time_like(name) and not set("uk") <= set(modes_named(name))


def of_a_part(name: str) -> str:
    """What to say of shares of such an event."""
    there, missing = ("user", "kernel") if "u" in modes_named(name) else ("kernel", "user")
    return (
        f"only {there} mode was sampled ({name}): time in {missing} mode is missing, and a core "
        "that was full of that looks idle; `perf record -F 97 -g -a` as root samples both"
    )


def preference(name: str) -> int:
    """Lower is better for seeing who was on a core."""
    known = plain(name)
    return _TIME_LIKE.index(known) if known in _TIME_LIKE else len(_TIME_LIKE)


def is_time_like(name: str) -> bool:
    """Where nobody says what was sampled, it is taken to be perf's default, which is."""
    return plain(name) in (*_TIME_LIKE, "", UNKNOWN)


def is_in_kernel(name: str) -> bool:
    """Is it a tracepoint, or a probe, that is hit nowhere but in the kernel's code?

    `perf probe -x` makes `probe_libc:malloc`, and finds `sdt_qemu:…`; `mem:0x7f00:rw` is data.
    """
    group, _, event = plain(name).partition(":")
    return bool(event) and not group.startswith(_NOT_IN_KERNEL)


def no_time(name: str) -> str:
    """What to say of shares of an event that is not time-like."""
    return f"{name} is no measure of time on a core: read percentages as shares of its samples"


def rate_of(name: str, rate_hz: float | None, period: int | None) -> float | None:
    """Samples a second of a busy core; None where only the samples themselves can tell."""
    is_clock = plain(name) in _CLOCKS
    if rate_hz:
        return min(rate_hz, 1e9 / _LEAST_CLOCK_NS) if is_clock else rate_hz
    return 1e9 / max(period, _LEAST_CLOCK_NS) if period and is_clock else None


def attr_rate(name: str, attr: Attr) -> float | None:
    is_frequency = bool(attr.flags & Flag.FREQ)
    value = int(attr.sample_period)
    return rate_of(name, float(value) if is_frequency else None, None if is_frequency else value)
