"""Suspicions → a verdict: graded by their tests, ranked, and those that something contradicts
rejected with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, to_builtins

from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.diagnose.symptom_checks import check_of
from exhume.model.case import (
    Actions,
    Case,
    Confidence,
    Evidence,
    Link,
    Outcome,
    Party,
    Rejected,
    Risk,
    RootCause,
    Status,
    Suspect,
    Symptom,
    Tests,
    Verdict,
)
from exhume.model.finding import Figure
from exhume.model.observation import Observation

_GRADES: tuple[Confidence, ...] = ("high", "medium", "low")
_LEAST_SIGNALS = 2
MOST_SUSPECTS = 5
_SAID = {"high": "found", "medium": "suspected", "low": "unknown"}


class Graded(Struct, frozen=True):
    suspicion: Suspicion
    tests: Tests
    confidence: Confidence


def case_of(
    seen: Observation,
    scene: Scene | None,
    suspicions: Sequence[Suspicion],
    found: Sequence[Symptom],
    risks: Sequence[Risk],
    gaps: Sequence[str],
) -> Case:
    beside = scene.symptom.source if scene is not None else ""
    graded = [Graded(one, merged(one.steps), grade(one, beside)) for one in suspicions]
    standing = [one for one in graded if not reason_against(one)]
    standing.sort(key=_rank)
    # Several harms may lead to the same one.
    once = {(one.suspicion.kind, one.suspicion.culprit): one for one in reversed(standing)}
    standing = [one for one in standing if once[one.suspicion.kind, one.suspicion.culprit] is one]
    rejected = [_rejected(one, reason_against(one)) for one in graded if reason_against(one)]
    first = standing[0] if standing else None
    paying = [one for one in standing if first is not None and _is_paying(one, first)]
    standing = [one for one in standing if one not in paying]
    rejected += [_rejected(one, _why_paying(first)) for one in paying if first is not None]
    book = _Book()
    chain: tuple[Link, ...] = ()
    if scene is not None:
        chain = (
            (book.symptom(scene), *(book.link(s) for s in first.suspicion.steps))
            if first
            else (book.symptom(scene),)
        )
    verdict = _verdict(scene, first)
    missing = first.suspicion.missing if first else ()
    return Case(
        window=seen.window,
        node=seen.node,
        kernel=seen.kernel,
        symptom=scene.symptom if scene else None,
        verdict=verdict,
        chain=chain,
        suspects=tuple(_suspect(one) for one in standing[:MOST_SUSPECTS]),
        rejected=tuple(rejected),
        risks=tuple(risks),
        evidence=tuple(book.evidence),
        actions=first.suspicion.actions if first and verdict.root_cause else Actions(),
        gaps=tuple(dict.fromkeys([*missing, *gaps])),
        symptoms=tuple(found),
    )


def grade(one: Suspicion, beside: str = "") -> Confidence:
    """What its tests say, but no more than it may claim. `beside`: what told of the symptom."""
    return max(_by_tests(one, beside), one.at_most, key=_GRADES.index)


def _by_tests(one: Suspicion, beside: str) -> Confidence:
    """high: all four tests passed; medium: two; low: less, or only one kind of signal."""
    passed = merged(one.steps).outcomes().count("passed")
    signals = {proof.signal for step in one.steps for proof in step.proofs} | {beside} - {""}
    if len(signals) < _LEAST_SIGNALS or not one.steps:
        return "low"
    weakest = min(step.tests.outcomes().count("passed") for step in one.steps)
    if passed == 4 and weakest >= 2:
        return "high"
    return "medium" if passed >= 2 and weakest >= 1 else "low"


def merged(steps: Sequence[Step]) -> Tests:
    """Of a chain: failed where any link failed, passed where one passed and none failed."""
    columns = zip(*(step.tests.outcomes() for step in steps), strict=True)
    outcomes = [_merge(column) for column in columns]
    return Tests(*outcomes) if outcomes else Tests()


def _merge(outcomes: Sequence[Outcome]) -> Outcome:
    if "failed" in outcomes:
        return "failed"
    return "passed" if "passed" in outcomes else "untested"


def reason_against(one: Graded) -> str:
    if one.suspicion.contradiction:
        return one.suspicion.contradiction
    names = ("order", "place", "dose", "counterfactual")
    failed = [
        f"{name} ({step.claim})"
        for step in one.suspicion.steps
        for name, outcome in zip(names, step.tests.outcomes(), strict=True)
        if outcome == "failed"
    ]
    return f"it fails the test of {failed[0]}" if failed else ""


def _is_paying(one: Graded, first: Graded) -> bool:
    """Is it whom a chain that is found names as the payer, seen from nearer?"""
    payer, who = first.suspicion.payer, one.suspicion.culprit
    if payer is None or payer.known is None or first.confidence != "high":
        return False
    is_same = who.pid == payer.pid if who.pid and payer.pid else who.known == payer.known
    return is_same and one.suspicion.depth < first.suspicion.depth


def _why_paying(first: Graded) -> str:
    return f"it only pays for {first.suspicion.culprit.name}: the chain above says how"


def _rank(one: Graded) -> tuple[int, int, int]:
    """Equals stay as the hypotheses order them."""
    passed = one.tests.outcomes().count("passed")
    return _GRADES.index(one.confidence), -one.suspicion.depth, -passed


def _verdict(scene: Scene | None, first: Graded | None) -> Verdict:
    if scene is None:
        return Verdict("healthy", "nobody was harmed in this window", None, None)
    what = f"{scene.symptom.kind} of {scene.symptom.victim.name}"
    if first is None:
        summary = f"{what}: the evidence does not say why"
        return Verdict("unknown", summary, None, None)
    status: Status = _SAID[first.confidence]  # type: ignore[assignment]
    one = first.suspicion
    cause = RootCause(one.kind, one.culprit, details_of(one)) if status != "unknown" else None
    return Verdict(status, one.summary, first.confidence, cause)


def details_of(one: Suspicion) -> dict[str, Figure | dict[str, Figure]]:
    found: dict[str, Figure | dict[str, Figure]] = dict(one.details)
    if one.payer is not None:
        found["payer"] = named(one.payer)
    if one.victim is not None:
        found["victim"] = named(one.victim)
    return found


def named(party: Party) -> dict[str, Figure]:
    """What is known of somebody, and the name to call it by."""
    return {"name": party.name} | {k: v for k, v in to_builtins(party).items() if v is not None}


def _suspect(one: Graded) -> Suspect:
    s = one.suspicion
    return Suspect(s.kind, s.culprit, details_of(s), one.confidence, s.summary)


def _rejected(one: Graded, reason: str) -> Rejected:
    s = one.suspicion
    return Rejected(s.kind, s.culprit, details_of(s), one.confidence, s.summary, reason)


class _Book:
    """Gives evidence its ids, in the order it is first used."""

    def __init__(self) -> None:
        self.evidence: list[Evidence] = []
        self._ids: dict[tuple[str, str], str] = {}

    def symptom(self, scene: Scene) -> Link:
        one = scene.symptom
        # What is shown beside it is this one; how many there are is told with the symptom.
        many = f" (one of {one.count} in this window)" if one.count > 1 else ""
        claim = f"{one.text or one.kind}{many}"
        proof = Proof(
            one.source,
            f"{one.source}: {claim}",
            {"seconds": round(one.window.seconds, 3), "count": one.count},
            one.window,
            check_of(one, scene.seen),
        )
        return self.link(Step(claim, "symptom", Tests(place=scene.place), (proof,)))

    def link(self, step: Step) -> Link:
        if not step.proofs:
            raise ValueError(f"a link needs evidence: {step.claim}")
        return Link(step.claim, step.role, step.tests, tuple(map(self._id, step.proofs)))

    def _id(self, proof: Proof) -> str:
        key = proof.claim, proof.check
        if key not in self._ids:
            self._ids[key] = f"e{len(self._ids) + 1}"
            self.evidence.append(
                Evidence(self._ids[key], proof.claim, proof.figures, proof.window, proof.check)
            )
        return self._ids[key]
