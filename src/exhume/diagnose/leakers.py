"""Who leaves zombies behind? Starts of each lifecycle against what the count of zombies gained."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exhume.derive import starts as derived
from exhume.derive.looks import ASKED_EVERY_NS, Looks, looks_at, misses_starts, same_instance
from exhume.derive.loops import PAUSES
from exhume.derive.starts import REMOVAL_SECONDS
from exhume.diagnose import kernel_paths, leak_ratio
from exhume.diagnose.four_tests import rank_correlation
from exhume.diagnose.gains import LEAST_GAIN, NEARLY_ALL, Gains, covered, gains_of, heard
from exhume.diagnose.in_step import in_step, start_together
from exhume.diagnose.in_vain import in_vain, lifetime_seconds, stands_still
from exhume.diagnose.leak_ratio import LEAST_PER_START, MOST_PER_START
from exhume.diagnose.twins import is_run_by
from exhume.model.arrays import F64, I64, Bool
from exhume.model.case import Confidence, Outcome, Party, Tests
from exhume.model.lifecycles import Lifecycle
from exhume.model.observation import Observation

LEAST_STARTS = 5
_QUIET, _NOT_QUIET = 0.15, 0.5
_SAME_PACE = 0.1
_MOSTLY = 0.5
_BY_THE_CLOCK = "cron starts it as it should, and nothing shows that zombies come with its starts"


class Leaker(Struct, frozen=True):
    lifecycle: Lifecycle
    culprit: Party
    tests: Tests
    starts: int
    """Between two counts of zombies; its lifecycle has all."""
    gained: int
    """Zombies that came while it was seen."""
    per_start: float
    agreement: float
    """Rank correlation of starts and gains, interval by interval; NaN where too few."""
    against: str
    """What speaks against it; empty where nothing does."""
    is_upper: bool = False
    """What it gained may be living cgroups in part."""
    misses_starts: bool = False
    """Looks saw them, and between two looks there may have been more: it left less at each."""
    at_most: Confidence = "high"
    """No more than this may be claimed: others of its pace would show the same."""
    is_in_step: bool = False
    """They come with its starts and not without, or the same whole number with each."""

    @property
    def fit(self) -> tuple[int, int, bool, int, bool, float]:
        """To sort by: tests passed, then whose starts they come with, then supervisors before the
        programs they run, and loops before scripts."""
        outcomes = self.tests.outcomes()
        kind = {"unit": 2, "container": 1, "process": 0}[self.lifecycle.kind]
        kind = -1 if self.lifecycle.is_of_cron else kind  # what dies again and again before it
        # A script that runs many programs is at work; what a parent does nothing but start loops.
        is_loop = self.lifecycle.mark != "many short jobs"
        agreement = self.agreement if np.isfinite(self.agreement) else 0.0
        failed, passed = outcomes.count("failed"), outcomes.count("passed")
        return -failed, passed, self.is_in_step, kind, is_loop, agreement


def leakers(seen: Observation) -> tuple[Leaker, ...]:
    """Everything that starts again and again, best fit first; those with `against` too."""
    gains = gains_of(seen)
    if gains is None:
        return ()
    found = []
    for around in seen.lifecycles:
        if around.starts < LEAST_STARTS or around.mark == "healthy":
            continue
        if around.kind == "process" and around.name in PAUSES:
            continue  # that is how whoever runs it waits
        wall, count = starts_of(seen, around)
        # Who lived is read of the stretch around the harm, events of all that was asked for.
        one = replace(around, starts=max(around.starts, int(count.sum())))
        if len(wall):
            known = heard(seen, gains) if one.kind == "process" else gains
            found.append(_weigh(seen, one, wall, count, known))
    found.sort(key=lambda one: (one.fit, one.starts), reverse=True)
    several = [_one_of_several(seen, one, found) for one in found]
    return _merged(seen, [_beside_another(seen, one, found) for one in several])


def _beside_another(seen: Observation, one: Leaker, found: list[Leaker]) -> Leaker:
    """What came in step with somebody's starts came once. Of a likely ratio alone no more than a
    suspect is made, unless looks missed starts: then its own is not known."""
    if one.is_in_step or one.misses_starts or one.against or one.at_most == "low":
        return one
    others = (other for other in found if other.is_in_step and not other.against)
    is_alone = all(_same_starts(seen, one, other) for other in others)
    return one if is_alone and one.tests.place == "passed" else replace(one, at_most="medium")


def _one_of_several(seen: Observation, one: Leaker, found: list[Leaker]) -> Leaker:
    """Of those that start in the same minutes, or in step, any may be it."""
    if one.against or one.at_most != "high":
        return one
    others = [other for other in found if other is not one and not other.against]
    own, _ = starts_of(seen, one.lifecycle)
    for other in others:
        if one.lifecycle.is_of_cron and other.lifecycle.is_of_cron:
            if start_together(own, starts_of(seen, other.lifecycle)[0]):
                return replace(one, at_most="medium")
        elif one.lifecycle.kind == other.lifecycle.kind and _are_alike(seen, one, other):
            is_nearer = one.tests.place == "passed" != other.tests.place
            return one if is_nearer else replace(one, at_most="medium")
    return one


def starts_of(seen: Observation, one: Lifecycle) -> tuple[I64, I64]:
    """When it was started, and how often at once."""
    return derived.starts_of(one, seen.events, seen.lives)


def _weigh(seen: Observation, one: Lifecycle, wall: I64, count: I64, gains: Gains) -> Leaker:
    looks = looks_of(seen, one)
    misses = misses_starts(looks, one.kind, one.name, seen.events, wall)
    started = derived.started(wall, count, gains.start_ns, gains.end_ns)
    seconds = (gains.end_ns - gains.start_ns) / 1e9
    active, quiet = _known(seen, one, gains, wall, count, looks)
    active |= started > 0
    quiet &= ~active
    sure = quiet & _logged(seen, one, gains, looks)
    gained = float(gains.risen[active].sum())
    starts = int(started.sum())
    per_start = gained / starts if starts else 0.0
    quiet_rate = _rate(gains.risen, seconds, quiet)
    active_rate = _rate(gains.risen, seconds, active)
    told = active | quiet
    agreement = (
        rank_correlation((started / seconds)[told], (gains.gained / seconds)[told])
        if told.sum() >= 3 and len(np.unique(started[told])) > 1
        else float("nan")
    )
    all_gained = float(gains.risen.sum())
    against = ""
    counterfactual: Outcome = "untested"
    if np.isfinite(quiet_rate) and active_rate + quiet_rate > 0:
        sure_rate = _rate(gains.risen, seconds, sure)
        if quiet_rate <= _QUIET * active_rate:
            counterfactual = "passed"
        elif sure_rate >= _NOT_QUIET * active_rate:
            counterfactual = "failed"
            against = (
                f"zombies came at {sure_rate:.2f}/s while it was quiet, "
                f"{active_rate:.2f}/s while it was not"
            )
    exact = one.zombies_per_start if not one.zombies_at_most else None
    at_most: Confidence = "high"
    step = in_step(started, gains.gained, agreement, counterfactual)
    dose: Outcome = "untested"
    contradiction = ""
    if exact is not None and exact < 0.05:
        contradiction = f"of the cgroups of its name only {exact:.2f} a start stayed"
    elif all_gained >= LEAST_GAIN:
        if misses:
            dose, contradiction = leak_ratio.by_bound(per_start, gained / all_gained)
        else:
            makes, is_program = makes_cgroups(seen, one), one.kind == "process"
            pace = (started / seconds)[told]
            follow = leak_ratio.follows(pace, agreement, counterfactual, is_program=is_program)
            dose, contradiction = leak_ratio.by_ratio(
                gains, started, per_start, follow, makes=makes, is_program=is_program
            )
        vain = in_vain(one, gains, wall, count, started, per_start, looks)
        contradiction = contradiction or vain
    elif starts * LEAST_PER_START >= LEAST_GAIN and stands_still(gains):
        contradiction = f"the count of zombies stood still over {starts:,} of its starts"
    if contradiction:
        dose, against = "failed", contradiction
    elif one.is_of_cron and not against:
        at_most = "high" if step == "in step" else "medium"
        if not step or dose != "passed":
            dose, against = "untested", _BY_THE_CLOCK
    order: Outcome = "untested"
    grew = np.flatnonzero(gains.risen > 0)
    if len(grew) and all_gained:
        before = gains.risen * (gains.end_ns < int(wall[0]))
        order = "passed" if before.sum() <= _MOSTLY * all_gained else "untested"
        if before[sure].sum() > _MOSTLY * all_gained:
            order, against = "failed", "most zombies were there before it first started"
    place = _place(seen, one, exact)
    far_too_many = per_start > MOST_PER_START and not misses
    if far_too_many and {dose, place, counterfactual} == {"untested"}:
        at_most = "low"  # it loops while zombies come, by far too many for it: nothing ties them
    if contradiction == "" and starts >= LEAST_STARTS and per_start < LEAST_PER_START:
        at_most = "low"  # too few came for it, and for anybody
    return Leaker(
        one,
        lifecycle_party(one),
        Tests(order, place, dose, counterfactual),
        starts,
        round(gained),
        per_start,
        agreement,
        against,
        gains.is_upper,
        misses,
        at_most,
        is_in_step=bool(step) and dose == "passed" and not misses,
    )


def looks_of(seen: Observation, one: Lifecycle) -> Looks:
    return looks_at(one.kind, one.name, derived.events_of(one, seen.events), seen.instance)


def _known(
    seen: Observation, one: Lifecycle, gains: Gains, wall: I64, count: I64, looks: Looks
) -> tuple[Bool, Bool]:
    """In which intervals it may have left something, and in which it was quiet; of the others
    nobody knows."""
    if looks.tells_each or not len(looks.wall_ns):
        active = _about(gains, one, wall, count)
        if one.kind == "container" and len(looks.wall_ns):  # the runtime is asked what it noted
            first, last = looks.wall_ns[[0, -1]]
            return active, ~active & (gains.start_ns >= first) & (gains.end_ns <= last)
        return active, ~active
    same = same_instance(looks, one.kind, one.name, seen.events)
    begin, end = looks.wall_ns[:-1], looks.wall_ns[1:]
    seen_to_start = derived.started(wall, count, begin, end) > 0
    # What it leaves is dead when it dies.
    later_ns = round((lifetime_seconds(one) + REMOVAL_SECONDS) * 1e9)
    active = covered(gains, begin[seen_to_start], end[seen_to_start] + later_ns) >= _MOSTLY
    return active, covered(gains, begin[same], end[same]) >= NEARLY_ALL


def _logged(seen: Observation, one: Lifecycle, gains: Gains, looks: Looks) -> Bool:
    """In which intervals a unit that only a log tells of would have been told of, had it started.

    A log that was rotated begins late, and one that was copied early ends: before the first line
    about any unit, and after the last, silence says nothing against anybody.
    """
    if one.kind != "unit" or not (looks.tells_each or not len(looks.wall_ns)):
        return np.ones(len(gains.start_ns), np.bool_)
    told = [event.wall_ns for event in seen.events if event.kind.startswith("unit-")]
    return (gains.end_ns > min(told)) & (gains.start_ns < max(told))


def _about(gains: Gains, one: Lifecycle, wall: I64, count: I64) -> Bool:
    """Intervals in which a start may have left something, though it was noted in another one.

    What it leaves is dead when it dies. Units and containers are asked every few seconds: what came
    after the last time is not known yet. Those whose starts come several at a time are told of when
    they are asked, not when they start: that was before. When they were asked nobody recorded.
    """
    end = wall + round((lifetime_seconds(one) + REMOVAL_SECONDS) * 1e9)
    begin = wall
    if one.kind == "unit" or (one.kind == "container" and int(count.max()) > 1):
        pace_ns = (int(wall[-1]) - int(wall[0])) / max(1, int(count[1:].sum()))
        back = np.maximum(ASKED_EVERY_NS, (count * pace_ns).astype(np.int64))
        begin = np.maximum(np.append(wall[0] - back[0], wall[:-1]), wall - back)
    if one.kind != "process":
        end[-1] += ASKED_EVERY_NS
    found: Bool = covered(gains, begin, end) >= _MOSTLY
    return found


def _rate(risen: F64, seconds: F64, here: Bool) -> float:
    total = float(seconds[here].sum())
    return float(risen[here].sum()) / total if total else float("nan")


def _place(seen: Observation, one: Lifecycle, exact: float | None) -> Outcome:
    """Its own name is on what was left behind, or its own supervisor makes cgroups."""
    if exact is not None and exact >= LEAST_PER_START:
        return "passed"
    return "passed" if makes_cgroups(seen, one) else "untested"


def makes_cgroups(seen: Observation, one: Lifecycle) -> bool:
    """It, or who starts it, was sampled while it made or removed some."""
    path = next(one for one in kernel_paths.kernel_paths() if one.id == "cgroup")
    return any(
        ms > 0 and path.has(function)
        for name in (one.name, one.detail)
        for function, ms in seen.frame_ms.get(name[:15], {}).items()
    )


def lifecycle_party(one: Lifecycle) -> Party:
    if one.is_of_cron:
        return Party(comm=one.name)
    if one.kind == "unit":
        return Party(unit=one.name)
    if one.kind == "container":
        return Party(container=one.name)
    return Party(comm=one.name)


def _merged(seen: Observation, ranked: list[Leaker]) -> tuple[Leaker, ...]:
    """A unit and the program it runs are one suspect: they start at the same times."""
    kept: list[Leaker] = []
    for one in ranked:
        twin = next((k for k in kept if _same_starts(seen, k, one)), None)
        if twin is None:
            kept.append(one)
        else:
            kept[kept.index(twin)] = _joined(twin, one)
    return tuple(_with_unit(seen, one) for one in kept)


def _with_unit(seen: Observation, one: Leaker) -> Leaker:
    """A container's unit of which looks saw too few starts to weigh it by itself."""
    if one.lifecycle.kind != "container" or one.culprit.unit:
        return one
    loops = (unit for unit in seen.lifecycles if unit.mark == "crash loop")
    for unit in loops:
        if is_run_by(one.lifecycle, unit) and looks_of(seen, unit).miss_starts:
            return replace(one, culprit=replace(one.culprit, unit=unit.name))
    return one


