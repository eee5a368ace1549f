"""Raw /proc files out of a snapshot → readings, by the parsers that the recorder uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.ingest import snapshots_cgroups, snapshots_ethtool
from exhume.ingest.docker_ps import DockerLooks
from exhume.ingest.snapshots_interrupts import InterruptLooks
from exhume.ingest.snapshots_sections import Section, named_values
from exhume.ingest.snapshots_throttling import KIND as CPU_STAT
from exhume.ingest.snapshots_throttling import ThrottlingLooks
from exhume.ingest.systemctl import LIST_PATH, SHOW_PATH, UnitLooks, parse_list, parse_show
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.sources import (
    cgroups,
    core_schedstat,
    cpu,
    loadavg,
    meminfo,
    pressure,
    softirqs,
    softnet,
    vmstat,
)
from exhume.sources.scan import number

Looked = tuple[tuple[Reading, ...], tuple[Event, ...]]

_RESOURCE = re.compile(r"(?<![a-z])(cpu|memory|mem|io|irq)(?![a-z])")
_COUNTED = (
    (re.compile(r"zombie|dying"), "memcg.zombies"),
    (re.compile(r"(?<![a-z])proc[/_.-]cgroups|num_cgroups|tracked"), "memcg.tracked"),
    # `find . -type d | wc -l`; of a path only where that is known to be of cgroups
    (
        re.compile(r"live|dir|cgroup|memcg|find[ _.-]+(?![/~])[^|]*type[ _.-]?d(?![a-z])"),
        "memcg.live",
    ),
)
_COMMAND = re.compile(r"\bwc\b|\|")
"""Of a heading that says what was counted: `docker ps -a | wc -l`."""
_UNIT = re.compile(r"[\w:\\.@-]{1,255}\.service")
_ORDERED = {3: ("cpu", "io", "memory"), 4: ("cpu", "io", "irq", "memory")}
"""`cat /proc/pressure/*` gives them by name."""
_FIXED = frozenset(
    {"stat", "softirqs", "interrupts", "meminfo", "vmstat", "cgroups", "cgroup.stat", "schedstat"}
)
"""Kinds whose lines stay the same: one that has only the first of them was cut short."""

_UNTOLD = "neither mark nor name say of what"
_OF_A_PART = "of a cgroup below the root, not of the node"
_OF_OTHERS = "not of all memory cgroups: `find /sys/fs/cgroup/memory -type d | wc -l` counts them"


class Moment(Struct, frozen=True):
    """When a block was copied."""

    wall_ns: int
    uptime_ns: int | None
    hint: str
    """A path in its mark, and the name of the file: which of several kinds alike it may be."""


class Looks(Struct):
    """Reads block after block."""

    passed_over: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many sections of a kind were not taken, by kind and reason."""
    guessed: bool = False
    """Whether the kinds of pressure were told by their order."""
    _docker: DockerLooks = field(default_factory=DockerLooks)
    _units: UnitLooks = field(default_factory=UnitLooks)
    _interrupts: InterruptLooks = field(default_factory=InterruptLooks)
    _throttling: ThrottlingLooks = field(default_factory=ThrottlingLooks)
    _keys: dict[str, tuple[bytes, ...]] = field(default_factory=dict)

    def look(self, section: Section, moment: Moment, block: Sequence[Section]) -> Looked:
        """Raises ParseError where it is torn. `block`: all that is below the same mark."""
        self._refuse_torn(section)
        text = section.text
        if section.kind == "docker ps":
            return self._docker.look(text, moment.wall_ns)
        if section.kind == LIST_PATH:
            return self._units.look(parse_list(text), LIST_PATH, moment.wall_ns)
        if section.kind == SHOW_PATH:
            name = _UNIT.search(f"{section.hint} {moment.hint}")
            shown = parse_show(text, name[0] if name else "", _to_wall_us(moment))
            return self._units.look(shown, SHOW_PATH, moment.wall_ns)
        if section.kind == "pressure":
            alike = [one for one in block if one.kind == section.kind]
            return self._pressure(section, moment, alike), ()
        if section.kind == snapshots_cgroups.KIND:
            return self._cgroup_stat(section, moment, block), ()
        if section.kind == snapshots_ethtool.KIND:
            return self._ethtool(section, moment, block), ()
        if section.kind == CPU_STAT:
            is_alone = sum(one.kind == CPU_STAT for one in block) == 1
            if why := self._throttling.look(section, moment.hint, is_alone=is_alone):
                self._pass_over(section, why)
            return (), ()
        if section.kind == "count":
            return self._count(section, moment, block), ()
        if section.kind == "value":
            return _values(text), ()
        if section.kind == "interrupts":
            return self._interrupts.look(text), ()
        return _READ[section.kind](text), ()

    def gathered(self) -> tuple[Reading, ...]:
        """What several sections of the last block tell together."""
        return self._throttling.take()

    def _refuse_torn(self, section: Section) -> None:
        if section.kind not in _FIXED:
            return
        keys = tuple(line.split(None, 1)[0] for line in section.text.split(b"\n") if line.strip())
        before = self._keys.get(section.kind, ())
        if len(keys) < len(before) and before[: len(keys)] == keys:
            raise ParseError(section.kind, len(keys) + 1, "as many lines as the copy before")
        self._keys[section.kind] = keys

    def _pressure(
        self, section: Section, moment: Moment, alike: Sequence[Section]
    ) -> tuple[Reading, ...]:
        if snapshots_cgroups.is_below_root(section.hint or moment.hint):
            return self._pass_over(section, _OF_A_PART)
        text = section.text.decode("utf-8", "replace")
        found = _RESOURCE.search(section.hint.lower())
        if found is None and len(alike) == 1:
            found = _RESOURCE.search(moment.hint.lower().replace("proc", ""))
        resource = {"mem": "memory"}.get(found[1], found[1]) if found else ""
        if not resource and len(alike) in _ORDERED:
            resource = _ORDERED[len(alike)][alike.index(section)]
            self.guessed = True
        if not resource:
            # Only cpu ever had no `full`, and only irq has no `some`.
            lines = {line.split(" ", 1)[0] for line in text.splitlines()}
            resource = {"some": "cpu", "full": "irq"}.get("".join(lines), "")
        if not resource:
            return self._pass_over(section)
        return pressure.readings({resource: pressure.parse(text, resource)})

    def _ethtool(
        self, section: Section, moment: Moment, block: Sequence[Section]
    ) -> tuple[Reading, ...]:
        interface = snapshots_ethtool.interface_of(f"{section.hint} {moment.hint}")
        if not interface and sum(one.kind == section.kind for one in block) > 1:
            return self._pass_over(section)
        return snapshots_ethtool.readings(section.text, interface or snapshots_ethtool.ANY)

    def _cgroup_stat(
        self, section: Section, moment: Moment, block: Sequence[Section]
    ) -> tuple[Reading, ...]:
        alike = [one for one in block if one.kind == section.kind]
        root = snapshots_cgroups.root_of(alike, moment.hint)
        if root is None:
            return self._pass_over(section, _OF_A_PART)
        return snapshots_cgroups.readings(section.text) if section is root else ()

    def _pass_over(self, section: Section, why: str = _UNTOLD) -> tuple[Reading, ...]:
        key = (section.kind, why)
        self.passed_over[key] = self.passed_over.get(key, 0) + 1
        return ()

    def _count(
        self, section: Section, moment: Moment, block: Sequence[Section]
    ) -> tuple[Reading, ...]:
        lines = section.text.split()
        if snapshots_cgroups.counts_others(section.hint, block):
            return self._pass_over(section, _OF_OTHERS)
        field_id = counted(section.hint)
        if not field_id and not _COMMAND.search(section.hint):
            # Where it is told how many the kernel knows, this is how many there are to be seen.
            is_beside = any(one.kind == "cgroups" for one in block)
            field_id = "memcg.live" if is_beside else counted(moment.hint)
        if not field_id or len(lines) != 1:
            return self._pass_over(section)
        return (Reading.of_node(field_id, number(lines[0], "count", 1)),)


