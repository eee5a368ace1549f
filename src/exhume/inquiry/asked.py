"""Which harm a question is about: that comes first, whatever else is worse."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from exhume.diagnose.symptoms import Group, severity
from exhume.model.answers import EventAnswer
from exhume.model.case import Party, Symptom
from exhume.model.window import Window

_SAME_NS = 1_000_000
"""Times in JSON are epoch seconds: a microsecond or two is lost."""
AROUND_NS = 1800 * 1_000_000_000
"""On each side of an instant that is asked about."""


class Question(Struct, frozen=True):
    """What to explain. Nothing named: the worst symptom of the window."""

    at: Window | None = None
    """The user's question is the symptom."""
    core: int | None = None
    event_ns: int | None = None
    """The time of the event to explain."""
    job: tuple[EventAnswer, ...] = ()
    """What a job's own log says: then its failures are what to explain."""
    fix_ns: int | None = None
    """When something was done about it: is it gone?"""

    @property
    def is_pointed(self) -> bool:
        """At something of the user's own choice."""
        named = (self.at, self.core, self.event_ns)
        return any(one is not None for one in named) or bool(self.job)


def asked(groups: Sequence[Group], question: Question) -> list[Group]:
    """What the question is about first, then all others as they are."""
    if question.event_ns is not None:
        at = question.event_ns
        return _first(groups, [g for g in groups if any(_is_at(one, at) for one in g)])
    if question.job:
        told = {event.wall_ns for event in question.job}
        return _first(groups, [g for g in groups if any(one.wall_ns in told for one in g)])
    if question.at is not None:
        # Harm that was done just then is what the question is about.
        near = _just_then(groups, question.at, question.core)
        return _first(groups, near) if near else [(_itself(question, question.at),), *groups]
    if question.core is not None:
        return _first(groups, _narrowed(groups, question.core))
    return list(groups)


def _is_at(one: Symptom, wall_ns: int) -> bool:
    return abs(one.wall_ns - wall_ns) < _SAME_NS


def _first(groups: Sequence[Group], chosen: Sequence[Group]) -> list[Group]:
    """What a chosen one leaves of its group stays behind it."""
    taken = {one for group in chosen for one in group}
    left = (tuple(one for one in group if one not in taken) for group in groups)
    return [*chosen, *(group for group in left if group)]


def _narrowed(groups: Sequence[Group], core: int | None) -> list[Group]:
    """Those on that core alone: what the same victim suffered elsewhere has another cause."""
    if core is None:
        return list(groups)
    here = (tuple(one for one in group if one.victim.core == core) for group in groups)
    return [group for group in here if group]


def _just_then(groups: Sequence[Group], at: Window, core: int | None) -> list[Group]:
    """The worst kind first; of equals, who was harmed for most of the time asked about."""
    found = []
    for group in _narrowed(groups, core):
        covered = max(_overlap_ns(one.window, at) for one in group)
        if covered > 0:
            ordered = tuple(sorted(group, key=lambda one: -_overlap_ns(one.window, at)))
            found.append((severity(group[0]), -covered, ordered))
    found.sort(key=lambda one: one[:2])
    return [group for _, _, group in found]


def _overlap_ns(one: Window, other: Window) -> int:
    both = one.clip(other)
    return 0 if both is None else both.end_ns - both.start_ns


def _itself(question: Question, at: Window) -> Symptom:
    return Symptom(
        "question", at.start_ns, Party(core=question.core), "the question", at,
        text="what happened here?",
    )  # fmt: skip
