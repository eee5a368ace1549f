"""What every report about a case says in the same words, on a screen and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exhume.model.case import Case, Party, Rejected
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
_OPEN = "not known yet"
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
    yield "culprit", described(culprit) if culprit.known or culprit.core is not None else _OPEN


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