def _same_starts(seen: Observation, a: Leaker, b: Leaker) -> bool:
    """A unit and what it runs."""
    if a.lifecycle.kind == b.lifecycle.kind:
        return False
    for unit, container in ((a, b), (b, a)):
        if unit.misses_starts and is_run_by(container.lifecycle, unit.lifecycle):
            return True
    return _in_step_with(seen, a, b)


def _in_step_with(seen: Observation, a: Leaker, b: Leaker) -> bool:
    one, other = _started(seen, a, b)
    fewer, more = sorted((int(one.sum()), int(other.sum())))
    if fewer < LEAST_STARTS or more - fewer > _SAME_PACE * more:
        return False
    return len(one) < 4 or rank_correlation(one, other) > 0.5


def _are_alike(seen: Observation, a: Leaker, b: Leaker) -> bool:
    """In nearly all intervals as often: then counts of zombies can't tell them apart."""
    one, other = _started(seen, a, b)
    return _in_step_with(seen, a, b) or bool(len(one) and (one == other).mean() >= NEARLY_ALL)


def _started(seen: Observation, a: Leaker, b: Leaker) -> tuple[F64, F64]:
    gains = gains_of(seen)
    if gains is None:
        return np.empty(0), np.empty(0)
    known = heard(seen, gains)
    one, other = (
        derived.started(*starts_of(seen, leaker.lifecycle), known.start_ns, known.end_ns)
        for leaker in (a, b)
    )
    return one.astype(np.float64), other.astype(np.float64)


def _joined(first: Leaker, second: Leaker) -> Leaker:
    """With the figures of the supervisor, who is named and whose log tells of every start; of whom
    looks saw more starts, where both are known by looks."""
    a, b = first.culprit, second.culprit
    both = Party(unit=a.unit or b.unit, container=a.container or b.container, comm=a.comm or b.comm)
    outcomes = (
        x if x != "untested" else y
        for x, y in zip(first.tests.outcomes(), second.tests.outcomes(), strict=True)
    )
    is_better = first.lifecycle.kind == "process" or (
        first.misses_starts and second.starts > first.starts
    )
    of = second if is_better and not second.against else first
    tests = Tests(*outcomes)
    against = first.against or (second.against if "failed" in tests.outcomes() else "")
    return Leaker(
        of.lifecycle, both, tests, of.starts, of.gained, of.per_start, of.agreement,
        against, first.is_upper, of.misses_starts, first.at_most,
        first.is_in_step or second.is_in_step,
    )  # fmt: skip
