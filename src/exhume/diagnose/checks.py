"""What may hurt a node later, by one look at it as it is now. Pure.

A recording tells more (`diagnose.risks`): a rate, a lifetime. This is for the image that was just
built, and for the node where nobody records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from shlex import quote

from exhume.derive.queues import crowds
from exhume.derive.standing import LEAST_RESTARTS, MANY_RESTARTS
from exhume.derive.zombies import outlook, outlook_words, walker_of
from exhume.detect.cgroups import FAST_GROWTH, MANY_ZOMBIES
from exhume.model.answers import EventAnswer
from exhume.model.case import Risk
from exhume.model.check import NodeNow, UnitNow
from exhume.model.finding import Figure
from exhume.model.lifecycles import Lifecycle

LEAST_PER_HOUR = 1.0
"""Restarts since boot: below, it is a unit that died now and then."""
LEAST_STARTS = 3
POOR_PERCENT = 50.0
_ENABLED = ("enabled", "enabled-runtime", "linked", "linked-runtime")
_HOUR_SECONDS = 3600.0
_MOST = 20


def risks_now(now: NodeNow) -> tuple[Risk, ...]:
    found = (
        *_units(now), *_containers(now), *_zombies(now), *kernel_risks(now.kernel), *_queues(now),
        *_agents(now),
    )  # fmt: skip
    return found[:_MOST]


def kernel_risks(kernel: str) -> Iterator[Risk]:
    """Kernels where a walk over dead cgroups keeps everybody else off its core."""
    walker, reschedules = walker_of(kernel)
    if kernel and not reschedules:
        yield Risk(
            "zombie-walking-kernel",
            f"Linux {kernel} lets nobody else run on a core while {walker} walks dead cgroups; "
            "5.8 and newer do not",
            kernel,
            {"walker": walker},
            "uname -r",
        )


def poor_success(lifecycles: Sequence[Lifecycle]) -> Iterator[Risk]:
    """Of a recording: what ends badly more often than well, without being a loop."""
    for one in lifecycles:
        percent = one.success_percent_of_known_ends
        if one.mark in ("crash loop", "loop") or one.kind == "process" or percent is None:
            continue
        if one.starts >= LEAST_STARTS and percent < POOR_PERCENT:
            yield Risk(
                "poor-success",
                f"{one.kind} {one.name} was started {one.starts:,} times and ended well "
                f"{percent:.0f} % of the time",
                one.name,
                {"success_percent": round(percent, 1), "starts": one.starts},
                "exhume units --last 1h",
            )


SEEN_DOWN = ("unit-seen", "unit-waiting", "unit-start")


def seen_down(events: Sequence[EventAnswer]) -> Iterator[Risk]:
    """Of imported looks: units that were down, and that nobody saw start since."""
    last = {event.subject: event for event in events}
    for name, event in last.items():
        if event.kind == "unit-seen":
            claim = f"unit {name} {event.text} before somebody looked"
        elif event.kind == "unit-waiting":
            claim = f"unit {name} had ended, and waited for its next start when somebody looked"
        else:
            continue
        check = f"systemctl show -p NRestarts -p Result {quote(name)}"
        yield Risk("poor-success", claim, name, dict(event.fields), check)


def merged(*parts: Sequence[Risk]) -> tuple[Risk, ...]:
    """The first that speaks of a thing is kept: give first what knows most."""
    chosen: dict[tuple[str, str], Risk] = {}
    for part in parts:
        for one in part:
            # Dead cgroups are one thing, whoever is known to hold them.
            subject = "" if one.kind == "zombie-cgroups" else one.subject
            chosen.setdefault((_family(one.kind), subject), one)
    return tuple(chosen.values())


def _family(kind: str) -> str:
    of_units = ("crash-loop", "restart-loop", "failing-agent", "poor-success", "unknown-agent")
    return "unit" if kind in of_units else kind


def _units(now: NodeNow) -> Iterator[Risk]:
    hours = max(now.uptime_seconds / _HOUR_SECONDS, 1 / 60)
    for unit in sorted(now.units or (), key=lambda unit: (-(unit.restarts_total or 0), unit.name)):
        restarts = unit.restarts_total or 0
        figures: dict[str, Figure] = {"restarts": restarts}
        check = f"systemctl status {quote(unit.name)}"
        waits = unit.sub_state == "auto-restart" and restarts >= LEAST_RESTARTS
        if waits or (restarts >= MANY_RESTARTS and restarts / hours >= LEAST_PER_HOUR):
            figures["restarts_per_hour_of_uptime"] = round(restarts / hours, 1)
            claim = f"unit {unit.name} restarts all the time: {restarts:,} times so far"
            yield Risk("crash-loop", claim, unit.name, figures, check)
        elif _fails(unit) and unit.unit_file_state in _ENABLED:
            claim = f"unit {unit.name} is enabled and fails (result '{unit.result}'): who needs it?"
            yield Risk("failing-agent", claim, unit.name, figures, check)
        elif _fails(unit):
            claim = f"unit {unit.name} failed when it last ran (result '{unit.result}')"
            yield Risk("poor-success", claim, unit.name, figures, check)


def _fails(unit: UnitNow) -> bool:
    is_down = unit.active_state == "failed" or unit.sub_state == "auto-restart"
    return is_down and unit.result not in (None, "success")


def _agents(now: NodeNow) -> Iterator[Risk]:
    """What starts with the machine although nobody is known to want it."""
    for one in now.agents or ():
        if now.known is not None:
            if any(fnmatchcase(one.name, pattern) for pattern in now.known):
                continue
            why = "is not among those that are known"
        elif one.is_packaged:
            continue
        else:
            why = f"belongs to no package ({one.path})"
        yield Risk(
            "unknown-agent",
            f"unit {one.name} is enabled (by {', '.join(one.wanted_by)}) and {why}: who needs it?",
            one.name,
            {"file": one.path},
            f"systemctl cat {quote(one.name)}",
        )


def _containers(now: NodeNow) -> Iterator[Risk]:
    hours = max(now.uptime_seconds / _HOUR_SECONDS, 1 / 60)
    for one in sorted(now.containers or (), key=lambda one: (-(one.restarts_total or 0), one.id)):
        restarts = one.restarts_total or 0
        waits = one.state == "restarting" and restarts >= LEAST_RESTARTS
        if waits or (restarts >= MANY_RESTARTS and restarts / hours >= LEAST_PER_HOUR):
            name = one.name or one.id[:12]
            yield Risk(
                "crash-loop",
                f"container {name} restarts all the time: {restarts:,} times so far",
                name,
                {"restarts": restarts, "image": one.image},
                f"docker logs --tail 20 {quote(name)}"
                if one.runtime in ("docker", "podman")
                else f"crictl logs --tail 20 {quote(one.id[:12])}",
            )


def _zombies(now: NodeNow) -> Iterator[Risk]:
    """The rate is the mean since boot: one look knows no other."""
    if now.zombies is None:
        return
    per_hour = now.zombies / max(now.uptime_seconds / _HOUR_SECONDS, 1 / 60)
    if now.zombies < MANY_ZOMBIES and not (per_hour >= FAST_GROWTH and now.zombies >= 50):
        return
    claim = f"{now.zombies:,} zombie memory cgroups, {per_hour:,.0f} an hour since boot"
    ahead = outlook(now.kernel, now.zombies, per_hour)
    claim = "; ".join(filter(None, (claim, "" if ahead is None else outlook_words(ahead))))
    figures: dict[str, Figure] = {
        "zombies": now.zombies,
        "growth_per_hour_of_uptime": round(per_hour, 1),
    }
    yield Risk("zombie-cgroups", claim, "", figures, "grep memory /proc/cgroups")


def _queues(now: NodeNow) -> Iterator[Risk]:
    for one in crowds(now.lines or (), now.cores):
        yield Risk(
            "interrupt-imbalance",
            f"{one.queues} of {one.of_queues} queues of {one.device} interrupt CPU {one.core} "
            f"({one.percent_of_its_interrupts:.0f} % of its interrupts)",
            one.device,
            {"queues": one.queues, "of_queues": one.of_queues, "core": one.core},
            f"grep {quote(one.device)} /proc/interrupts",
        )
