"""Copies of cpu.stat of cgroups → how often, and how long, each was stopped by its CPU limit."""

from __future__ import annotations

import re

from msgspec import Struct, field

from exhume.ingest.snapshots_sections import Section
from exhume.model.reading import Reading
from exhume.sources import cpu_bandwidth
from exhume.sources.scan import number, pairs

KIND = "cpu.stat"
_FIELDS = {
    "nr_periods": ("cgroup.cpu_periods", 1),
    "nr_throttled": ("cgroup.cpu_throttled", 1),
    "throttled_usec": ("cgroup.cpu_throttled_ns", 1000),  # v2
    "throttled_time": ("cgroup.cpu_throttled_ns", 1),  # v1
}
"""What each line tells; `grep throttled` leaves some of them."""
# Up to where the hierarchy is mounted; a path that is not absolute begins there.
_ROOT = re.compile(
    r"^(?:\S*/cgroup2?(?:/(?:cpu|cpuacct|cpu,cpuacct|cpuacct,cpu|unified)(?=/|$))?|\.)(?=/|$)"
)
_PATH = re.compile(r"[^\s'\"<>=|;]*/[^\s'\"<>=|;]*")
_OWN_FILE = re.compile(r"(?:^|/)cpu\.stat$")
_FILE_WORDS = re.compile(
    r"(?:[._-]|^)(?:sys[._-]fs[._-]cgroup|cpu[._]stat|txt|log|out)(?=[._-]|$)", re.I
)
# Files of one container, each of a time of its own.
_FILE_TIME = re.compile(
    r"[._-]?(?<!\d)(?:20\d\d-?\d\d-?\d\d(?:[T_-]?\d\d[:.-]?\d\d(?:[:.-]?\d\d)?)?Z?|1\d{9}(?:\.\d+)?)"
    r"(?!\d)|\.\d+$"
)
_LOCAL = "cpu.stat.local"
_OF_ITSELF = "cpu.stat of the same cgroup tells of limits above it, too"
_MOST_AT_ZERO = 100
_NO_LIMIT = "they tell of no CPU limit: it has none, or nothing ran in it"
_UNTOLD = "nothing above them says of which cgroup they are: put its path there"
TOO_MANY = f"more than {cpu_bandwidth.MAX_FOLLOWED} cgroups with a CPU limit: the first are kept"


class ThrottlingLooks(Struct):
    """Gathers what stands below one mark: a table has one reading of a time."""

    _here: dict[str, dict[str, int]] = field(default_factory=dict)
    _followed: dict[str, None] = field(default_factory=dict)

    def look(self, section: Section, hint: str, *, is_alone: bool) -> str:
        """Why it does not count, if so. Raises ParseError where it is torn.

        `hint`: what the mark and the file's name say of a copy without a heading of its own.
        """
        found = pairs(section.text.decode("utf-8", "replace"), KIND)
        told = {
            name: number(found[line], KIND, line) * factor
            for line, (name, factor) in _FIELDS.items()
            if line in found
        }
        # The root of v2 has none of them, and without a limit all stay 0. Where nobody copied the
        # periods one that was not stopped yet may have a limit: that it was not is worth to know.
        is_at_zero = not any(told.values())
        has_room = "nr_periods" not in found and len(self._followed) < _MOST_AT_ZERO
        if not told or (is_at_zero and not has_room):
            return _NO_LIMIT
        if _LOCAL in section.hint:
            return _OF_ITSELF
        name = _name_of(section.hint, hint, is_alone=is_alone)
        if name in self._here:  # v1 has each path twice, by a link
            return "" if name.startswith("/") else _UNTOLD
        if name not in self._followed and len(self._followed) >= cpu_bandwidth.MAX_FOLLOWED:
            return TOO_MANY
        self._followed[name] = None
        self._here[name] = told
        return ""

    def take(self) -> tuple[Reading, ...]:
        here, self._here = self._here, {}
        fields = dict.fromkeys(field for told in here.values() for field in told)
        return tuple(
            Reading.of_each(one, tuple(here), [told.get(one) for told in here.values()])
            for one in fields
        )


def _name_of(heading: str, hint: str, *, is_alone: bool) -> str:
    """Its path below the hierarchy's root, as the recorder names cgroups.

    In a container its own cgroup is the root: there the name of the file tells whose it is, and no
    path stands for it, so that nothing is taken to be below it.
    """
    for text in (heading, hint) if is_alone else (heading,):
        for path in reversed(_PATH.findall(text)):
            below = _ROOT.sub("", _OWN_FILE.sub("", path.rstrip(":,"))).strip("/")
            if below:
                return "/" + below
    name = _FILE_WORDS.sub("", _FILE_TIME.sub("", hint.split(" ")[-1])).strip("._-")
    return name or "container"
