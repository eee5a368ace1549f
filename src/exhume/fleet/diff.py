"""What differs between two fingerprints: the most telling first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from exhume.model.fingerprint import AREA, AREAS, Area, Field, Fingerprint, Kind, Value

SHOWN_KINDS: tuple[Kind, ...] = ("config", "state")
"""Which node it is, what changes by itself and what it happens to do are no differences."""
Verdict = Literal["same", "differs", "unknown"]


class Side(Struct, frozen=True):
    source: str
    """The file, the recording or the time it comes from."""
    node: str
    wall_ns: int
    exhume: str


class Change(Struct, frozen=True):
    name: str
    kind: Kind
    what: Literal["added", "removed", "changed"]
    before: Value | None
    """Null where it was not there."""
    after: Value | None


class Group(Struct, frozen=True):
    area: str
    title: str
    changes: tuple[Change, ...]


class Diff(Struct, frozen=True):
    """What differs between two nodes, or two times of one."""

    verdict: Literal["same", "differs", "unknown"]
    """`differs` where something of class config does; `unknown` where that can't be told."""
    before: Side
    after: Side
    groups: tuple[Group, ...]
    """The most telling first."""
    hidden: Mapping[str, int]
    """Differences by class that are not shown: which node it is, what changes by itself, load."""
    unknown: tuple[str, ...]
    """What could not be compared, and why."""
    notes: tuple[str, ...] = ()


def diff(
    one: Fingerprint, two: Fingerprint, sources: tuple[str, str], *, everything: bool = False
) -> Diff:
    hidden: Counter[str] = Counter()
    groups: list[Group] = []
    unknown = list(_missing(one, two, sources))
    named = [area.name for area in AREAS]
    others = sorted((set(one.fields) | set(two.fields)) - set(named))
    for area in (*AREAS, *(Area(name, name, "configuration") for name in others)):
        before, after = one.fields.get(area.name), two.fields.get(area.name)
        if before is None or after is None:
            has = before if after is None else after
            is_told = area.name in one.missing or area.name in two.missing
            if has and not is_told and any(field.kind == "config" for field in has.values()):
                lacking = sources[1] if after is None else sources[0]
                unknown.append(f"{area.title}: {lacking} says nothing about them")
            continue
        changes = [
            change
            for change in _changes(area, before, after)
            if not _excused(area, change, one, two)
        ]
        shown = [c for c in changes if everything or c.kind in SHOWN_KINDS]
        hidden.update(c.kind for c in changes if c not in shown)
        if shown:
            groups.append(Group(area.name, area.title, tuple(shown)))
    differs = any(change.kind == "config" for group in groups for change in group.changes)
    return Diff(
        verdict="differs" if differs else "unknown" if unknown else "same",
        before=_side(one, sources[0]),
        after=_side(two, sources[1]),
        groups=tuple(groups),
        hidden=dict(sorted(hidden.items())),
        unknown=tuple(unknown),
    )


def _changes(
    area: Area, before: Mapping[str, Field], after: Mapping[str, Field]
) -> Iterator[Change]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is not None and new is not None:
            if old.hash != new.hash:
                yield Change(name, new.kind, "changed", old.value, new.value)
        elif area.name not in _FOLLOWS:
            kind = (new or old).kind  # type: ignore[union-attr]
            what: Literal["added", "removed"] = "added" if old is None else "removed"
            yield Change(name, kind, what, old.value if old else None, new.value if new else None)


_FOLLOWS = frozenset({"module_version", "module_parameter", "unit_restarts"})
"""There only while the module is loaded or the unit runs: that is the difference to show."""


def _excused(area: Area, change: Change, one: Fingerprint, two: Fingerprint) -> bool:
    """What could not be read on one side is unknown, not absent."""
    place = f"{area.name}/{change.name}"
    return change.what != "changed" and any(
        f"{area.name}/" in why and (place == why or place.startswith((f"{why}/", f"{why}.")))
        for why in (*one.missing, *two.missing)
    )


def _missing(one: Fingerprint, two: Fingerprint, sources: tuple[str, str]) -> Iterator[str]:
    for what in sorted({*one.missing, *two.missing}):
        # A file that neither may read says nothing about a difference between them.
        if "/" in what and what in one.missing and what in two.missing:
            continue
        for side, source in ((one, sources[0]), (two, sources[1])):
            if what in side.missing:
                area = AREA.get(what)
                yield f"{area.title if area else what}: {side.missing[what]} ({source})"


def _side(one: Fingerprint, source: str) -> Side:
    return Side(source, one.node, one.wall_ns, one.exhume)
