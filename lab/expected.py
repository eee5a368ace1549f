"""What the diagnosis must say of a fault, and how what it said is weighed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

Mark = Literal[
    "first", "first only", "top three", "wrong", "missed", "harmless", "silent", "alarm", "accused"
]  # fmt: skip
"""Of a fault: the right cause first; first, but of two the other not among the first three; among
them; another one; none, or nobody named for it; healthy, and so it was: no victim complained. Of a
healthy run: nothing said, a symptom without a culprit, somebody accused."""
_TOP = 3
_NAMES = ("unit", "container", "pod", "cgroup", "comm", "exe")


class Cause(Struct, frozen=True):
    kind: str
    culprits: tuple[str, ...]
    """Any of the names by which it may be called."""
    payers: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    core: int | None = None


class Expected(Struct, frozen=True):
    """Nothing in it: nobody is harmed, and nobody may be accused."""

    causes: tuple[Cause, ...] = ()
    """The worst first."""


class Weighed(Struct, frozen=True):
    mark: Mark
    confidence: str | None
    said: str
    """The verdict in its own words."""
    details: dict[str, bool] = field(default_factory=dict)
    """Were payer, victim and core right, where they were known?"""


def weigh(case: Mapping[str, Any], expected: Expected, *, harmed: bool = True) -> Weighed:
    """`harmed`: by the victims' own logs."""
    verdict = case["verdict"]
    cause, said = verdict["root_cause"], f"{verdict['status']}: {verdict['summary']}"
    confidence = verdict["confidence"]
    if not expected.causes:
        marks: dict[str, Mark] = {"healthy": "silent", "unknown": "alarm"}
        return Weighed(marks.get(verdict["status"], "accused"), confidence, said)
    if verdict["status"] == "healthy" and not harmed:
        return Weighed("harmless", confidence, said)
    suspects = case["suspects"][:_TOP]
    missing = [one for one in expected.causes if not any(_is(one, each) for each in suspects)]
    first = expected.causes[0]
    if cause is not None and _is(first, cause):
        mark: Mark = "first only" if missing else "first"
        return Weighed(mark, confidence, said, _details(first, cause))
    if not missing:
        return Weighed("top three", confidence, said)
    wrong = cause is not None and not any(_is_no_lie(one, cause) for one in expected.causes)
    return Weighed("wrong" if wrong else "missed", confidence, said)


def _is(cause: Cause, said: Mapping[str, Any]) -> bool:
    return said["kind"] == cause.kind and _is_called(said["culprit"], cause.culprits)


def _is_no_lie(cause: Cause, said: Mapping[str, Any]) -> bool:
    """Of the right kind, and by whom is left open: then nobody is accused."""
    is_open = not any(said["culprit"].get(key) for key in _NAMES)
    return _is(cause, said) or (said["kind"] == cause.kind and is_open)


def _details(cause: Cause, said: Mapping[str, Any]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    told = said.get("details") or {}
    for role, names in (("payer", cause.payers), ("victim", cause.victims)):
        if names:
            party = told.get(role)
            found[role] = isinstance(party, Mapping) and _is_called(party, names)
    if cause.core is not None:
        parties = [said["culprit"], told.get("payer"), told.get("victim")]
        cores = [one.get("core") for one in parties if isinstance(one, Mapping)]
        found["core"] = cause.core in [*cores, told.get("core")]
    return found


def _is_called(party: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    called = [str(party[key]) for key in _NAMES if party.get(key)]
    return any(name == one or name in one.split("/") for one in called for name in names)
