"""The CRI socket of containerd or CRI-O: ListContainers, what `crictl ps -a` shows."""

from __future__ import annotations

from pathlib import Path

from exhume.host import Host
from exhume.model.container import Container
from exhume.sources import grpc
from exhume.sources.protobuf import fields, text

# Below /run. The first that is there is asked.
SOCKETS = (
    "containerd/containerd.sock",
    "crio/crio.sock",
    "k3s/containerd/containerd.sock",
    "cri-dockerd.sock",
)
# v1 since containerd 1.6 and CRI-O 1.20; before that v1alpha2, with the same field numbers.
METHODS = (
    "/runtime.v1.RuntimeService/ListContainers",
    "/runtime.v1alpha2.RuntimeService/ListContainers",
)
_STATES = ("created", "running", "exited", "unknown")


def read(host: Host) -> tuple[Container, ...] | None:
    """None where no CRI runtime listens. OSError when one does and does not answer."""
    path = next((host.run / name for name in SOCKETS if (host.run / name).exists()), None)
    if path is None:
        return None
    return ask(path)


def ask(path: Path) -> tuple[Container, ...] | None:
    for method in METHODS:
        message = grpc.call(path, method)
        if message is not None:
            return parse(message, "cri-o" if "crio" in path.name else "containerd")
    return None  # a containerd without its CRI plugin


def parse(message: bytes, runtime: str) -> tuple[Container, ...]:
    what = f"answer of {runtime}"
    return tuple(
        _container(value, runtime, what)
        for number, value in fields(message, what)
        if number == 1 and isinstance(value, bytes)
    )


def _container(data: bytes, runtime: str, what: str) -> Container:
    identity = name = image = ""
    attempt = created_ns = 0
    state = "created"  # 0, which proto3 leaves out
    labels: dict[str, str] = {}
    for number, value in fields(data, what):
        if number == 1:
            identity = text(value)
        elif number == 3 and isinstance(value, bytes):
            metadata = dict(fields(value, what))
            name = text(metadata.get(1, b""))
            retries = metadata.get(2, 0)
            attempt = retries if isinstance(retries, int) else 0
        elif number == 4 and isinstance(value, bytes):
            image = text(dict(fields(value, what)).get(1, b""))
        elif number == 6 and isinstance(value, int):
            state = _STATES[value] if value < len(_STATES) else "unknown"
        elif number == 7 and isinstance(value, int):
            created_ns = value
        elif number == 8 and isinstance(value, bytes):
            pair = dict(fields(value, what))
            labels[text(pair.get(1, b""))] = text(pair.get(2, b""))
    return Container(
        id=identity,
        name=name,
        image=image,
        runtime=runtime,
        state=state,
        created_wall_ns=created_ns,
        restarts_total=attempt,
        pod_name=labels.get("io.kubernetes.pod.name", ""),
        pod_namespace=labels.get("io.kubernetes.pod.namespace", ""),
        pod_uid=labels.get("io.kubernetes.pod.uid", ""),
    )
