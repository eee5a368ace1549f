"""A fleet as columns: for each field of the fingerprints, what each node has. Pure values.

Unknown and absent are two things. A node whose packages could not be read says nothing about a
package; one whose list of packages doesn't have it lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from exhume.model.arrays import I32
from exhume.model.fingerprint import AREA, Fingerprint, Kind, Tier, Value

UNKNOWN = -1
CULPRIT_KEYS = ("unit", "container", "comm", "exe", "pod", "cgroup")


class Column(Struct, frozen=True):
    area: str
    name: str
    kind: Kind
    codes: I32
    """For each node an index into `values`, or UNKNOWN."""
    values: tuple[Value | None, ...]
    """None: the node lacks it."""

    @property
    def key(self) -> str:
        return f"{self.area}/{self.name}"

    @property
    def tier(self) -> Tier:
        if self.area == "event":  # of windows of one node: something that happens
            return "mechanism"
        area = AREA.get(self.area)
        return area.tier if area else "configuration"


class CaseFacts(Struct, frozen=True):
    """What a comparison takes from one `exhume why --json`."""

    kind: str
    """Of the root cause; empty where none was found."""
    status: str
    culprits: tuple[tuple[str, str], ...] = ()
    """(`unit`, `ecs.service`) and the like: of the root cause first, then of other suspects."""


class Fleet(Struct, frozen=True):
    nodes: tuple[str, ...]
    columns: tuple[Column, ...]
    cases: Mapping[int, tuple[CaseFacts, ...]] = field(default_factory=dict)
    """By the node's place in `nodes`."""
    notes: tuple[str, ...] = ()


def fleet_of(
    fingerprints: Sequence[Fingerprint],
    cases: Mapping[int, tuple[CaseFacts, ...]] | None = None,
    notes: Iterable[str] = (),
) -> Fleet:
    collecting: dict[tuple[str, str], _Building] = {}
    looked: dict[str, list[int]] = {}
    for index, one in enumerate(fingerprints):
        for area, fields in one.fields.items():
            # One with a reason for not having been read is not known to be complete.
            if area not in one.missing:
                looked.setdefault(area, []).append(index)
            for name, entry in fields.items():
                building = collecting.get((area, name))
                if building is None:
                    building = collecting[area, name] = _Building(entry.kind)
                building.put(index, entry.hash, entry.value)
    columns: list[Column] = []
    for (area, name), building in collecting.items():
        known = AREA.get(area)
        codes = np.full(len(fingerprints), UNKNOWN, np.int32)
        values: list[Value | None] = list(building.values)
        if known is not None and known.is_inventory:
            codes[looked.get(area, [])] = len(values)
            values.append(None)
        codes[building.indices] = building.codes
        columns.append(Column(area, name, building.kind, codes, tuple(values)))
    by_key = {column.key: column for column in columns}
    for index, one in enumerate(fingerprints):
        for what in one.missing:
            if what in by_key:
                by_key[what].codes[index] = UNKNOWN
    nodes = tuple(one.node for one in fingerprints)
    return Fleet(nodes, tuple(columns), cases or {}, tuple(notes))


class _Building(Struct):
    kind: Kind
    indices: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def put(self, index: int, digest: str, value: Value) -> None:
        code = self.known.get(digest)
        if code is None:
            code = self.known[digest] = len(self.values)
            self.values.append(value)
        self.indices.append(index)
        self.codes.append(code)
