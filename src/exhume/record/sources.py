"""Every source and its pace: the one visible list. A source is read here and parsed in sources/."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from exhume.derive import signatures
from exhume.derive.log_events import LogLine, at_their_own_time, events_of
from exhume.derive.signatures import Signature
from exhume.host import Host
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.container import Container
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.record.kmsg_place import KmsgPlace
from exhume.record.lanes import Collect, Collected, Source
from exhume.sources import (
    containers,
    cpu,
    cpu_bandwidth,
    ethtool,
    interrupts,
    kmsg,
    memcg_count,
    memcg_holders,
    meminfo,
    pressure,
    processes,
    schedstat,
    softirqs,
    softnet,
    topology,
    units,
    vmstat,
)
from exhume.sources.log_files import LogFollower

SECOND_NS = 1_000_000_000
ROLL_CALL_NS = 600 * SECOND_NS
JOB_LOG_KEEP_LEVEL = -1
"""Of a job's log only what a signature knows; its other lines are not ours to keep."""


class Context(Struct):
    """What sources may use besides the host."""

    host: Host
    pair: Callable[[], ClockPair]
    """The newest pair of clocks: the kernel log has one of its own."""
    hot_pids: Callable[[], Iterable[int]]
    """Whom the sampler saw most in the last second."""
    trust_user_kmsg: bool = False
    follow: Sequence[Path] = ()
    extra_signatures: tuple[Signature, ...] = ()
    kmsg_place: KmsgPlace | None = None
    """Up to where the kernel log is stored; None: nobody keeps that."""


class _Module(Protocol):
    """A source of one kernel file: read it, hand out its readings."""

    def read(self, host: Host) -> Any: ...
    def readings(self, value: Any) -> tuple[Reading, ...]: ...


def fast(context: Context) -> list[Source]:
    """Each second."""
    host = context.host
    table: list[tuple[str, Collect]] = [
        ("cpu", _plain(cpu, host)),
        ("softirqs", _plain(softirqs, host)),
        ("interrupts", _reader(interrupts.InterruptsReader(host).read, interrupts.readings)),
        ("softnet", _plain(softnet, host)),
        ("vmstat", _plain(vmstat, host)),
        ("pressure", _plain(pressure, host)),
        ("netthreads", _reader(schedstat.NetworkThreads(host).read, schedstat.readings)),
        ("processes", _processes(context)),
        ("kmsg", _kmsg(context)),
        *((f"log {path}", _log(context, path)) for path in context.follow),
    ]
    return [Source(name, SECOND_NS, collect) for name, collect in table]


def slow(context: Context) -> list[Source]:
    """Every 10 s or slower: what takes longer, or costs others."""
    host = context.host
    table: list[tuple[str, int, Collect]] = [
        ("meminfo", 10, _plain(meminfo, host)),
        ("memcg", 10, _memcg(host)),
        ("memcg-holders", 60, _holders(host)),
        (
            "cpu-bandwidth",
            10,
            _reader(cpu_bandwidth.BandwidthReader(host).read, cpu_bandwidth.readings),
        ),
        ("affinity", 60, _affinity(host)),
        ("topology", 60, _plain(topology, host)),
        ("nic", 10, _reader(ethtool.EthtoolReader(host).read, ethtool.readings)),
        ("units", 10, _units(host)),
        ("containers", 10, _containers(host)),
    ]
    return [Source(name, every * SECOND_NS, collect) for name, every, collect in table]


def _plain(module: _Module, host: Host) -> Collect:
    return _reader(lambda: module.read(host), module.readings)


def _reader(read: Callable[[], Any], readings: Callable[[Any], tuple[Reading, ...]]) -> Collect:
    def collect() -> Collected | None:
        value = read()
        return None if value is None else Collected(readings(value))

    return collect


def _processes(context: Context) -> Collect:
    reader = processes.ProcessReader(context.host)

    def collect() -> Collected:
        found = reader.read(context.hot_pids())
        note = f"{reader.broken} files in /proc made no sense" if reader.broken else ""
        return Collected(processes.readings(found), note=note)

    return collect


