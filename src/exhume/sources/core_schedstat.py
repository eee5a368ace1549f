"""/proc/schedstat: how long threads waited for each core while others ran on it.

Only there with CONFIG_SCHEDSTATS, and it counts only where kernel.sched_schedstats is 1. With its
lines of scheduling domains it is long, so it is not recorded; copies of it can be imported.
"""

from __future__ import annotations

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources.scan import number

PATH = "proc/schedstat"
# `cpu0 0 0 79 19 40 19 2668369192 734249026 1008`: the last three are the time threads ran, the
# time they waited, and slices (Documentation/scheduler/sched-stats.rst).
_OLDEST = 15
_COLUMNS = 10
_RUN_DELAY = 8


class CoreWait(Struct, frozen=True):
    core: int
    run_delay_ns: int


def read(host: Host) -> tuple[CoreWait, ...] | None:
    text = host.read_proc("schedstat")
    return None if text is None else parse(text)


def parse(text: str) -> tuple[CoreWait, ...]:
    lines = text.splitlines()
    if not lines or not lines[0].startswith("version "):
        raise ParseError(PATH, 1, "`version N`")
    if number(lines[0].removeprefix("version "), PATH, 1) < _OLDEST:
        raise ParseError(PATH, 1, f"version {_OLDEST} or later")
    found = []
    for index, line in enumerate(lines, 1):
        if not line.startswith("cpu"):
            continue
        columns = line.split()
        if len(columns) < _COLUMNS:
            raise ParseError(PATH, index, "`cpuN` and nine numbers")
        core = number(columns[0][3:], PATH, index)
        found.append(CoreWait(core, number(columns[_RUN_DELAY], PATH, index)))
    if not found or len({one.core for one in found}) != len(found):
        raise ParseError(PATH, len(lines), "one line a core")
    return tuple(found)


def readings(waits: tuple[CoreWait, ...]) -> tuple[Reading, ...]:
    names = tuple(str(one.core) for one in waits)
    return (Reading.of_each("cpu.run_delay_ns", names, [one.run_delay_ns for one in waits]),)
