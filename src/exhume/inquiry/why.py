"""From a recording and a question to a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.detect.detectors import findings
from exhume.diagnose.followed import following, harm_before
from exhume.diagnose.hypotheses import HYPOTHESES
from exhume.diagnose.judge import case_of
from exhume.diagnose.measured import best_first, is_covered, is_measured
from exhume.diagnose.place import place_of
from exhume.diagnose.risks import risks_of, split
from exhume.diagnose.scene import Scene, Stall, Suspicion
from exhume.diagnose.since_fix import since_fix
from exhume.diagnose.symptoms import Group, grouped, is_as_bad, symptoms
from exhume.diagnose.together import Told, together, unexplained
from exhume.diagnose.told import told_holds, told_occupant, with_told
from exhume.diagnose.waiting import to_be_asked
from exhume.diagnose.witnesses import can_tell_of_harm, is_unnamed, mute_samples, tells_log
from exhume.ingest.manifest import has_log_of, placed_by_file_time
from exhume.inquiry.asked import Question, asked, unanswered
from exhume.inquiry.crowds import crowds
from exhume.inquiry.job_log import other_nodes
from exhume.inquiry.observe import close_up, look_around, observe
from exhume.inquiry.senders import senders
from exhume.model.case import Case, Symptom
from exhume.model.observation import CloseUp, Observation
from exhume.model.occupancy import Hold
from exhume.model.window import Window
from exhume.store.ended import is_imported
from exhume.store.queries.holds import core_holds
from exhume.store.queries.not_in_files import has_any
from exhume.store.queries.presence import presence
from exhume.store.recording import Recording

SECOND_NS = 1_000_000_000
MOST_STALLS = 16
MOST_TRIED = 4
MOST_BESIDES = 3
_MOSTLY = 0.5
AROUND_NS = 900 * SECOND_NS
MOST_AROUND_NS = 3600 * SECOND_NS


class _Inquiry(Struct, frozen=True):
    recording: Recording
    seen: Observation
    groups: Sequence[Group]
    question: Question
    _around: dict[Window, Observation] = field(default_factory=dict)

    def around(self, like: Group) -> Observation:
        """Several groups often lie in the same stretch: it is read once."""
        window = _around(like, self.seen.window)
        if window not in self._around:
            self._around[window] = look_around(self.recording, self.seen, window)
        return self._around[window]


def why(recording: Recording, window: Window, question: Question) -> Case:
    seen = observe(recording, window)
    known = {(event.wall_ns, event.text) for event in seen.events}  # the log may be imported, too
    job = [event for event in question.job if (event.wall_ns, event.text) not in known]
    told = (*seen.events, *(event for event in job if window.contains(event.wall_ns)))
    if elsewhere := other_nodes(question.job, seen.node):
        seen = replace(seen, notes=(*seen.notes, elsewhere))
    holds = (*seen.holds, *told_holds(told, seen.holds))
    seen = replace(seen, holds=holds, events=tuple(sorted(told, key=lambda one: one.wall_ns)))
    known_harm = grouped(symptoms(seen))
    groups = asked(known_harm, question)
    if not groups:
        verdict, others = unanswered(
            known_harm,
            question,
            can_tell=would_have_told(recording, seen),
            has_log=_has_log(recording, seen),
        )
        # Asked whether it is gone, that nobody was harmed is no answer by itself.
        fix = None if question.fix_ns is None else since_fix(seen, (), question.fix_ns)
        seen = look_around(recording, seen, _end_of(window))
        risks, gaps = risks_of(seen, findings(seen)), gaps_of(recording, seen)
        case = case_of(seen, None, (), others, risks, gaps)
        return replace(case, verdict=verdict, since_fix=fix)
    if not question.is_pointed:
        groups = [best_first(seen, group) for group in groups]
    inquiry = _Inquiry(recording, seen, groups, question)
    # Of several that are equally bad the one that can be explained; else the worst.
    equals = [group for group in groups if is_as_bad(group, groups[0])]
    equals.sort(key=lambda group: not is_measured(seen, group))
    equals = equals[: 1 if question.is_pointed else MOST_TRIED]
    told_of: list[Told] = []
    for like in equals:
        told_of.append(Told(like, _explained(inquiry, like)))
        if told_of[-1].case.verdict.root_cause is not None:
            break
    main = told_of[-1] if told_of[-1].case.verdict.root_cause is not None else told_of[0]
    if question.is_pointed:
        return main.case
    besides = list(_besides(inquiry, told_of))
    if not is_measured(seen, main.like) and (better := _measured_cause(inquiry, besides)):
        # Worse harm, of which only that it happened is known, hides no cause of what was measured.
        besides = [one for one in (main, *besides) if one.like is not better.like]
        main = better
    return together(main, besides)


def _measured_cause(inquiry: _Inquiry, besides: Sequence[Told]) -> Told | None:
    for one in besides:
        if one.case.verdict.root_cause is not None and is_measured(inquiry.seen, one.like):
            return Told(one.like, _explained(inquiry, one.like))
    return None


def _besides(inquiry: _Inquiry, told_of: Sequence[Told]) -> Iterator[Told]:
    """Harm that what is explained already does not account for may have a cause of its own."""
    known = [*told_of]
    left = [group for group in inquiry.groups if all(group is not one.like for one in known)]
    left.sort(key=lambda group: not is_measured(inquiry.seen, group))
    for _ in range(MOST_BESIDES):
        chosen = unexplained(left, known)
        if chosen is None:
            return
        left = [group for group in left if group is not chosen]
        known.append(Told(chosen, _explained(inquiry, chosen, with_risks=False)))
        yield known[-1]


def _explained(inquiry: _Inquiry, like: Group, *, with_risks: bool = True) -> Case:
    seen = inquiry.around(like)
    scene = _scene_of(inquiry, like)
    suspicions = _suspicions(scene)
    worst = tuple(group[0] for group in inquiry.groups)
    besides, during = split(findings(seen) if with_risks else (), [one.window for one in like])
    risks = risks_of(seen, besides)
    gaps = (
        *_misplaced(inquiry.recording, inquiry.seen, scene.like),
        *_unsampled(seen, scene.like),
        *gaps_of(inquiry.recording, seen),
    )
    case = case_of(seen, scene, suspicions, worst, risks, gaps)
    # Of a guess about the failure's own seconds and the cause of harm before it the better is told.
    if case.verdict.confidence != "high":
        for before in harm_before(like, inquiry.groups, inquiry.seen.window):
            theirs = _suspicions(_scene_of(inquiry, before.group))
            suspicions += following(theirs, before, scene.symptom)
        case = case_of(seen, scene, suspicions, worst, risks, gaps)
    if case.verdict.root_cause is None:
        gaps = (*to_be_asked(scene), *case.gaps)
        case = replace(case, meanwhile=risks_of(seen, during), gaps=gaps)
    if scene.symptom.kind == "question" and not case.suspects:
        case = replace(case, verdict=replace(case.verdict, summary=_nobody_known(scene.symptom)))
    fix_ns = inquiry.question.fix_ns
    return case if fix_ns is None else replace(case, since_fix=since_fix(seen, like, fix_ns))


def _nobody_known(question: Symptom) -> str:
    where = "" if question.victim.core is None else f" on CPU {question.victim.core}"
    return f"no harm is known at that time{where}, and the evidence does not say what happened"


def _scene_of(inquiry: _Inquiry, like: Group) -> Scene:
    others = [one for group in inquiry.groups if group is not like for one in group]
    return _scene(inquiry.recording, inquiry.around(like), like, others)


def _suspicions(scene: Scene) -> list[Suspicion]:
    return [one for hypothesis in HYPOTHESES for one in hypothesis(scene)]


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
        seen = replace(seen, holds=_holds(recording, seen, place.core))
    # Of harm that was not sampled nobody can say who was there: it speaks against nobody.
    chosen = like
    if seen.timed and is_covered(like[0].window, seen.sampled):
        chosen = tuple(one for one in like if is_covered(one.window, seen.timed))
    chosen = chosen[:MOST_STALLS]
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
    sent = () if place.core is None else senders(recording, seen, place.core, stalls)
    return Scene(
        seen, symptom, like, tuple(others), stalls, place.core, place.known, place.claim, here,
        senders=sent, crowds=crowds(recording, seen, stalls),
    )  # fmt: skip


def _holds(recording: Recording, seen: Observation, core: int) -> tuple[Hold, ...]:
    """On that core shorter ones too. One call stays whole, whoever had a turn there meanwhile."""
    whole = [hold for hold in seen.holds if not hold.is_told]
    short = [
        hold
        for hold in core_holds(recording, core, seen.window)
        if not any(one.tid == hold.tid and one.window.overlaps(hold.window) for one in whole)
    ]
    return tuple(sorted([*seen.holds, *short], key=lambda hold: (hold.window, hold.core, hold.tid)))


def _close_up(recording: Recording, seen: Observation, core: int, window: Window) -> CloseUp:
    found = close_up(recording, core, window)
    told = told_occupant(seen.events, core, window)
    return replace(found, during=with_told(found.during, told))


def would_have_told(recording: Recording, seen: Observation) -> bool:
    """If there had been harm. A recorder looks for all kinds of it, and says what it can't see."""
    if not is_imported(recording):
        return True
    return can_tell_of_harm(seen, has_log=_has_log(recording, seen))


