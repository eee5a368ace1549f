"""Docker's socket: GET /containers/json, what `docker ps -a` shows."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.host import Host
from exhume.model.container import Container

SOCKETS = ("docker.sock", "podman/podman.sock")
TIMEOUT_SECONDS = 2.0
MAX_ANSWER_BYTES = 16 << 20
_EXITED = re.compile(r"(?:Exited|Restarting) \((-?\d{1,9})\)")
"""The list has the exit code only in its prose: `Exited (1) 4 seconds ago`."""
_JUST_STARTED = re.compile(r"Restarting|Up (?:Less than a second|\d+ seconds?)")
MAX_INSPECTED = 5
"""Restart counts are not in the list; only those that seem to restart are asked for theirs."""


def read(host: Host) -> tuple[Container, ...] | None:
    """None where no Docker listens. OSError when one does and does not answer."""
    path = socket_of(host)
    return None if path is None else ask(path)


def socket_of(host: Host) -> Path | None:
    return next((host.run / name for name in SOCKETS if (host.run / name).exists()), None)


def runtime_of(path: Path) -> str:
    return "podman" if "podman" in path.name else "docker"


def ask(path: Path) -> tuple[Container, ...]:
    runtime = runtime_of(path)
    data = get(path, "/containers/json?all=1")
    containers = {one.id: one for one in parse(data, runtime)}
    for identity in just_started(data)[:MAX_INSPECTED]:
        answer = get(path, f"/containers/{identity}/json")
        containers[identity] = with_restarts(containers[identity], answer)
    return tuple(containers.values())


def parse(data: bytes, runtime: str = "docker") -> tuple[Container, ...]:
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError):
        raise ParseError(f"answer of {runtime}", 1, "JSON") from None
    if not isinstance(rows, list):
        raise ParseError(f"answer of {runtime}", 1, "a list of containers")
    return tuple(_container(row, runtime) for row in rows)


def just_started(data: bytes) -> list[str]:
    """Ids that are worth a second question, from an answer that `parse` accepts."""
    rows = json.loads(data)
    ids = [row["Id"] for row in rows if _JUST_STARTED.match(str(row.get("Status", "")))]
    return [one for one in ids if one.isalnum()]


def with_restarts(container: Container, inspected: bytes) -> Container:
    try:
        answer = json.loads(inspected)
        count = answer.get("RestartCount")
    except (ValueError, RecursionError, AttributeError):
        raise ParseError(f"answer of {container.runtime}", container.id, "JSON") from None
    return replace(container, restarts_total=count) if isinstance(count, int) else container


def get(path: Path, url: str) -> bytes:
    import http.client  # 6 MiB with all it brings, for a socket that most nodes do not have

    connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT_SECONDS)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.settimeout(TIMEOUT_SECONDS)
    try:
        connection.sock.connect(str(path))
        connection.request("GET", url)
        answer = connection.getresponse()
        data = answer.read(MAX_ANSWER_BYTES)
    except http.client.HTTPException as error:
        raise ParseError(str(path), url, "HTTP") from error
    finally:
        connection.close()
    if answer.status == 404:  # gone since it was listed
        return b"{}"
    if answer.status != 200:
        raise ParseError(str(path), url, f"status 200, not {answer.status}")
    return data


def _container(row: Any, runtime: str) -> Container:
    if not isinstance(row, dict) or not isinstance(row.get("Id"), str):
        raise ParseError(f"answer of {runtime}", 1, "containers with an Id")
    names, labels = row.get("Names"), row.get("Labels")
    label = labels if isinstance(labels, dict) else {}
    created = row.get("Created")
    exited = _EXITED.match(str(row.get("Status", "")))
    return Container(
        id=row["Id"],
        name=str(names[0]).lstrip("/") if isinstance(names, list) and names else "",
        image=str(row.get("Image", "")),
        runtime=runtime,
        state=str(row.get("State", "unknown")),
        created_wall_ns=created * 1_000_000_000 if isinstance(created, int) else 0,
        exit_code=int(exited.group(1)) if exited else None,
        pod_name=str(label.get("io.kubernetes.pod.name", "")),
        pod_namespace=str(label.get("io.kubernetes.pod.namespace", "")),
        pod_uid=str(label.get("io.kubernetes.pod.uid", "")),
    )