def counted(hint: str) -> str:
    """What a number alone counts, by what stands above it or in the file's name; or nothing."""
    lower = hint.lower()
    return next((to for pattern, to in _COUNTED if pattern.search(lower)), "")


def uptime_ns(data: bytes) -> int:
    seconds, hundredths = data.split()[0].split(b".")
    return int(seconds) * 10**9 + int(hundredths) * 10**7


def _to_wall_us(moment: Moment) -> Callable[[int], int] | None:
    if moment.uptime_ns is None:
        return None
    booted_us = (moment.wall_ns - moment.uptime_ns) // 1000
    return lambda since_boot_us: booted_us + since_boot_us


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _stat(data: bytes) -> tuple[Reading, ...]:
    times = cpu.parse(data)
    if times.context_switches_total is None and not _has_only_cores(data):
        # As old as the file, and below the cores: without it some cores may be missing too.
        raise ParseError("proc/stat", data.count(b"\n") + 1, "a line `ctxt`")
    return cpu.readings(times)


def _has_only_cores(data: bytes) -> bool:
    """What `grep cpu /proc/stat` leaves: all lines of one width, or the last one is torn."""
    lines = [line.split() for line in data.splitlines()]
    return len(lines) > 1 and all(
        line[0].startswith(b"cpu") and len(line) == len(lines[0]) for line in lines if line
    )


def _values(data: bytes) -> tuple[Reading, ...]:
    return tuple(Reading.of_node(column.field, value) for column, value in named_values(data))


def _cgroups(data: bytes) -> tuple[Reading, ...]:
    memory = cgroups.parse(_text(data)).get("memory")
    if memory is None or not memory.is_enabled:
        return ()
    return (Reading.of_node("memcg.tracked", memory.cgroups),)


_READ: dict[str, Callable[[bytes], tuple[Reading, ...]]] = {
    "stat": _stat,
    "softirqs": lambda data: softirqs.readings(softirqs.parse(data)),
    "schedstat": lambda data: core_schedstat.readings(core_schedstat.parse(_text(data))),
    "meminfo": lambda data: meminfo.readings(meminfo.parse(_text(data))),
    "vmstat": lambda data: vmstat.readings(vmstat.parse(_text(data))),
    "cgroups": _cgroups,
    "uptime": lambda _: (),
    "loadavg": lambda data: loadavg.readings(loadavg.parse(_text(data))),
    "softnet_stat": lambda data: softnet.readings(softnet.parse(data)),
}
