"""Containers of whatever runtime listens, Docker or CRI: names for what cgroups only number.

An agent that is removed and run anew every 10 s has a restart count of 0 for ever. What shows the
loop is that each reading has another id under the same name and image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.container import Container
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.sources import cri, docker, docker_events
from exhume.sources.docker_events import Happened

DOCKER = frozenset({"docker", "podman"})
_RUNTIMES = {"CRI": frozenset({"containerd", "cri-o"}), "Docker": DOCKER}
MAX_ROLL_CALL = 500


class ContainerReader(Struct):
    host: Host
    problem: str = ""
    """Which runtime is there and did not answer; empty when all did."""
    silent: frozenset[str] = frozenset()
    """Whose containers are not known now: they are neither there nor gone."""
    happened: tuple[Happened, ...] | None = None
    """What Docker itself noted since the last reading; None where it keeps no record."""
    _until_ns: int = 0

    def read(self) -> tuple[Container, ...] | None:
        """None where no runtime listens. One that fails does not hide the other."""
        found: dict[str, Container] = {}
        is_any = False
        problems: list[str] = []
        silent: set[str] = set()
        self.happened = None
        for name, read in (("CRI", cri.read), ("Docker", docker.read)):
            try:
                containers = read(self.host)
            except (OSError, ParseError) as error:
                problems.append(f"{name} does not answer: {error}")
                silent |= _RUNTIMES[name]
                is_any = True
                continue
            if containers is not None:
                is_any = True
                # Docker runs on containerd: the same id may come from both.
                found.update((one.id, one) for one in containers)
        self.problem = "; ".join(problems)
        self.silent = frozenset(silent)
        if not silent & _RUNTIMES["Docker"]:
            self._look_back()
        return tuple(found.values()) if is_any else None

    def _look_back(self) -> None:
        since_ns, self._until_ns = self._until_ns, self.host.clock.wall_ns()
        if 0 < since_ns < self._until_ns:
            with suppress(OSError, ParseError):  # the list alone will do
                self.happened = docker_events.read(self.host, since_ns, self._until_ns)


def events(
    before: Mapping[str, Container],
    after: tuple[Container, ...],
    time_ns: int,
    silent: Collection[str] = (),
) -> tuple[Event, ...]:
    """Births, restarts and deaths between two readings, by container id.

    `silent`: runtimes of which nothing is known, or of which somebody else tells.
    """
    found: list[Event] = []
    for one in after:
        if one.runtime in silent:
            continue
        old = before.get(one.id)
        restarts = (one.restarts_total or 0) - (old.restarts_total or 0) if old else 0
        if old is None or restarts > 0 or (one.state == "running" and old.state == "exited"):
            found.append(event_of("container-start", one, time_ns))
        if one.state in ("exited", "dead") and (old is None or old.state != one.state):
            found.append(event_of("container-exit", one, time_ns))
    present = {one.id for one in after}
    for identity, old in before.items():
        if identity not in present and old.runtime not in silent:
            is_over = old.state in ("exited", "dead")
            kind, text = ("container-removed", "") if is_over else ("container-exit", "gone")
            found.append(event_of(kind, old, time_ns, text))
    return tuple(found)


def noted_events(happened: Iterable[Happened], wall_less_monotonic_ns: int) -> tuple[Event, ...]:
    """The same as the runtime noted it, each at its own time: looks miss none of them."""
    found = []
    for one in happened:
        kind = "container-start" if one.container.state == "running" else "container-exit"
        event = event_of(kind, one.container, one.wall_ns - wall_less_monotonic_ns)
        found.append(replace(event, fields={**event.fields, "told_by": one.container.runtime}))
    return tuple(found)


def roll_call(containers: tuple[Container, ...], time_ns: int) -> tuple[Event, ...]:
    """Who is there: it puts names to ids of containers that started before anybody looked."""
    return tuple(event_of("container-seen", one, time_ns) for one in containers[:MAX_ROLL_CALL])


def readings(containers: tuple[Container, ...]) -> tuple[Reading, ...]:
    states = Counter(one.state for one in containers)
    counted = [one for one in containers if one.restarts_total is not None]
    found = [
        Reading.of_node("container.total", len(containers)),
        Reading.of_node("container.running", states["running"]),
    ]
    if counted:
        restarts: dict[str, int] = {}
        for one in counted:
            # CRI lists the runs before, too, each with its own number: the last one is the count.
            label = _label(one)
            restarts[label] = max(restarts.get(label, 0), one.restarts_total or 0)
        found.append(
            Reading.of_each("container.restarts", tuple(restarts), list(restarts.values()))
        )
    return tuple(found)


def event_of(kind: str, one: Container, time_ns: int, text: str = "") -> Event:
    fields: dict[str, str | int | float] = {
        "id": one.id,
        "image": one.image,
        "runtime": one.runtime,
        "state": one.state,
    }
    if one.created_wall_ns:
        fields["created_wall_ns"] = one.created_wall_ns
    if one.exit_code is not None:
        fields["exit_code"] = one.exit_code
    if kind in ("container-start", "container-seen") and one.restarts_total is not None:
        fields["restarts_total"] = one.restarts_total
    if one.pod_name:
        fields["pod"] = _pod(one)
    return Event(time_ns, kind, _label(one), text, fields=fields)


def _label(one: Container) -> str:
    """What stays the same over restarts: pod and name, or name, or image."""
    if one.pod_name:
        return f"{_pod(one)}/{one.name}" if one.name else _pod(one)
    return one.name or one.image or one.id


def _pod(one: Container) -> str:
    """Older crictl has no column for the namespace."""
    return f"{one.pod_namespace}/{one.pod_name}" if one.pod_namespace else one.pod_name
