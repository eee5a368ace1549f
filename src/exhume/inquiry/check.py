"""A node as it is now: the last hour of its recording where there is one, and a look at itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from exhume.detect.detectors import findings
from exhume.diagnose.checks import (
    SEEN_DOWN,
    kernel_risks,
    merged,
    poor_success,
    risks_now,
    seen_down,
)
from exhume.diagnose.risks import risks_of
from exhume.diagnose.symptoms import grouped, symptoms
from exhume.errors import ExhumeError, ParseError
from exhume.host import Host
from exhume.inquiry.observe import look_around, observe
from exhume.inquiry.why import would_have_told
from exhume.model.case import Risk
from exhume.model.check import CheckAnswer, EnabledUnit, NodeNow, UnitNow
from exhume.model.container import Container
from exhume.model.evidence import IrqLine
from exhume.model.observation import Observation
from exhume.model.window import Ended, Window
from exhume.sources import interrupts, unit_files
from exhume.sources.containers import ContainerReader
from exhume.sources.interfaces import interface_of
from exhume.sources.interfaces import read as read_interfaces
from exhume.sources.memcg_count import MemcgCount, MemcgCounter
from exhume.sources.queues import queue_of
from exhume.sources.units import Unit, UnitReader
from exhume.store.queries.events import events
from exhume.store.recording import Recording

SECOND_NS = 1_000_000_000
FRESH_NS = 600 * SECOND_NS
HOUR_NS = 3600 * SECOND_NS
_LAST_HOUR = "exhume why --last 1h"
"""The kernel's log reaches back before a young recording, of which alone `why` would tell."""
_MOST_READS = 500
_TRIES = 3


class Look(Struct, frozen=True):
    now: NodeNow
    looked: tuple[str, ...]
    missing: tuple[str, ...]


def check(
    recording: Recording | None, host: Host, known: tuple[str, ...] | None = None
) -> CheckAnswer:
    """A fresh recording tells rates and lifetimes; a look adds what only systemd knows.

    `known`: patterns of the units that may be enabled; None: those of packages.
    """
    wall_ns = host.clock.wall_ns()
    recorded: tuple[Risk, ...] = ()
    harmed = ""
    told: list[str] = []
    node = host.hostname()
    if recording is not None:
        end_ns = newest(recording)
        if end_ns is None or wall_ns - end_ns > FRESH_NS:
            age = "is empty" if end_ns is None else f"ended {_ago(wall_ns - end_ns)} ago"
            told.append(f"not the recording, which {age}")
        else:
            seen = last_hour(recording, end_ns)
            recorded, harmed = recorded_risks(seen), harmed_already(seen, _LAST_HOUR)
            node = seen.node or node
            told.append(f"the last {_length(seen.recorded_seconds)} recorded")
    look = look_at(host, known)
    risks = merged(recorded, risks_now(look.now))
    return CheckAnswer(
        wall_ns,
        node,
        look.now.kernel,
        "risks" if risks else "unknown" if look.missing else "clean",
        risks,
        (*told, *look.looked),
        look.missing,
        harmed,
    )


