"""A job dies of what was done to its node: its failure follows that harm, and has the same cause.

A fetch is given up, a node is marked dead some seconds after its network card was gone: by then the
core is free again, and nothing at that instant explains the failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from exhume.detect import shown
from exhume.diagnose import four_tests
from exhume.diagnose.judge import grade
from exhume.diagnose.scene import Proof, Step, Suspicion
from exhume.diagnose.symptoms import Group
from exhume.model.case import Symptom, Tests
from exhume.model.finding import Figure
from exhume.model.window import Window

FOLLOWS = "job-failure"
LATEST_NS = 60 * 1_000_000_000
"""Heartbeats are missed several times before a node is given up."""
_TOLD_BY = "kernel log"
_LEAST_SHARE = 0.5
_MOST_GROUPS = 2


class Before(Struct, frozen=True):
    """Harm to the node that came shortly before a job's failures."""

    group: Group
    """First the one that the failure in question came after: what is said is of its time."""
    link: Step
    """From the failures to it."""


def harm_before(like: Group, groups: Sequence[Group], within: Window) -> tuple[Before, ...]:
    """What the kernel told of shortly before most of these failures; what comes before most of
    them first."""
    if like[0].kind != FOLLOWS:
        return ()
    found: list[tuple[int, Before]] = []
    # Who was held is told by the same line as a lockup.
    told = [g for g in groups if g[0].source == _TOLD_BY and g[0].kind != "held-thread"]
    for kind in dict.fromkeys(g[0].kind for g in told):
        same = [g for g in told if g[0].kind == kind]
        # A card resets whichever queue it is that waits: for the test all of them are one cause.
        link = _link(like, [one for group in same for one in group], within)
        if link is None:
            continue
        found += [
            (_preceded(like, group), Before(_own_first(group, like[0]), link)) for group in same
        ]
    ranked = sorted(found, key=lambda one: -one[0])
    return tuple(before for count, before in ranked[:_MOST_GROUPS] if count)


def following(suspicions: Sequence[Suspicion], before: Before, job: Symptom) -> Iterator[Suspicion]:
    """What explains the harm explains the failure, if the link between them holds; no surer."""
    for one in suspicions:
        surest = grade(one, before.group[0].source)
        yield replace(
            one,
            summary=f"{one.summary}; {job.victim.name} fails after that",
            steps=(before.link, *one.steps),
            details={**one.details, "job": job.victim.name},
            at_most=surest,
        )


def _link(like: Group, harm: Sequence[Symptom], within: Window) -> Step | None:
    job, like = like[0], _apart(like)
    effects = [_shortly_before(one) for one in like]
    causes = [Window(one.wall_ns, one.wall_ns + 1) for one in harm]
    outcome, share, chance = four_tests.counterfactual(causes, effects, within)
    if not share >= _LEAST_SHARE:
        return None
    after = [
        min(one.wall_ns - h.wall_ns for h in harm if _shortly_before(one).contains(h.wall_ns)) / 1e9
        for one in like
        if any(_shortly_before(one).contains(h.wall_ns) for h in harm)
    ]
    first = _own_first(sorted(harm, key=lambda one: one.wall_ns), job)[0]
    many = "it" if len(like) == 1 else f"{len(after)} of {len(like)} failures"
    claim = (
        f"{many} came {median(after):.0f} s after a {first.kind} of this node ({first.victim.name})"
    )
    figures: dict[str, Figure] = {
        "met_percent": round(100 * share, 1),
        "seconds_after": round(median(after), 1),
    }
    if chance == chance:
        figures["chance"] = round(chance, 4)
        claim += f"; by chance so many would in {100 * chance:.1f} % of shifts"
    both = Window(first.window.start_ns, max(first.window.end_ns, job.wall_ns))
    check = f"exhume events {shown.span_from(both.start_ns, both.seconds + 5)}"
    proof = Proof(_TOLD_BY, f"{first.source}: {first.text or first.kind}", figures, both, check)
    return Step(claim, "mechanism", Tests(order="passed", counterfactual=outcome), (proof,))


def _own_first(harm: Sequence[Symptom], job: Symptom) -> Group:
    """The last one shortly before this very failure, if there is any, before the others."""
    own = max((h for h in harm if _shortly_before(job).contains(h.wall_ns)),
              key=lambda one: one.wall_ns, default=harm[0])  # fmt: skip
    return (own, *(one for one in harm if one is not own))


def _apart(like: Group) -> Group:
    """A job that fails says so in many lines, and of many workers: that is one failure."""
    kept: list[Symptom] = []
    for one in sorted(like, key=lambda one: one.wall_ns):
        if not kept or one.wall_ns - kept[-1].wall_ns > LATEST_NS:
            kept.append(one)
    return tuple(kept)


def _preceded(like: Group, harm: Group) -> int:
    return sum(any(_shortly_before(one).contains(h.wall_ns) for h in harm) for one in like)


def _shortly_before(failure: Symptom) -> Window:
    return Window(failure.wall_ns - LATEST_NS, failure.wall_ns + 1)
