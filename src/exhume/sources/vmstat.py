"""/proc/vmstat: page faults, reclaim, compaction, swap, huge pages, OOM kills, dropped caches."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sources.scan import key_values, whole_numbers

PATH = "proc/vmstat"

# What is recorded: field, and the keys that are summed. A key ending in `_` stands for all that
# begin with it: reclaim and stalls were counted by zone (pgscan_kswapd_normal) before 4.8, stalls
# (allocstall_normal) since then; refaults were split into anon and file in 5.9.
CHOSEN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("vmstat.pgfault", ("pgfault",)),
    ("vmstat.pgmajfault", ("pgmajfault",)),
    ("vmstat.pgpgin", ("pgpgin",)),
    ("vmstat.pgpgout", ("pgpgout",)),
    ("vmstat.pswpin", ("pswpin",)),
    ("vmstat.pswpout", ("pswpout",)),
    ("vmstat.pgscan_kswapd", ("pgscan_kswapd", "pgscan_kswapd_")),
    ("vmstat.pgscan_direct", ("pgscan_direct", "pgscan_direct_")),
    ("vmstat.pgsteal_kswapd", ("pgsteal_kswapd", "pgsteal_kswapd_")),
    ("vmstat.pgsteal_direct", ("pgsteal_direct", "pgsteal_direct_")),
    ("vmstat.allocstall", ("allocstall", "allocstall_")),
    ("vmstat.slabs_scanned", ("slabs_scanned",)),
    ("vmstat.workingset_refault", ("workingset_refault", "workingset_refault_")),
    ("vmstat.compact_stall", ("compact_stall",)),
    ("vmstat.compact_fail", ("compact_fail",)),
    ("vmstat.compact_success", ("compact_success",)),
    ("vmstat.compact_migrate_scanned", ("compact_migrate_scanned",)),
    ("vmstat.compact_free_scanned", ("compact_free_scanned",)),
    ("vmstat.compact_daemon_wake", ("compact_daemon_wake",)),
    ("vmstat.pgmigrate_success", ("pgmigrate_success",)),
    ("vmstat.numa_pages_migrated", ("numa_pages_migrated",)),
    ("vmstat.thp_fault_alloc", ("thp_fault_alloc",)),
    ("vmstat.thp_fault_fallback", ("thp_fault_fallback",)),
    ("vmstat.thp_collapse_alloc", ("thp_collapse_alloc",)),
    ("vmstat.thp_split_page", ("thp_split_page",)),
    ("vmstat.drop_pagecache", ("drop_pagecache",)),
    ("vmstat.drop_slab", ("drop_slab",)),
    ("vmstat.oom_kill", ("oom_kill",)),
)
# pgscan_direct_throttle counts throttled tasks, not pages; it is no zone.
_NO_ZONE = ("pgscan_direct_throttle",)


class VmStat(Struct, frozen=True):
    values: tuple[int | None, ...]
    """In the order of CHOSEN; None where this kernel has no such key."""


def read(host: Host) -> VmStat | None:
    text = host.read_proc("vmstat")
    return None if text is None else parse(text)


def parse(text: str) -> VmStat:
    keys, values = key_values(text, PATH)
    fields = _places(tuple(keys))
    chosen = [values[at] for places in fields for at in places]
    if not whole_numbers(chosen):
        wrong = next(at for places in fields for at in places if not whole_numbers([values[at]]))
        raise ParseError(PATH, keys[wrong], "a number")
    return VmStat(
        tuple(
            int(values[places[0]])
            if len(places) == 1
            else (sum(int(values[at]) for at in places) if places else None)
            for places in fields
        )
    )


def readings(stat: VmStat) -> tuple[Reading, ...]:
    found = zip(CHOSEN, stat.values, strict=True)
    return Reading.of_nodes({field: value for (field, _), value in found if value is not None})


_PREFIXES = tuple(key for _, keys in CHOSEN for key in keys if key.endswith("_"))


@lru_cache(maxsize=2)
def _places(keys: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Where the lines of each field are: in one kernel always at the same places."""
    at = {key: place for place, key in enumerate(keys)}
    zoned = [key for key in at if key.startswith(_PREFIXES) and key not in _NO_ZONE]
    found = []
    for _, (plain, *prefix) in CHOSEN:
        names = [key for key in zoned if key.startswith(prefix[0])] if prefix else []
        found.append((at[plain],) if plain in at else tuple(at[name] for name in names))
    return tuple(found)
