"""From a recording and a question to a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from exhume.detect.detectors import findings
from exhume.diagnose.hypotheses import HYPOTHESES
from exhume.diagnose.judge import case_of
from exhume.diagnose.place import place_of
from exhume.diagnose.risks import risks_of
from exhume.diagnose.scene import Scene, Stall
from exhume.diagnose.since_fix import since_fix
from exhume.diagnose.symptoms import grouped, is_as_bad, symptoms
from exhume.diagnose.told import told_holds, told_occupant
from exhume.inquiry.observe import close_up, look_around, observe
from exhume.model.answers import EventAnswer
from exhume.model.case import Case, Party, Symptom
from exhume.model.observation import CloseUp, Observation
from exhume.model.window import Window
from exhume.store.queries.holds import core_holds
from exhume.store.queries.presence import presence
from exhume.store.recording import Recording

SECOND_NS = 1_000_000_000
MOST_STALLS = 16
MOST_TRIED = 4
_SAME_NS = 1_000_000
"""Times in JSON are epoch seconds: a microsecond or two is lost."""
AROUND_NS = 900 * SECOND_NS
MOST_AROUND_NS = 3600 * SECOND_NS


@dataclass(frozen=True, slots=True)
class Question:
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


def why(recording: Recording, window: Window, question: Question) -> Case:
    seen = observe(recording, window)
    told = (*seen.events, *(event for event in question.job if window.contains(event.wall_ns)))
    holds = (*seen.holds, *told_holds(told, seen.holds))
    seen = replace(seen, holds=holds, events=tuple(sorted(told, key=lambda one: one.wall_ns)))
    groups = _asked(grouped(symptoms(seen)), question)
    if not groups:
        seen = look_around(recording, seen, _end_of(window))
        return case_of(seen, None, (), (), risks_of(seen, findings(seen)), gaps_of(seen))
    # Of several that are equally bad the one that can be explained; else the worst.
    equals = [group for group in groups if is_as_bad(group, groups[0])]
    equals = equals[: 1 if question.is_pointed else MOST_TRIED]
    first: Case | None = None
    for like in equals:
        case = _explained(recording, seen, groups, like, question)
        if case.verdict.root_cause is not None:
            return case
        first = first or case
    assert first is not None
    return first


def _explained(
    recording: Recording,
    seen: Observation,
    groups: Sequence[tuple[Symptom, ...]],
    like: tuple[Symptom, ...],
    question: Question,
) -> Case:
    seen = look_around(recording, seen, _around(like, seen.window))
    others = [one for group in groups if group is not like for one in group]
    scene = _scene(recording, seen, like, others)
    noticed = findings(seen)
    scene = replace(scene, findings=noticed)
    suspicions = [one for hypothesis in HYPOTHESES for one in hypothesis(scene)]
    worst = tuple(group[0] for group in groups)
    risks = risks_of(seen, noticed, [one.window for one in like])
    case = case_of(seen, scene, suspicions, worst, risks, gaps_of(seen))
    if question.fix_ns is None:
        return case
    return replace(case, since_fix=since_fix(seen, like, question.fix_ns))


def _asked(groups: list[tuple[Symptom, ...]], question: Question) -> list[tuple[Symptom, ...]]:
    if question.event_ns is not None:
        at = question.event_ns
        near = [g for g in groups if any(abs(one.wall_ns - at) < _SAME_NS for one in g)]
        return near + [g for g in groups if g not in near]
    if question.job:
        told = {event.wall_ns for event in question.job}
        own = [g for g in groups if any(one.wall_ns in told for one in g)]
        return own + [g for g in groups if g not in own]
    if question.at is not None:
        asked = Symptom(
            "question", question.at.start_ns, Party(core=question.core), "the question",
            question.at, text="what happened here?",
        )  # fmt: skip
        # Harm that was done just then is what the question is about.
        near = [g for g in groups if any(one.window.overlaps(question.at) for one in g)]
        if question.core is not None:
            near = [g for g in near if any(one.victim.core == question.core for one in g)]
        asked_at = question.at
        fitting = [
            tuple(sorted(g, key=lambda one: not one.window.overlaps(asked_at))) for g in near
        ]
        return fitting + [g for g in groups if g not in near] if fitting else [(asked,), *groups]
    if question.core is not None:
        on_core = [g for g in groups if any(one.victim.core == question.core for one in g)]
        return on_core + [g for g in groups if g not in on_core]
    return groups


def window_of(group: Sequence[Symptom]) -> Window:
    return Window(min(one.window.start_ns for one in group), max(o.window.end_ns for o in group))


def _around(like: Sequence[Symptom], window: Window) -> Window:
    """All of them if they lie within an hour, else the longest one's quarter of an hour."""
    whole = window_of(like)
    if whole.end_ns - whole.start_ns > MOST_AROUND_NS:
        whole = like[0].window
    wide = Window(whole.start_ns - AROUND_NS, whole.end_ns + AROUND_NS // 3)
    return wide.clip(window) or window


def _end_of(window: Window) -> Window:
    """What is risky is so now: the last hour says it."""
    return Window(max(window.start_ns, window.end_ns - MOST_AROUND_NS), window.end_ns)


def _scene(
    recording: Recording, seen: Observation, like: tuple[Symptom, ...], others: Sequence[Symptom]
) -> Scene:
    place = place_of(seen, like, others)
    if place.core is not None:
        short = core_holds(recording, place.core, seen.window)
        told = [hold for hold in seen.holds if hold.is_told or hold.core != place.core]
        seen = replace(seen, holds=tuple(sorted([*told, *short], key=lambda hold: hold.window)))
    chosen = like[:MOST_STALLS]
    stalls = tuple(
        Stall(
            one,
            one.window,
            place.core,
            None if place.core is None else _close_up(recording, seen, place.core, one.window),
        )
        for one in sorted(chosen, key=lambda one: one.window)
    )
    names = tuple(dict.fromkeys(s.holder.comm for s in stalls if s.holder is not None))
    here = {} if place.core is None else presence(recording, place.core, names[:8], seen.window)
    symptom = like[0]
    if symptom.victim.core is None and place.core is not None:
        symptom = replace(symptom, victim=replace(symptom.victim, core=place.core))
    return Scene(
        seen, symptom, like, tuple(others), stalls, place.core, place.known, place.claim, here
    )


def _close_up(recording: Recording, seen: Observation, core: int, window: Window) -> CloseUp:
    found = close_up(recording, core, window)
    told = None if found.during.samples else told_occupant(seen.events, core, window)
    if told is None:
        return found
    return replace(found, during=replace(found.during, occupants=(told,)))


def gaps_of(seen: Observation) -> tuple[str, ...]:
    found = list(seen.notes)
    if seen.sampled_seconds < 0.5 * seen.recorded_seconds:
        found.append(
            "most of this window has no stack samples: who was on a core can't be told; record "
            "with CAP_PERFMON, or import perf captures"
        )
    if seen.load is None:
        found.append("no times of cores: import mpstat or copies of /proc/stat with it")
    if seen.zombies is None or seen.zombies.zombies is None:
        found.append("memory cgroups were not counted: zombies can't be ruled out")
    return tuple(found)
