"""Joins a comparison to the diagnosis: does a column name whom the cases suspect? Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from exhume.fleet.cohort import CaseFacts, Column, Fleet
from exhume.model.arrays import Bool

_COMM_LENGTH = 15
_AREAS = frozenset(
    {
        "unit",
        "unit_file",
        "unit_wanted",
        "unit_enabled",
        "unit_restarts",
        "process",
        "image",
        "module",
    }
)


def named_columns(columns: Sequence[Column], fleet: Fleet, ill: Bool) -> dict[int, int]:
    """Columns about a culprit or suspect of the ill nodes' cases, and how many cases name it."""
    said: Counter[tuple[str, str]] = Counter()
    for node, cases in fleet.cases.items():
        if ill[node]:
            said.update(culprit for case in cases for culprit in set(case.culprits))
    found: dict[int, int] = {}
    for index, column in enumerate(columns):
        if column.area in _AREAS:
            count = max((n for (kind, name), n in said.items() if names(column, kind, name)),
                        default=0)  # fmt: skip
            if count:
                found[index] = count
    return found


def names(column: Column, kind: str, name: str) -> bool:
    """Is this column about that culprit?"""
    if not name:
        return False
    area, own = column.area, column.name
    if area.startswith("unit"):
        if kind == "unit":
            return own == name
        return kind == "cgroup" and name.rstrip("/").rpartition("/")[2] == own
    if area == "process":
        program = name.rpartition("/")[2] if kind == "exe" else name
        return kind in ("comm", "exe") and own[:_COMM_LENGTH] == program[:_COMM_LENGTH]
    if area == "image":
        image = own.rpartition("/")[2].partition(":")[0]
        return kind == "container" and name in (own, image)
    if area == "module":
        return kind == "module" and own == name
    return False


def case_facts(body: object) -> CaseFacts | None:
    """From the JSON of `exhume why`; None where it is something else."""
    if not isinstance(body, dict) or not isinstance(body.get("verdict"), dict):
        return None
    verdict = body["verdict"]
    status = verdict.get("status")
    if status not in ("found", "suspected", "unknown", "healthy"):
        return None
    root = verdict.get("root_cause")
    suspects = body.get("suspects")
    listed = [root, *(suspects if isinstance(suspects, list) else ())]
    culprits: dict[tuple[str, str], None] = {}
    for suspect in listed:
        culprit = suspect.get("culprit") if isinstance(suspect, dict) else None
        for key, value in culprit.items() if isinstance(culprit, dict) else ():
            if isinstance(value, str) and value:
                culprits[str(key), value[:300]] = None
    kind = root.get("kind") if isinstance(root, dict) else None
    return CaseFacts(kind if isinstance(kind, str) else "", status, tuple(culprits))
