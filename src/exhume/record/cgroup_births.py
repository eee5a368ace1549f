"""Counts memory cgroups made, removed and let go, by name with ids and digits folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from exhume.host import Host
from exhume.model.reading import Reading
from exhume.sampler.cgroup_watch import CgroupWatch
from exhume.sampler.syscall import OpenEvent
from exhume.sampler.tracepoints import Tracepoint
from exhume.sources import cgroups
from exhume.sources.cgroup_inotify import CgroupInotify
from exhume.sources.cgroup_names import normalise

MAX_NAMES = 200
OTHERS = "(others)"
REPEAT_TICKS = 60
_FIELDS = {"mkdir": "memcg.births", "rmdir": "memcg.removals", "release": "memcg.releases"}


class CgroupBirths:
    """By tracepoints once they are known; by inotify where there are none."""

    def __init__(self, host: Host, open_event: OpenEvent) -> None:
        self._host = host
        self._open_event = open_event
        self._watch: CgroupWatch | None = None
        self._inotify: CgroupInotify | None = None
        self._hierarchy: int | None = None
        self._names: dict[str, int] = {OTHERS: 0}
        """Told at once, as 0: what comes later is then known to have begun at 0, too."""
        self._is_told = False
        self._counts = {what: Counter[str]() for what in _FIELDS}
        self._since_told = 0
        self._failed = ""

    def use_tracepoints(self, points: tuple[Tracepoint, ...]) -> None:
        controllers = cgroups.read(self._host) or {}
        memory = controllers.get("memory")
        # Without a line in /proc/cgroups (7.0 and later) memory is on the unified hierarchy.
        self._hierarchy = memory.hierarchy if memory is not None else 0
        self._watch = CgroupWatch(points, self._open_event)

    def use_inotify(self) -> None:
        self._inotify = CgroupInotify(self._host)

    def tick(self, cores: Iterable[int]) -> list[Reading]:
        """Reads what happened; tells when something did, and once a minute anyway."""
        try:
            changed = self._count(cores)
        except OSError as error:
            self._failed = f"they are not seen: {error.strerror or error}"
            self.close()
            return []
        if self._watch is None and self._inotify is None:
            return []
        self._since_told += 1
        if self._is_told and not changed and self._since_told < REPEAT_TICKS:
            return []
        self._is_told, self._since_told = True, 0
        names = tuple(self._names)
        return [
            Reading(field, names, np.array([self._counts[what][name] for name in names], np.int64))
            for what, field in _FIELDS.items()
        ]

    def _count(self, cores: Iterable[int]) -> bool:
        happened: list[tuple[str, str]] = []
        if self._watch is not None:
            self._watch.watch(cores)
            events = self._watch.drain()
            happened = [(e.what, e.path) for e in events if e.hierarchy == self._hierarchy]
        elif self._inotify is not None:
            happened = self._inotify.read() or []
        for what, path in happened:
            name = normalise(path)
            if name not in self._names:
                if len(self._names) >= MAX_NAMES:
                    name = OTHERS
                self._names.setdefault(name, len(self._names))
            self._counts[what][name] += 1
        return bool(happened)

    @property
    def problem(self) -> str:
        """For `exhume status`; empty while every birth is counted."""
        lost = f"{self.lost} births and removals came too fast: the counts by name are too low"
        return self._failed or (lost if self.lost else "")

    @property
    def lost(self) -> int:
        return (self._watch.lost if self._watch else 0) + (
            self._inotify.lost if self._inotify else 0
        )

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None
