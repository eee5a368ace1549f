"""cpu.stat of each cgroup with a CPU limit: how often, and how long, it was throttled.

Most cgroups have no limit and their counts stay 0. A bounded walk finds those that have one, and
only these are read afterwards. It is taken as often as its own cost allows: a limit that throttles
from the first second on may kill its job within half a minute.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host, read_line, read_text
from exhume.model.reading import Reading
from exhume.sources.cgroup_tree import Walk, find
from exhume.sources.scan import number, pairs

PATH = "cpu.stat"
LIMITS = ("cpu.max", "cpu.cfs_quota_us")
"""v2, v1. Reading them is cheap, while cpu.stat of v2 sums up all cores first (rstat)."""
NO_LIMIT = ("max", "-1")
FEW = 1_000
FEW_AGAIN_NS = 60_000_000_000
"""So few are looked at after a minute, however long it took: on a full core that is no cost."""
STEP_NS = 20_000_000
MAX_DUTY_RATIO = 0.0005
MAX_FOLLOWED = 500


class Bandwidth(Struct, frozen=True):
    periods_total: int
    throttled_total: int
    """Periods in which it was stopped for having used up its quota."""
    throttled_ns: int


class BandwidthReader(Struct):
    """Reads the limited cgroups it knows; looks for new ones whenever it can, a stretch at a
    time."""

    host: Host
    left_out: int = 0
    _known: dict[str, Path] = field(default_factory=dict)
    _walk: Walk | None = None
    _to_look_at: list[str] = field(default_factory=list)
    _next_look_ns: int = 0
    _folders: int = 0
    _has_looked: bool = False
    """At every cgroup, once."""

    def read(self) -> dict[str, Bandwidth] | None:
        """By path below the hierarchy's root. None where there is no cpu controller."""
        tree = find(self.host, "cpu")
        if tree is None:
            return None
        self._look(tree.root)
        found: dict[str, Bandwidth] = {}
        for name, folder in list(self._known.items()):
            stat = read(folder)
            if stat is None:
                del self._known[name]
            else:
                found[name] = stat
        return found

    def _look(self, root: Path) -> None:
        now = self.host.clock.monotonic_ns()
        if now < self._next_look_ns:
            return
        if self._walk is None and not self._to_look_at:
            self._walk, self.left_out = Walk(root), 0
        if self._walk is not None:
            self._walk.step(self.host, STEP_NS)
            if self._walk.is_done:
                self._to_look_at, self._walk = self._walk.folders, None
                self._folders = len(self._to_look_at)
        while self._to_look_at and self.host.clock.monotonic_ns() - now < STEP_NS:
            self._consider(root, self._to_look_at.pop())
        is_done = self._walk is None and not self._to_look_at
        rest = int((self.host.clock.monotonic_ns() - now) / MAX_DUTY_RATIO)
        self._has_looked |= is_done
        if not self._has_looked:  # the first look of all is not put off: nothing is known yet
            rest = 0
        elif is_done and self._folders <= FEW:
            rest = min(rest, FEW_AGAIN_NS)
        self._next_look_ns = now + rest

    def _consider(self, root: Path, folder: str) -> None:
        name = folder[len(str(root)) :] or "/"
        if name in self._known:
            return
        limit = limit_of(folder)
        if limit in NO_LIMIT:
            return
        stat = read(Path(folder))
        if stat is None or (limit is None and stat.periods_total == 0):
            return
        if len(self._known) >= MAX_FOLLOWED:
            self.left_out += 1
        else:
            self._known[name] = Path(folder)


def limit_of(folder: str) -> str | None:
    """Its first word: `max` or `-1` where there is none; None where the file isn't offered."""
    for name in LIMITS:
        line = read_line(f"{folder}/{name}")
        if line is not None:
            words = line.split()
            return words[0].decode("utf-8", "replace") if words else None
    return None


def read(folder: Path) -> Bandwidth | None:
    text = read_text(folder / "cpu.stat")
    return None if text is None else parse(text)


def parse(text: str) -> Bandwidth | None:
    """None for the root of v2, which can't be limited and has only usage."""
    found = pairs(text, PATH)
    if "nr_throttled" not in found:
        return None
    if "throttled_usec" in found:  # v2
        throttled_ns = number(found["throttled_usec"], PATH, "throttled_usec") * 1000
    elif "throttled_time" in found:  # v1
        throttled_ns = number(found["throttled_time"], PATH, "throttled_time")
    else:
        raise ParseError(PATH, "whole file", "throttled_usec or throttled_time")
    return Bandwidth(
        number(found.get("nr_periods", ""), PATH, "nr_periods"),
        number(found["nr_throttled"], PATH, "nr_throttled"),
        throttled_ns,
    )


def readings(throttling: dict[str, Bandwidth]) -> tuple[Reading, ...]:
    if not throttling:
        return ()
    names = tuple(throttling)
    of = list(throttling.values())
    return (
        Reading.of_each("cgroup.cpu_periods", names, [one.periods_total for one in of]),
        Reading.of_each("cgroup.cpu_throttled", names, [one.throttled_total for one in of]),
        Reading.of_each("cgroup.cpu_throttled_ns", names, [one.throttled_ns for one in of]),
    )