def _length(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def check_imported(recording: Recording, ended: Ended) -> CheckAnswer:
    """The node that the files are of, as it was at their end; not the one that they are read on."""
    seen = last_hour(recording, ended.measured.end_ns)
    looked_at = events(recording, seen.window, SEEN_DOWN)
    risks = merged(recorded_risks(seen), tuple(seen_down(looked_at)))
    missing = tuple(_not_in_files(recording, seen))
    whole = seen.window.clip(ended.measured)
    # Between the lines of a log nothing was measured, and yet it tells that nothing happened.
    seconds = max(seen.recorded_seconds, 0.0 if whole is None else whole.seconds)
    looked = (
        f"the last {_length(seconds)} of what was imported",
        "not this machine",
    )
    return CheckAnswer(
        ended.measured.end_ns,
        seen.node,
        seen.kernel,
        "risks" if risks else "unknown" if missing else "clean",
        risks,
        looked,
        missing,
        harmed_already(seen, "exhume why"),
    )


def _not_in_files(recording: Recording, seen: Observation) -> Iterator[str]:
    """Without these, that nothing was found says nothing."""
    if not would_have_told(recording, seen):
        yield (
            "nothing in the files could tell of harm: import the kernel's log (dmesg) and the "
            "application's own too"
        )
    if seen.zombies is None or (seen.zombies.tracked is None and seen.zombies.zombies is None):
        yield "no counts of memory cgroups are in the files: import copies of /proc/cgroups too"
    looked = ("unit.active", "unit.restarts", "container.total")
    if not (seen.lifecycles or any(seen.series.get(field) for field in looked)):
        yield (
            "nothing in the files tells who starts again and again: import `docker ps -a`, "
            "`systemctl list-units --all`, the journal or perf captures too"
        )


def harmed_already(seen: Observation, ask: str) -> str:
    """The worst of what is no risk any more; `ask`: the command that tells of it."""
    groups = grouped(symptoms(seen))
    if not groups:
        return ""
    worst, others = groups[0][0], len(groups) - 1
    many = f", {worst.count} times" if worst.count > 1 else ""
    more = f", and {others} more" if others else ""
    return f"{worst.kind} of {worst.victim.name}{many}{more}; {ask} says what is known of why"


def newest(recording: Recording) -> int | None:
    spans = recording.spans()
    return max((span.window.end_ns for span in spans), default=None)


def last_hour(recording: Recording, end_ns: int) -> Observation:
    window = Window(end_ns - HOUR_NS, end_ns)
    return look_around(recording, observe(recording, window), window)


def recorded_risks(seen: Observation) -> tuple[Risk, ...]:
    noticed = risks_of(seen, findings(seen))
    return (*noticed, *poor_success(seen.lifecycles), *kernel_risks(seen.kernel))


def look_at(host: Host, known: tuple[str, ...] | None = None) -> Look:
    looked, missing = [], []
    units, problem = _units(host)
    if problem:
        missing.append(problem)
    elif units is not None:
        looked.append(f"{len(units)} services of systemd")
    agents, problem = _agents(host)
    if problem:
        missing.append(problem)
    elif agents is not None:
        looked.append(f"{len(agents)} enabled units")
    containers, problem = _containers(host)
    if problem:
        missing.append(problem)
    elif containers is not None:
        looked.append(f"{len(containers)} containers")
    count = _memcgs(host)
    if count is not None and count.zombies is None:
        missing.append(f"zombie cgroups were not counted: {count.note or 'the walk took too long'}")
    elif count is not None:
        looked.append("memory cgroups")
    lines, cores, problem = _interrupts(host)
    if problem:
        missing.append(problem)
    elif lines is not None:
        looked.append("interrupts")
    now = NodeNow(
        kernel=host.kernel_release(),
        uptime_seconds=host.clock.boottime_ns() / 1e9,
        cores=cores,
        units=units,
        containers=containers,
        zombies=None if count is None else count.zombies,
        lines=lines,
        agents=agents,
        known=known,
    )
    return Look(now, tuple(looked), tuple(missing))


def _units(host: Host) -> tuple[tuple[UnitNow, ...] | None, str]:
    """Read until all that do anything have told all they have: a reading asks a few at a time."""
    reader = UnitReader(host)
    try:
        found = reader.read()
        for _ in range(_MOST_READS):
            if found is None or reader.problem or not any(map(_is_untold, found)):
                break
            found = reader.read()
    except (OSError, ParseError) as error:
        return None, f"systemd was not understood: {error}"
    finally:
        reader.close()
    if found is None:
        return None, ""
    return tuple(map(_unit_now, found)), reader.problem


def _is_untold(unit: Unit) -> bool:
    return unit.active_state not in (None, "inactive") and unit.result is None


def _unit_now(unit: Unit) -> UnitNow:
    return UnitNow(
        unit.name, unit.active_state, unit.sub_state, unit.result, unit.restarts_total,
        unit.unit_file_state,
    )  # fmt: skip


def _agents(host: Host) -> tuple[tuple[EnabledUnit, ...] | None, str]:
    try:
        return unit_files.read(host), ""
    except OSError as error:
        return None, f"the links of enabled units can't be read: {error.strerror}"


def _containers(host: Host) -> tuple[tuple[Container, ...] | None, str]:
    reader = ContainerReader(host)
    try:
        return reader.read(), reader.problem
    except (OSError, ExhumeError) as error:
        return None, f"containers can't be listed: {error}"


def _memcgs(host: Host) -> MemcgCount | None:
    """Cgroups come and go: a count that moved meanwhile is taken again."""
    count: MemcgCount | None = None
    for _ in range(_TRIES):
        try:
            count = MemcgCounter(host).read()
        except (OSError, ParseError) as error:
            return MemcgCount(0, None, None, None, note=str(error))
        if count is None or count.zombies is not None:
            break
    return count


def _interrupts(host: Host) -> tuple[tuple[IrqLine, ...] | None, int, str]:
    try:
        found = interrupts.read(host)
        if found is None:
            return None, 0, ""
        affinity = interrupts.read_affinity(host, found)
        interfaces = read_interfaces(host) or ()
    except (OSError, ParseError) as error:
        return None, 0, f"interrupts can't be read: {error}"
    seconds = max(1.0, host.clock.boottime_ns() / 1e9)
    lines = []
    for line, count in zip(found.lines, found.counts.sum(axis=1).tolist(), strict=True):
        queue = queue_of(line.name)
        if queue is None:
            continue
        cores = affinity.get(line.irq, ())
        lines.append(
            IrqLine(
                irq=line.irq,
                name=line.name,
                device=interface_of(queue.device, interfaces) or queue.device,
                queue=queue.queue,
                direction=queue.direction,
                core=cores[0] if len(cores) == 1 else None,
                per_second=count / seconds,
                most_per_second=float(np.nan),
            )
        )
    return tuple(lines), len(found.cores), ""


def _ago(ns: int) -> str:
    minutes = ns / 60 / SECOND_NS
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
