"""Which harm a question is about: that comes first, whatever else is worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from exhume.diagnose.symptoms import Group, severity
from exhume.model.answers import EventAnswer
from exhume.model.case import Party, Symptom, Verdict
from exhume.model.window import Window

_SAME_NS = 1_000_000
"""Times in JSON are epoch seconds: a microsecond or two is lost."""
AROUND_NS = 1800 * 1_000_000_000
"""On each side of an instant that is asked about."""
_NOTICED_NS = 5 * 1_000_000_000
"""Who asks about an instant has seen what came of it: the harm may be over by then."""
NO_LOG = "nobody was held in the kernel; of other harm a log would tell, and none is here"
CANT_TELL = "not enough evidence: these files can't tell whether anybody was harmed"


class Question(Struct, frozen=True):
    """What to explain. Nothing named: the worst symptom of the window."""

    at: Window | None = None
    """The user's question is the symptom."""
    core: int | None = None
    event: Window | None = None
    """When the event to explain happened, as exactly as somebody said that."""
    job: tuple[EventAnswer, ...] = ()
    """What a job's own log says: then its failures are what to explain."""
    fix_ns: int | None = None
    """When something was done about it: is it gone?"""

    @property
    def is_pointed(self) -> bool:
        """At something of the user's own choice."""
        named = (self.at, self.core, self.event)
        return any(one is not None for one in named) or bool(self.job)


def asked(groups: Sequence[Group], question: Question) -> list[Group]:
    """What the question is about first, then all others as they are; none where there is no such
    harm: then other harm is no answer."""
    if question.event is not None:
        at = question.event
        chosen = _chosen(groups, lambda one: _is_at(one, at))
        # A line is an event; what samples show at that time is none that `exhume events` lists.
        return _first(groups, sorted(chosen, key=lambda group: not group[0].event_class))
    if question.job:
        told = {event.wall_ns for event in question.job}
        return _first(groups, _chosen(groups, lambda one: one.wall_ns in told))
    if question.at is not None:
        # Harm that was done just then is what the question is about.
        at = question.at
        before = Window(at.start_ns - _NOTICED_NS, at.start_ns)
        near = _just_then(groups, at, question.core) or _just_then(groups, before, question.core)
        return _first(groups, near) or [(_itself(question, at),), *groups]
    if question.core is not None:
        return _first(groups, _narrowed(groups, question.core))
    return list(groups)


def unanswered(
    groups: Sequence[Group], question: Question, *, can_tell: bool = True, has_log: bool = True
) -> tuple[Verdict, Group]:
    """What to say where there is no harm of the kind asked for, and which there is instead.

    `can_tell`: if there had been harm, something would have told of it. `has_log`: any kind of it.
    """
    heads = tuple(group[0] for group in groups)
    if question.event is not None:
        at_ns = question.event.start_ns
        nearest = [min(group, key=lambda one: abs(one.wall_ns - at_ns)) for group in groups]
        nearest.sort(key=lambda one: abs(one.wall_ns - at_ns))
        return _verdict("unknown", "no event at that time tells of harm"), tuple(nearest)
    if question.job:
        return _verdict("unknown", "none of that log's failures lies in this window"), heads
    if question.core is not None and groups:
        return _verdict("healthy", f"no harm is known on CPU {question.core} in this window"), heads
    if not can_tell:
        return _verdict("unknown", CANT_TELL), heads
    return _verdict("healthy", "nobody was harmed in this window" if has_log else NO_LOG), heads


def _verdict(status: Literal["healthy", "unknown"], summary: str) -> Verdict:
    return Verdict(status, summary, None, None)


def _is_at(one: Symptom, at: Window) -> bool:
    return -_SAME_NS < one.wall_ns - at.start_ns < max(_SAME_NS, at.end_ns - at.start_ns)


def _chosen(groups: Sequence[Group], is_meant: Callable[[Symptom], bool]) -> list[Group]:
    """Groups with such harm, and in each of them that first: it is what is explained."""
    return [
        tuple(sorted(group, key=lambda one: not is_meant(one)))
        for group in groups
        if any(map(is_meant, group))
    ]


def _first(groups: Sequence[Group], chosen: Sequence[Group]) -> list[Group]:
    """What a chosen one leaves of its group stays behind it."""
    if not chosen:
        return []
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
