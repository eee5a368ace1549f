"""What a cgroup's path says: the unit, the container, the pod and the runtime. Pure.

And names with their ids folded, so that a loop that makes a new container each time shows as one
thing: `docker-1f…9a.scope` and `docker-77…03.scope` are both `docker-*.scope`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct


class CgroupName(Struct, frozen=True):
    path: str
    unit: str = ""
    """The innermost systemd service, scope or mount: `ecs.service`, `session-4.scope`."""
    container_id: str = ""
    pod_uid: str = ""
    """With dashes, however the cgroup driver spells it."""
    runtime: str = ""
    """`docker`, `containerd`, `cri-o`, `podman`, `lxc`, `systemd-nspawn`; empty if unknown."""


_HEX64 = r"[0-9a-f]{64}"
# Per path component; the first that matches the whole component counts.
_CONTAINERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"docker-(?P<id>{_HEX64})\.scope"), "docker"),
    (re.compile(rf"cri-containerd-(?P<id>{_HEX64})(?:\.scope)?"), "containerd"),
    (re.compile(rf"crio-(?:conmon-)?(?P<id>{_HEX64})(?:\.scope)?"), "cri-o"),
    (re.compile(rf"libpod-(?:conmon-)?(?P<id>{_HEX64})(?:\.scope)?"), "podman"),
    (re.compile(r"lxc\.payload\.(?P<id>[^/]{1,64})"), "lxc"),
    (re.compile(r"machine-(?P<id>[^/]{1,64})\.scope"), "systemd-nspawn"),
    # cgroupfs driver: docker/<id>, kubepods/burstable/pod<uid>/<id>; ecs/<task>/<id>.
    (re.compile(rf"(?P<id>{_HEX64})"), ""),
    (re.compile(r"(?P<id>[0-9a-f]{32}-\d{1,10})"), "ecs"),
)
# kubepods-burstable-pod1234abcd_….slice (systemd driver) and pod1234abcd-… (cgroupfs driver).
_POD = re.compile(
    r"(?:kubepods(?:-besteffort|-burstable)?-)?pod"
    r"(?P<uid>[0-9a-f]{8}[-_]?(?:[0-9a-f]{4}[-_]?){3}[0-9a-f]{12})(?:\.slice)?"
)
_UNIT = re.compile(r"[^/]+\.(?:service|scope|mount|socket|swap)")

# Longest kind first. A run of 8 or more hex digits with both letters and digits is an id; a word
# like `deadbeef` or `feedface` alone is not distinguishable from one, and folding it is harmless.
_UUID = re.compile(r"[0-9a-f]{8}[-_](?:[0-9a-f]{4}[-_]){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?<![0-9a-zA-Z])(?=[a-f]*[0-9])[0-9a-f]{8,}(?![0-9a-zA-Z])")
_POD_HEX = re.compile(r"(?<=pod)[0-9a-f]{32}(?![0-9a-zA-Z])")
_DIGITS = re.compile(r"\d+")
# Digits that belong to the name.
_KEEP = re.compile(r"\b(?:k8s|ipv[46]|x86_64)\b")
_MAX_PATH = 4096


@lru_cache(maxsize=4096)
def parse(path: str) -> CgroupName:
    unit = container = pod = runtime = ""
    parts = path[:_MAX_PATH].strip("/").split("/")
    for part in parts:
        if _UNIT.fullmatch(part):
            unit = part
        match = _POD.fullmatch(part)
        if match:
            pod = _dashed(match.group("uid"))
            continue
        for pattern, name in _CONTAINERS:
            match = pattern.fullmatch(part)
            if match:
                container, runtime = match.group("id"), name
                break
        else:
            # containerd's cgroupfs form has colons: `system.slice:containerd:…` or `k8s.io:<id>`.
            last = part.rpartition(":")[2]
            if last != part and re.fullmatch(_HEX64, last):
                container, runtime = last, "containerd" if "containerd" in part else ""
    if container and not runtime:
        runtime = _runtime_around(parts)
    return CgroupName(path, unit, container, pod, runtime)


@lru_cache(maxsize=4096)
def normalise(path: str) -> str:
    """The path with ids, uuids and numbers folded to `*`: equal for all instances of one thing."""
    return "/".join(_fold(part) for part in path[:_MAX_PATH].split("/"))


def _fold(part: str) -> str:
    part = _POD_HEX.sub("*", _HEX.sub("*", _UUID.sub("*", part)))
    kept: list[str] = []
    at = 0
    for match in _KEEP.finditer(part):
        kept += [_DIGITS.sub("*", part[at : match.start()]), match.group()]
        at = match.end()
    return "".join((*kept, _DIGITS.sub("*", part[at:])))


def _dashed(uid: str) -> str:
    digits = uid.replace("-", "").replace("_", "")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _runtime_around(parts: list[str]) -> str:
    """A bare id says nothing: pods look the same under every runtime with the cgroupfs driver."""
    if "ecs" in parts:
        return "ecs"
    return "docker" if any(part.startswith("docker") for part in parts) else ""
