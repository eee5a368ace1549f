"""Names of columns, as people choose them → fields of the catalogue and what a number is worth.

`memory_cgroups`, `live_memory_dirs`, `percpu_kB`; also the ids of the catalogue themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from exhume.model.fields import BY_ID
from exhume.sources import meminfo, vmstat

_UNIT = re.compile(
    r"^(?P<name>.{1,200}?)[ _.(\[]*(?<![a-z])"
    r"(?P<unit>bytes|kib|kb|mib|mb|gib|gb|pages|ns|usec|us|msec|ms|seconds|secs|sec|s)[)\]]?$"
)
_BYTES = {
    "bytes": 1, "kib": 1 << 10, "kb": 1 << 10, "mib": 1 << 20, "mb": 1 << 20, "gib": 1 << 30,
    "gb": 1 << 30,
}  # fmt: skip
_NANOSECONDS = {
    "ns": 1, "us": 1_000, "usec": 1_000, "ms": 1_000_000, "msec": 1_000_000, "s": 10**9,
    "sec": 10**9, "secs": 10**9, "seconds": 10**9,
}  # fmt: skip
_CGROUP = r"(?:mem(?:ory)?_?c?groups?|memcgs?)"
# What people call it → the field, on names without units, in lower case, with `_` between words.
_CALLED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), field)
    for pattern, field in (
        (rf"(?:live|visible|real)(?:_(?:{_CGROUP}|memory|cgroups?))?(?:_(?:dirs?|directories|count))?",
         "memcg.live"),
        (rf"(?:{_CGROUP}|memory|cgroups?)_(?:live|dirs?|directories)", "memcg.live"),
        (r"(?:num_|nr_|n_)?(?:dirs|directories)(?:_count)?", "memcg.live"),
        (rf"(?:nr_)?(?:dying|zombies?|dead)(?:_(?:{_CGROUP}|cgroups?|descendants|count))?",
         "memcg.zombies"),
        (rf"(?:{_CGROUP}|cgroups?)_(?:dying|zombies?|dead)", "memcg.zombies"),
        (rf"(?:nr_|num_|proc_|tracked_)?{_CGROUP}(?:_(?:tracked|total|count|num|nr))?",
         "memcg.tracked"),
        (r"(?:num_|proc_)cgroups(?:_memory)?|cgroups_memory|tracked", "memcg.tracked"),
        (r"empty_(?:cgroups?|dirs?)", "memcg.empty"),
        (r"(?:procs_)?(?:running|runnable)(?:_(?:threads|tasks|procs))?", "system.running"),
        (r"(?:procs_)?blocked(?:_(?:threads|tasks|procs))?", "system.blocked"),
        (r"ctxt|context_switches|cswch", "system.context_switches"),
        (r"forks|processes_created", "system.forks"),
        (r"containers(?:_total)?", "container.total"),
        (r"(?:containers_running|running_containers)", "container.running"),
        (r"(?:mem_?)?available(?:_memory)?", "memory.available_bytes"),
        (r"free_memory|memory_free", "memory.free_bytes"),
        (r"per_?cpu(?:_memory)?", "memory.percpu_bytes"),
        (r"slab_unreclaimable|unreclaimable_slab", "memory.slab_unreclaimable_bytes"),
        (r"slab_reclaimable|reclaimable_slab", "memory.slab_reclaimable_bytes"),
    )
)  # fmt: skip
_CGROUPS = re.compile(r"(?i:#? ?(?:num_|nr_|n_)?cgroups?(?:[ _](?:count|total))?)")
_PRESSURE = re.compile(r"(?:psi|pressure)_(cpu|memory|mem|io|irq)_(some|full)(?:_total)?")
_MEMINFO = {key.lower(): field for field, key in meminfo.CHOSEN}
_VMSTAT = {keys[0]: field for field, keys in vmstat.CHOSEN}
_WORDS = re.compile(r"[^a-z0-9]+")


class Column(Struct, frozen=True):
    field: str
    factor: float
    """What a number in it is multiplied with."""
    note: str = ""
    """What was assumed."""


def columns_of(headers: Sequence[str]) -> dict[int, Column]:
    """By their place in the table, those that somebody knows."""
    found = {index: column for index, one in enumerate(headers) if (column := column_of(one))}
    known = {column.field for column in found.values()}
    if "memcg.live" in known and not known & {"memcg.tracked", "memcg.zombies"}:
        # Beside the directories of memory cgroups it is these that are counted.
        places = (index for index, one in enumerate(headers) if _CGROUPS.fullmatch(one.strip()))
        found |= {index: Column("memcg.tracked", 1.0) for index in islice(places, 1)}
    return found


@lru_cache(maxsize=1024)  # each copy of a file has the same names
def column_of(header: str) -> Column | None:
    """None where nobody knows what it is."""
    name = header.strip().strip("#\ufeff").strip()
    if name in BY_ID:
        return Column(name, 1.0) if not BY_ID[name].instance else None
    lower = name.lower()
    found = _UNIT.match(lower)
    for text, unit in ((lower, ""), (found["name"], found["unit"]) if found else ("", "")):
        if text and (field := _field(_WORDS.sub("_", text).strip("_"))):
            return _with_unit(field, unit, header)
    return None


def _field(name: str) -> str:
    for field in BY_ID.values():
        if not field.instance and name in (_plain(field.id), _plain(field.id).rpartition("_")[0]):
            known = field.id.endswith(("_bytes", "_us", "_ns"))
            if name == _plain(field.id) or known:
                return field.id
    if name in _MEMINFO or name in _VMSTAT:
        return _MEMINFO.get(name) or _VMSTAT[name]
    if found := _PRESSURE.fullmatch(name):
        resource = {"mem": "memory"}.get(found[1], found[1])
        field_id = f"pressure.{resource}.{found[2]}_us"
        return field_id if field_id in BY_ID else ""
    return next((field for pattern, field in _CALLED if pattern.fullmatch(name)), "")


def _plain(field_id: str) -> str:
    return field_id.replace(".", "_")


def _with_unit(field_id: str, unit: str, header: str) -> Column | None:
    own = BY_ID[field_id].unit
    if own == "bytes":
        if unit in _BYTES:
            return Column(field_id, _BYTES[unit])
        if unit:
            return None
        if field_id.rpartition(".")[2] in _WORDS.sub("_", header.lower()):
            return Column(field_id, 1.0)
        return Column(field_id, 1024.0, f"{header} is taken as kB, as in /proc/meminfo")
    if own in ("microseconds", "nanoseconds"):
        per_unit = 1_000 if own == "microseconds" else 1
        if unit in _NANOSECONDS:
            return Column(field_id, _NANOSECONDS[unit] / per_unit)
        return None if unit else Column(field_id, 1.0)
    # Of counts only one that is no amount of memory or time.
    return None if unit and unit != "pages" else Column(field_id, 1.0)