def _has_log(recording: Recording, seen: Observation) -> bool:
    """One that was read, though it may be silent."""
    if not is_imported(recording) or tells_log(seen):
        return True
    return has_log_of(recording.root, seen.node, seen.window)


def _unsampled(seen: Observation, like: Group) -> tuple[str, ...]:
    known = sum(is_covered(one.window, seen.timed) for one in like)
    if not seen.timed or not 0 < known < len(like):
        return ()
    return (
        f"{known} of these {len(like)} were sampled, and who was on a core is told of those; of "
        "the others it is not known",
    )


def _misplaced(recording: Recording, seen: Observation, like: Group) -> tuple[str, ...]:
    """Samples of another time than the harm, where their time is a guess."""
    if not is_imported(recording) or any(is_covered(one.window, seen.timed) for one in like):
        return ()
    captures = placed_by_file_time(recording.root, seen.node)
    if not captures:
        return ()
    name = captures[0] + (f" and {len(captures) - 1} more" if len(captures) > 1 else "")
    return (
        f"when {name} was recorded is a guess by the time of its file, which any copy changes: if "
        "it is of the time of the harm, import it with --offset, or by a name that says when it "
        "began (perf-NODE-YYYYMMDD-HHMMSS.data)",
    )


def gaps_of(recording: Recording, seen: Observation) -> tuple[str, ...]:
    of_files = is_imported(recording)
    found = list(seen.notes)
    is_sampled = bool(seen.timed) or not seen.sampled  # of another event that is said below
    if is_sampled and seen.sampled_seconds < _MOSTLY * seen.recorded_seconds:
        found.append(
            "most of this window has no stack samples: who was on a core can't be told; "
            + ("" if of_files else "record with CAP_PERFMON, or ")
            + "import perf captures"
        )
    if of_files and not tells_log(seen):
        found.append(
            "no log among the files tells of harm in this window: if the kernel's (dmesg) and the "
            "application's own are not among them, import them too"
        )
    if seen.load is None:
        found.append("no times of cores: import mpstat or copies of /proc/stat with it")
    if is_unnamed(seen):
        found.append(
            "kernel functions have no names: who was held in one kernel call, and by what, can't "
            "be told; "
            + ("" if of_files else "record with CAP_SYSLOG, or ")
            + "import a copy of that boot's /proc/kallsyms too"
        )
    if of_files and (mute := mute_samples(seen)):
        found.append(mute)
    if seen.zombies is None or (seen.zombies.tracked is None and seen.zombies.zombies is None):
        remedy = "; import copies of /proc/cgroups or cgroup.stat too" if of_files else ""
        if has_any(recording, "memcg.tracked", "memcg.zombies"):
            remedy = "; they were at other times: ask about a longer window"
        found.append(f"memory cgroups were not counted: zombies can't be ruled out{remedy}")
    elif seen.zombies.zombies is None:
        found.append(
            f"the kernel keeps {seen.zombies.tracked:,} memory cgroups, but nobody counted those "
            "with a directory: how many are zombies can't be told; import a count of the "
            "directories below /sys/fs/cgroup/memory with it"
        )
    return tuple(found)
