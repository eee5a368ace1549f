"""/proc/stat: what each core spent its time on, and the node's context switches and forks.

Only online cores have a line. The first line sums *possible* cores, so it is not kept: it would
jump when a core goes off line.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.model.arrays import I32, I64
from exhume.model.fields import CPU_MODES
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.sources.scan import core_names

_FIELDS = tuple(f"cpu.{mode}" for mode in CPU_MODES)
_NEEDED_COLUMNS = 4
"""user, nice, system and idle are as old as the file; the others came one by one."""
_INT64_MAX = np.iinfo(np.int64).max


class CpuTimes(Struct, frozen=True):
    cores: I32
    """Numbers of the online cores, ascending."""
    values: I64
    """Shape (cores, len(CPU_MODES)), in jiffies; MISSING in columns this kernel does not have."""
    boot_time_seconds: int | None
    context_switches_total: int | None
    forks_total: int | None
    running_count: int | None
    blocked_count: int | None


def read(host: Host) -> CpuTimes | None:
    data = read_bytes(f"{host.proc}/stat")
    return None if data is None else parse(data)


def online_cores(host: Host) -> tuple[int, ...]:
    times = read(host)
    return () if times is None else tuple(times.cores.tolist())


def parse(text: bytes) -> CpuTimes:
    # In bulk: 256 cores have 2,816 numbers, and this runs every second.
    start = text.find(b"\n") + 1
    if not text.startswith(b"cpu ") or start == 0:
        raise ParseError("proc/stat", 1, "the sum over all cores, `cpu  user nice system …`")
    end = start
    if text.startswith(b"cpu", start):
        end = text.rfind(b"\ncpu") + 1
        end = text.find(b"\n", end) + 1 or len(text)
    cores, values = _core_lines(text[start:end])
    rest = _scalars(text[end:])
    return CpuTimes(
        cores=cores,
        values=values,
        boot_time_seconds=rest.get(b"btime"),
        context_switches_total=rest.get(b"ctxt"),
        forks_total=rest.get(b"processes"),
        running_count=rest.get(b"procs_running"),
        blocked_count=rest.get(b"procs_blocked"),
    )


def readings(times: CpuTimes) -> tuple[Reading, ...]:
    instances = core_names(tuple(times.cores.tolist()))
    columns = np.ascontiguousarray(times.values.T)
    modes = (Reading(field, instances, columns[i]) for i, field in enumerate(_FIELDS))
    return (
        *modes,
        *Reading.of_nodes(
            {
                "system.context_switches": times.context_switches_total,
                "system.forks": times.forks_total,
                "system.running": times.running_count,
                "system.blocked": times.blocked_count,
            }
        ),
    )


def _core_lines(body: bytes) -> tuple[I32, I64]:
    digits = body.replace(b"cpu", b"")
    if b"\n" not in digits or digits.translate(None, b"0123456789 \n"):
        raise ParseError("proc/stat", 2, "lines `cpuN user nice system idle …`")
    # A single space after every number but the last of a line: so the counts prove the shape.
    spaces = [line.count(b" ") for line in digits.split(b"\n")[:-1]]
    rows, columns = len(spaces), spaces[0] + 1
    for index, found in enumerate(spaces, 2):
        if found != columns - 1:
            raise ParseError("proc/stat", index, f"{columns - 1} numbers after the core")
    flat = np.fromstring(digits, np.int64, sep=" ")
    if columns <= _NEEDED_COLUMNS or len(flat) != rows * columns:
        raise ParseError("proc/stat", 2, "the same numbers for each core, four or more")
    table = flat.reshape(rows, columns)
    cores = table[:, 0].tolist()
    if cores != sorted(set(cores)) or cores[-1] > 1 << 20 or flat.max() == _INT64_MAX:
        raise ParseError("proc/stat", 2, "ascending core numbers and times that fit 63 bits")
    known = min(columns - 1, len(CPU_MODES))
    values = table[:, 1 : known + 1]
    if known < len(CPU_MODES):
        values = np.full((rows, len(CPU_MODES)), MISSING, np.int64)
        values[:, :known] = table[:, 1 : known + 1]
    return np.array(cores, np.int32), values


def _scalars(rest: bytes) -> dict[bytes, int]:
    """The one-number lines after the cores; `intr` and `softirq` have files of their own."""
    found: dict[bytes, int] = {}
    for line in rest.splitlines():
        key, _, value = line.partition(b" ")
        if key in (b"intr", b"softirq") or not value:
            continue
        if not value.isdigit() or len(value) > 18:
            raise ParseError("proc/stat", key.decode("utf-8", "replace"), "one number")
        found[key] = int(value)
    return found
