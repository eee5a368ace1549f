"""What every report about a case says in the same words, on a screen and on a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from exhume.model.case import Case, Party, Rejected, Symptom
from exhume.model.finding import Figure

TEST_WORDS = (
    ("order", "the cause came first"),
    ("place", "in the same place"),
    ("dose", "more of it, more harm"),
    ("counterfactual", "quiet without it"),
)
"""The four tests in the order of `Tests.outcomes`."""
OUTCOME_MARKS = {"passed": "✓", "failed": "✗", "untested": "·"}
MOST_REJECTED = 4
MOST_SYMPTOMS = 3
_COMMAND = re.compile(r"`([^`]+)`|^(exhume .+?)(?=: |$)")
_OPEN = "not known yet"
_OUTSIDE = {"cpu-steal": "the hypervisor, not this node"}
"""By kind: who it is where nobody on the node has to be stopped."""
_GRADES = ("high", "medium", "low")


def parties(case: Case) -> Iterator[tuple[str, str]]:
    """Who was harmed, who held it up, who must be stopped."""
    if case.symptom is not None:
        victim = case.symptom.victim
        known = bool(victim.unit or victim.container or victim.pod or victim.comm or victim.exe)
        if known or case.symptom.kind != "question":
            yield "victim", f"{described(victim)} · {case.symptom.source}"
    cause = case.verdict.root_cause
    if cause is None:
        return
    payer = cause.details.get("payer")
    if isinstance(payer, dict) and payer.get("name") not in (None, cause.culprit.name):
        yield "payer", _named(payer)
    culprit = cause.culprit
    is_named = culprit.known or culprit.core is not None
    yield "culprit", described(culprit) if is_named else _OUTSIDE.get(cause.kind, _OPEN)


def described(party: Party) -> str:
    """`kubelet (pid 812)`: its name, and what else finds it."""
    pid = f" (pid {party.pid})" if party.pid is not None else ""
    return f"{party.name}{pid}"


def _named(details: dict[str, Figure]) -> str:
    pid = f" (pid {details['pid']})" if "pid" in details else ""
    return f"{details['name']}{pid}"


def telling(rejected: Sequence[Rejected]) -> tuple[list[Rejected], list[str]]:
    """The best suspects among the rejected, each name once, and the names of the others.

    One that many tests spoke for and one spoke against tells more than one that was never likely;
    somebody tells more than a core.
    """
    ordered = sorted(
        rejected,
        key=lambda one: (_GRADES.index(one.confidence), one.culprit.name.startswith("CPU ")),
    )
    once = list({one.culprit.name: one for one in reversed(ordered)}.values())[::-1]
    return once[:MOST_REJECTED], [one.culprit.name for one in once[MOST_REJECTED:]]


def also_harmed(case: Case) -> tuple[list[Symptom], int]:
    """What else was wrong in the window, since one case explains one kind of harm; and of how many
    more kinds there is no room to tell."""
    others = [one for one in case.symptoms if not _is_same(one, case.symptom)]
    return others[:MOST_SYMPTOMS], max(0, len(others) - MOST_SYMPTOMS)


def harm_text(one: Symptom) -> str:
    return one.text or f"{one.kind} of {one.victim.name}"


def _is_same(one: Symptom, other: Symptom | None) -> bool:
    return other is not None and (one.kind, one.wall_ns, one.window) == (
        other.kind, other.wall_ns, other.window,
    )  # fmt: skip


def words_and_commands(line: str) -> Iterator[tuple[str, bool]]:
    """Parts of an action, and whether each is a command to be copied: what stands between the only
    two ` of the line, or an exhume command that it begins with. Of more of them some are a name's.
    """
    at = 0
    for found in _COMMAND.finditer(line) if line.count("`") in (0, 2) else ():
        if found.start() > at:
            yield line[at : found.start()], False
        yield found[1] or found[2], True
        at = found.end()
    if at < len(line):
        yield line[at:], False
