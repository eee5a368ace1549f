"""Fingerprints without a machine, and a machine full of secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from exhume.host import Host
from exhume.model.fingerprint import KINDS, VERSION, Field, Fingerprint, Kind, Value, hash_of_fields
from tests.sources.trees import FakeClock

Given = Mapping[str, Mapping[str, Value | tuple[Kind, Value]]]


def fingerprint(
    node: str, given: Given, missing: Mapping[str, str] | None = None, wall_ns: int = 10**18
) -> Fingerprint:
    """A plain value is of class config; (kind, value) says otherwise."""
    fields: dict[str, dict[str, Field]] = {}
    for area, entries in given.items():
        fields[area] = {}
        for name, value in entries.items():
            kind: Kind = "config"
            if isinstance(value, tuple) and len(value) == 2 and value[0] in KINDS:
                kind, value = value  # type: ignore[assignment]
            fields[area][name] = Field.of(kind, value)  # type: ignore[arg-type]
    return Fingerprint(
        VERSION, node, wall_ns, "0.1.0", 0.1, fields, missing or {}, hash_of_fields(fields)
    )


class Machine:
    """A directory that looks like a node."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = Host(
            proc=root / "proc", sys=root / "sys", dev=root / "dev", run=root / "run",
            clock=FakeClock(), root=root,
        )  # fmt: skip
        for name in ("proc", "sys", "dev", "run", "etc"):
            (root / name).mkdir(parents=True, exist_ok=True)

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file
