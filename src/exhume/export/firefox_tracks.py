"""Which tracks a Firefox profile has: the cores, and the threads by process."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive.printable import printable
from exhume.export.crowds import crowd_name, crowds
from exhume.export.names import process_names
from exhume.model.arrays import I64
from exhume.model.core import NO_CORE
from exhume.model.ids import told_id
from exhume.model.profile import Profile

MAX_TRACKS = 300
"""Threads beyond this share a track with others of their name: the page is slow with thousands."""
ANY_CORE = "core not known"


class Track(Struct, frozen=True):
    name: str
    process: str
    pid: str
    tid: str | int
    is_main: bool
    rows: I64
    """Its samples, in order of time."""
    core_ns: int


def core_tracks(profile: Profile) -> list[Track]:
    node = printable(profile.tables.node) or "node"
    samples = profile.samples
    cores, number = np.unique(samples.core, return_inverse=True)
    took = np.bincount(number, samples.weight_ns, len(cores))
    return [
        Track(
            name=ANY_CORE if core == NO_CORE else f"core {core}",
            process=node,
            pid="node",
            tid=f"core {core}",
            is_main=False,
            rows=np.flatnonzero(number == index),
            core_ns=int(took[index]),
        )
        for index, core in enumerate(cores.tolist())
    ]


def thread_tracks(profile: Profile) -> list[Track]:
    """By process, those with most core time first; in each the main thread first."""
    samples, threads = profile.samples, profile.tables.threads
    order = np.argsort(samples.thread, kind="stable")
    starts = np.searchsorted(samples.thread[order], np.arange(len(threads) + 1))
    # A thread that only moved to another cgroup goes on in the same track.
    rows: dict[tuple[str, int, int, str], list[I64]] = defaultdict(list)
    process: dict[tuple[str, int, int, str], str] = {}
    for index, (thread, name) in enumerate(zip(threads, process_names(threads), strict=True)):
        key = thread.boot_id, thread.pid, thread.tid, thread.comm
        rows[key].append(order[starts[index] : starts[index + 1]])
        process[key] = name
    boots = list(dict.fromkeys(boot for boot, *_ in rows))
    process_ns: dict[str, int] = defaultdict(int)
    found: list[Track] = []
    for (boot, pid, tid, comm), parts in rows.items():
        own = np.sort(np.concatenate(parts))
        name, took = process[boot, pid, tid, comm], int(samples.weight_ns[own].sum())
        # Tracks of one process are told by it, so one whose number nobody told has its name there.
        number = f"{pid}" if told_id(pid) is not None else f"? {name}"
        number = number if boot == boots[0] else f"{number}.{boots.index(boot)}"
        own_number = tid if told_id(tid) is not None else f"? {printable(comm)}"
        found.append(Track(printable(comm), name, number, own_number, pid == tid, own, took))
        process_ns[number] += took
    alone, together = _crowded(found)
    alone.sort(key=lambda t: (-process_ns[t.pid], t.pid, not t.is_main, -t.core_ns))
    return [*_one_main_each(alone), *together]


def _crowded(tracks: list[Track]) -> tuple[list[Track], list[Track]]:
    """Those that keep a track of their own, and the others by name."""
    groups = crowds([track.name for track in tracks], [t.core_ns for t in tracks], MAX_TRACKS)
    alone = [tracks[group[0]] for group in groups if len(group) == 1]
    together = [
        Track(
            name=crowd_name([tracks[index].name for index in group], "threads"),
            process="many and small",
            pid="crowds",
            tid=f"crowd {number}",
            is_main=False,
            rows=np.sort(np.concatenate([tracks[index].rows for index in group])),
            core_ns=sum(tracks[index].core_ns for index in group),
        )
        for number, group in enumerate(groups)
        if len(group) > 1
    ]
    return alone, together


def _one_main_each(tracks: list[Track]) -> list[Track]:
    """An exec gives a main thread a second name, and a process can have one main track only."""
    seen: set[str] = set()
    kept = []
    for track in tracks:
        is_main = track.is_main and track.pid not in seen
        seen.update([track.pid] if is_main else [])
        kept.append(replace(track, is_main=is_main))
    return kept