def _kmsg(context: Context) -> Collect:
    place = context.kmsg_place
    reader = kmsg.KmsgReader(context.host, context.trust_user_kmsg, place.next if place else 0)
    known = (*context.extra_signatures, *signatures.kernel_log())

    def collect() -> Collected | None:
        batch = reader.read()
        if batch is None:
            return None
        pair = context.pair()
        clock = ClockMap.of([pair])
        lines = []
        for record in batch.records:
            at = clock.from_kernel_log(record.kernel_log_ns)
            lines.append(
                LogLine(at if at is not None else record.kernel_log_ns, record.text, record.level)
            )
        events = events_of(lines, known)
        if batch.lost:
            now = context.host.clock.monotonic_ns()
            text = f"{batch.lost} kernel log records were overwritten before they were read"
            events += (Event(now, "log-lost", "kmsg", text, count=batch.lost),)
        if place is not None:
            place.next = reader.position
        note = f"{batch.broken} records made no sense" if batch.broken else ""
        return Collected(events=events, note=note)

    return collect


def _log(context: Context, path: Path) -> Collect:
    follower = LogFollower(path)
    known = (*context.extra_signatures, *signatures.job_log())

    def collect() -> Collected | None:
        new = follower.read()
        if new is None:
            return None
        now = context.host.clock.monotonic_ns()
        lines = [LogLine(now, line, fields={"victim": path.stem}) for line in new.lines]
        events = at_their_own_time(
            events_of(lines, known, kind="job-log", keep_level=JOB_LOG_KEEP_LEVEL),
            context.host.clock.wall_ns() - now,
        )
        if new.skipped_bytes:
            text = f"{new.skipped_bytes} bytes of {path} came faster than they were read"
            events += (Event(now, "log-lost", str(path), text),)
        return Collected(events=events)

    return collect


def _memcg(host: Host) -> Collect:
    counter = memcg_count.MemcgCounter(host)

    def collect() -> Collected | None:
        count = counter.read()
        if count is None:
            return None
        note = count.note if count.note != memcg_count.MOVED else ""
        return Collected(memcg_count.readings(count), note=note)

    return collect


def _holders(host: Host) -> Collect:
    search = memcg_holders.HolderSearch(host)

    def collect() -> Collected | None:
        found = search.read()
        if found is None:
            return Collected()  # nothing to tell yet
        return Collected(memcg_holders.readings(found), note=found.note)

    return collect


def _affinity(host: Host) -> Collect:
    def collect() -> Collected | None:
        lines = interrupts.read(host)
        if lines is None:
            return None
        cores = interrupts.read_affinity(host, lines)
        return Collected(interrupts.affinity_readings(lines, cores))

    return collect


def _units(host: Host) -> Collect:
    reader = units.UnitReader(host)
    before: dict[str, units.Unit] = {}

    def collect() -> Collected | None:
        found = reader.read()
        if found is None:
            return None
        events = units.events(before, found, host.clock.monotonic_ns())
        before.clear()
        before.update((unit.name, unit) for unit in found)
        return Collected(units.readings(found), events, reader.problem)

    return collect


def _containers(host: Host) -> Collect:
    reader = containers.ContainerReader(host)
    before: dict[str, Container] = {}
    next_roll_call = 0

    def collect() -> Collected | None:
        nonlocal next_roll_call
        found = reader.read()
        if found is None:
            return None
        now = host.clock.monotonic_ns()
        # What is there at the first look did not start now.
        events: tuple[Event, ...] = ()
        if next_roll_call:
            noted = reader.happened or ()
            told = reader.silent if reader.happened is None else reader.silent | containers.DOCKER
            events = containers.events(before, found, now, told)
            events += containers.noted_events(noted, host.clock.wall_ns() - now)
        if now >= next_roll_call:
            # Each segment must be able to put names to container ids by itself.
            events += containers.roll_call(found, now)
            next_roll_call = now + ROLL_CALL_NS
        kept = {id_: one for id_, one in before.items() if one.runtime in reader.silent}
        before.clear()
        before.update(kept)
        before.update((one.id, one) for one in found)
        readings = containers.readings(found)
        if reader.silent:  # what is left would look like the whole
            readings = tuple(one for one in readings if one.instances != ("",))
        return Collected(readings, events, reader.problem)

    return collect
