"""What a node is and runs: fields in areas, each with a class and a hash of its own.

Two fingerprints can then be compared as sets. Values are scrubbed before they come here: nothing
below knows a secret (`fleet.scrub`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

VERSION = 1
Kind = Literal["identity", "volatile", "config", "state", "load"]
KINDS: tuple[Kind, ...] = ("identity", "volatile", "config", "state", "load")
Value: TypeAlias = bool | int | float | str | tuple[str, ...]
Tier = Literal["mechanism", "configuration", "label", "load"]
TIERS: tuple[Tier, ...] = ("mechanism", "configuration", "label", "load")
"""How telling it is that a field separates nodes: what runs, how it is set, where it stands, and
what may just as well be the illness itself."""


class Area(Struct, frozen=True):
    """One kind of thing that a node has, and what it means to lack one."""

    name: str
    title: str
    """What a difference in it is called."""
    tier: Tier
    is_inventory: bool = False
    """The whole list is known: what isn't in it is absent, not unknown."""
    is_version: bool = False
    """Values are versions, which have an order."""


AREAS: tuple[Area, ...] = (
    Area("unit", "units that run", "mechanism", is_inventory=True),
    Area("image", "container images that run", "mechanism", is_inventory=True),
    Area("module", "kernel modules", "mechanism", is_inventory=True),
    Area("unit_file", "unit files", "configuration", is_inventory=True),
    Area("unit_wanted", "units started by", "configuration", is_inventory=True),
    Area("unit_enabled", "unit file states", "configuration", is_inventory=True),
    Area("cron", "cron tables", "configuration", is_inventory=True),
    Area("package", "packages", "configuration", is_inventory=True, is_version=True),
    Area("kernel", "kernel", "configuration", is_version=True),
    Area("cmdline", "kernel command line", "configuration", is_inventory=True),
    Area("sysctl", "sysctls", "configuration", is_inventory=True),
    Area("module_version", "module versions", "configuration", is_version=True),
    Area("module_parameter", "module parameters", "configuration"),
    Area("nic", "network cards", "configuration", is_version=True),
    Area("irq", "interrupt affinity", "configuration"),
    Area("file", "configuration files", "configuration", is_inventory=True),
    Area("mount", "mounts", "configuration", is_inventory=True),
    Area("cpu", "processor", "configuration"),
    Area("mitigation", "processor mitigations", "configuration"),
    Area("memory", "memory", "configuration"),
    Area("cgroup", "cgroups", "configuration"),
    Area("limit", "limits", "configuration"),
    Area("time", "clock", "configuration"),
    Area("os", "operating system", "configuration", is_version=True),
    Area("gpu", "graphics processors", "configuration", is_version=True),
    Area("unit_restarts", "restarts of units", "mechanism"),
    Area("process", "processes", "mechanism", is_inventory=True),
    Area("label", "labels", "label"),
    Area("cloud", "cloud", "label"),
    Area("node", "identity", "label"),
    Area("load", "load", "load"),
)
"""The most telling first: the order of `exhume diff`."""
AREA = {area.name: area for area in AREAS}


class Field(Struct, frozen=True):
    kind: Kind
    """`identity` (which node it is), `volatile` (changes by itself), `config`, `state` (what is
    running), `load`."""
    value: Value
    """A list is a set: sorted, each once."""
    hash: str
    """Of the value; equal hashes are equal values."""

    @staticmethod
    def of(kind: Kind, value: Value) -> Field:
        return Field(kind, value, hash_of(value))


class Fingerprint(Struct, frozen=True):
    """What a node is and runs. Secrets are not in it: they are left out, or four hex digits."""

    fingerprint: int
    """The version of this form."""
    node: str
    wall_ns: int
    exhume: str
    cpu_seconds: float
    """What it took to collect."""
    fields: Mapping[str, Mapping[str, Field]]
    """By area and name. An area that isn't there was not asked or is not on this node."""
    missing: Mapping[str, str]
    """Area, or area/name, and why it could not be read."""
    hash: str
    """Of all fields of class config and state: equal where nothing changed."""

    def field(self, area: str, name: str) -> Field | None:
        return self.fields.get(area, {}).get(name)


def hash_of(value: Value) -> str:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def hash_of_fields(fields: Mapping[str, Mapping[str, Field]]) -> str:
    """Of what should stay the same until somebody changes something."""
    digest = hashlib.blake2b(digest_size=16)
    for area in sorted(fields):
        for name, field in sorted(fields[area].items()):
            if field.kind in ("config", "state"):
                line = json.dumps([area, name, field.kind, field.hash], ensure_ascii=True)
                digest.update(line.encode())
    return digest.hexdigest()


def as_set(members: object) -> tuple[str, ...]:
    return tuple(sorted({str(member) for member in members}))  # type: ignore[attr-defined]
