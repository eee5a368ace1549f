"""Docker's own record of starts and deaths: GET /events, of the time between two looks.

Who lives for a second and is removed is in no list that is asked for every 10 s; here it is, with
its exit code. The engine keeps the last 256 events (eventsLimit in moby's daemon/events).
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.container import Container
from exhume.sources import docker

_FILTERS = quote('{"type":["container"],"event":["start","die"]}')
_MAX_EVENTS = 1_000


class Happened(Struct, frozen=True):
    wall_ns: int
    container: Container
    """`running` after a start, `exited` after its death."""


def read(host: Host, since_ns: int, until_ns: int) -> tuple[Happened, ...] | None:
    """In order of time, after `since_ns` and up to `until_ns`. None where no Docker listens."""
    path = docker.socket_of(host)
    if path is None:
        return None
    url = f"/events?since={_stamp(since_ns)}&until={_stamp(until_ns)}&filters={_FILTERS}"
    found = parse(docker.get(path, url), docker.runtime_of(path))
    return tuple(one for one in found if since_ns < one.wall_ns <= until_ns)


def parse(data: bytes, runtime: str = "docker") -> tuple[Happened, ...]:
    """One JSON object a line."""
    lines = [line for line in data.split(b"\n") if line.strip()][-_MAX_EVENTS:]
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_happened(json.loads(line), runtime))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            raise ParseError(f"events of {runtime}", number, "a start or death of one") from None
    return tuple(sorted(found, key=lambda one: one.wall_ns))


def _happened(event: Any, runtime: str) -> Happened:
    attributes = event["Actor"]["Attributes"]
    wall_ns, identity, action = event["timeNano"], event["Actor"]["ID"], event["Action"]
    code = str(attributes.get("exitCode", ""))
    if type(wall_ns) is not int or not isinstance(identity, str) or action not in ("start", "die"):
        raise ValueError
    return Happened(
        wall_ns,
        Container(
            id=identity,
            name=str(attributes.get("name", "")),
            image=str(attributes.get("image", "")),
            runtime=runtime,
            state="running" if action == "start" else "exited",
            created_wall_ns=0,
            exit_code=int(code) if action == "die" and code.isdigit() and len(code) < 9 else None,
            pod_name=str(attributes.get("io.kubernetes.pod.name", "")),
            pod_namespace=str(attributes.get("io.kubernetes.pod.namespace", "")),
            pod_uid=str(attributes.get("io.kubernetes.pod.uid", "")),
        ),
    )


def _stamp(wall_ns: int) -> str:
    return f"{wall_ns // 10**9}.{wall_ns % 10**9:09}"
