"""Somebody walks dead memory cgroups, and somebody else keeps leaving them behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from exhume.derive.starts import said
from exhume.derive.zombies import LEAST_WALKED, seconds_per_zombie
from exhume.detect import shown
from exhume.diagnose import four_tests
from exhume.diagnose.holding import Holder, check_events, check_top, held_core, holders
from exhume.diagnose.kernel_paths import Match, match
from exhume.diagnose.leak_advice import leak_actions, starter_of
from exhume.diagnose.leakers import Leaker, leakers
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion, party_of
from exhume.diagnose.uncounted import uncounted_loops
from exhume.diagnose.walkers import walker_in
from exhume.diagnose.zombie_counts import counts_of
from exhume.model.case import Outcome, Party, Tests
from exhume.model.finding import Figure
from exhume.model.memcgs import MemcgName
from exhume.model.window import Window

_LEAST_SHARE = 0.3
_DIFFERS = 1.1


def suspects(scene: Scene) -> Iterator[Suspicion]:
    for holder in holders(scene):
        walk = match(holder.occupant.frames, "zombie-walk")
        if walk is not None and walk.share >= _LEAST_SHARE and holder.occupant.user_share < 0.5:
            yield from _of(scene, holder, walk)


def _of(scene: Scene, holder: Holder, walk: Match) -> Iterator[Suspicion]:
    payer = party_of(holder.occupant, scene.core)
    is_victim = scene.symptom.victim.comm == holder.occupant.comm
    first = held_core(scene, holder, f"walking memory cgroups ({walk.function})")
    walked = _walk(scene, holder, walk)
    victim = scene.symptom.victim
    near = () if is_victim else (first,)
    counts, at_ns = counts_of(scene.seen), scene.symptom.wall_ns
    level = counts.at(at_ns)
    if np.isfinite(level) and level < LEAST_WALKED:
        yield Suspicion(
            kind="zombie-cgroups",
            culprit=payer,
            summary=f"{holder.occupant.name} walks memory cgroups",
            steps=(*near, walked),
            depth=2,
            payer=payer,
            victim=victim,
            contradiction=f"there were {counts.said(at_ns, 'only')} zombies to walk",
        )
        return
    found = leakers(scene.seen)
    fitting = [one for one in found if not one.against]
    for leaker in [*fitting[:2], *(one for one in found if one.against)][:6]:
        yield _suspicion(
            scene, holder, (*near, walked, _leak(scene, leaker)), leaker, payer, victim
        )
    if not fitting and not len(counts.values):
        yield from _uncounted(scene, holder, (*near, walked), payer, victim)
    if all(one.at_most == "low" or "passed" not in one.tests.outcomes() for one in fitting):
        yield _by_name(scene, holder, (*near, walked), payer, victim)


def _suspicion(
    scene: Scene,
    holder: Holder,
    steps: tuple[Step, ...],
    leaker: Leaker,
    payer: Party,
    victim: Party,
) -> Suspicion:
    name, at_ns = leaker.culprit.name, scene.symptom.wall_ns
    counts = counts_of(scene.seen)
    return Suspicion(
        kind="zombie-cgroups",
        culprit=leaker.culprit,
        summary=(
            f"{name} starts again and again and leaves a dead memory cgroup behind each time; "
            f"{payer.name} walks {counts.said(at_ns, 'all')} of them"
            + ("" if payer.comm == victim.comm else f" and so keeps {victim.name} waiting")
        ),
        steps=steps,
        depth=3,
        payer=payer,
        victim=victim,
        details={
            **counts.figure(at_ns),
            **_starts(leaker),
            **_per_zombie(scene, holder),
        },
        actions=leak_actions(leaker.culprit, holder, starter_of(leaker.lifecycle)),
        contradiction=leaker.against,
        at_most=leaker.at_most,
    )


def _uncounted(
    scene: Scene, holder: Holder, steps: tuple[Step, ...], payer: Party, victim: Party
) -> Iterator[Suspicion]:
    """Nobody counted them, but somebody loops and the walks grow longer."""
    walks = [(one.window, one.core_seconds) for one in _walks(holder)]
    for loop in uncounted_loops(scene.seen, walks)[:1]:
        name, window = loop.culprit.name, scene.seen.window
        claim = (
            f"{name} was started {loop.starts:,} times, and it or who starts it makes and removes "
            "cgroups"
        )
        figures: dict[str, str | int | float] = {"starts": loop.starts}
        if np.isfinite(loop.seconds_per_start):
            claim += f"; with each start a walk took {1e6 * loop.seconds_per_start:.0f} µs longer"
            figures["microseconds_per_start"] = round(1e6 * loop.seconds_per_start, 1)
        span = shown.whole_span(window)
        proof = Proof("starts", claim, figures, window, f"exhume units {span}")
        waits = "" if payer.comm == victim.comm else f" and keeps {victim.name} waiting"
        yield Suspicion(
            kind="zombie-cgroups",
            culprit=loop.culprit,
            summary=(
                f"{name} starts again and again and seems to leave a dead memory cgroup behind "
                f"each time; {payer.name} walks them{waits}"
            ),
            steps=(*steps, Step(claim, "root_cause", loop.tests, (proof,))),
            depth=3,
            payer=payer,
            victim=victim,
            details={"starts": loop.starts},
            actions=leak_actions(loop.culprit, holder, starter_of(loop.lifecycle)),
            at_most="medium" if loop.tests.dose == "passed" else "low",
            missing=(
                "how many zombies there are: import copies of /proc/cgroups with it, and counts of "
                "the directories below /sys/fs/cgroup/memory",
            ),
        )


def _by_name(
    scene: Scene, holder: Holder, steps: tuple[Step, ...], payer: Party, victim: Party
) -> Suspicion:
    """Nobody who loops explains them: then by the name of the cgroups that were left."""
    zombies = scene.seen.zombies
    names = [one for one in zombies.names if one.left >= LEAST_WALKED] if zombies else []
    parents = [one.path for one in zombies.parents] if zombies else []
    culprit = Party(cgroup=names[0].name if names else next(iter(parents), None))
    own: tuple[Step, ...] = ()
    if names:
        own = (_left_by(scene, names[0]),)
    return Suspicion(
        kind="zombie-cgroups",
        culprit=culprit if culprit.cgroup else Party(),
        summary=f"{payer.name} walks dead memory cgroups"
        + (
            f" that {culprit.cgroup} left behind" if culprit.cgroup else "; who leaves them is open"
        ),
        steps=(*steps, *own),
        depth=2,
        payer=payer,
        victim=victim,
        details=counts_of(scene.seen).figure(scene.symptom.wall_ns),
        actions=leak_actions(culprit, holder),
        at_most="high" if names else "medium",
        missing=(
            ()
            if names
            else (
                "who makes those cgroups: record with tracefs (births by name), or import the "
                "supervisor's log",
            )
        ),
    )


def _walk(scene: Scene, holder: Holder, walk: Match) -> Step:
    """Its time goes into walking them: the more there are, the longer it takes."""
    walks = _walks(holder)
    lengths = [one.core_seconds for one in walks]
    counts = counts_of(scene.seen)
    levels = [counts.at(one.window.start_ns) for one in walks]
    dose = four_tests.dose(levels, lengths)
    counted = np.isfinite(levels)
    order: Outcome = "untested"
    counterfactual: Outcome = "untested"
    proofs = [_walks_in(scene, holder, walk)]
    if counted.any():
        at = counts.at(scene.symptom.wall_ns)
        order = "passed" if at >= LEAST_WALKED else "untested"
        figures = counts.figure(scene.symptom.wall_ns)
        per_zombie = _seconds_per_zombie(scene, [(o.window, o.core_seconds) for o in walks])
        harm = f"{scene.symptom.kind} of {scene.symptom.victim.name}"
        text = f"{counts.said(scene.symptom.wall_ns)} zombie cgroups at the {harm}"
        if dose == "passed" and np.isfinite(per_zombie):
            text += f"; each adds {1e6 * per_zombie:.0f} µs to its holds ({len(lengths)} compared)"
            figures["microseconds_per_zombie"] = round(1e6 * per_zombie, 1)
            few = [v for v, z in zip(lengths, levels, strict=True) if z <= np.nanmedian(levels)]
            many = [v for v, z in zip(lengths, levels, strict=True) if z > np.nanmedian(levels)]
            if few and many and max(few) < max(many) and np.mean(few) < 0.7 * np.mean(many):
                counterfactual = "passed"
        window = scene.seen.window
        check = f"exhume zombies {shown.whole_span(window)}"
        proofs.append(Proof("memory cgroups", text, figures, window, check))
    claim = (
        f"{holder.occupant.name} was walking dead memory cgroups in {walk.function}"
        f"{_told_of_walker(holder, scene.seen.kernel)}"
    )
    return Step(claim, "mechanism", Tests(order, "passed", dose, counterfactual), tuple(proofs))


def _told_of_walker(holder: Holder, kernel: str) -> str:
    """In brackets: what that function does, and whether others can run meanwhile; if known."""
    walker = walker_in(holder.occupant.frames)
    if walker is None:
        return ""
    lets_run = walker.lets_run_on(kernel)
    if lets_run is None:
        return f" ({walker.what})"
    whom = "others" if lets_run else "nobody else"
    return f" ({walker.what}; on Linux {kernel} that lets {whom} run meanwhile)"


def _walks_in(scene: Scene, holder: Holder, walk: Match) -> Proof:
    """By what its functions are known: samples, or the kernel's own trace."""
    name, window = holder.occupant.name, holder.stalls[0].window
    figures: dict[str, Figure] = {"function": walk.function}
    if holder.occupant.is_told:
        claim = f"the kernel's own trace of {name} has {walk.function}"
        window = next(s.window for s in holder.stalls if s.holder == holder.occupant)
        return Proof("kernel log", claim, figures, window, check_events(four_tests.widened(window)))
    claim = f"{100 * walk.share:.0f} % of {name}'s samples have {walk.function} in their stack"
    figures["share_percent"] = round(100 * walk.share, 1)
    return Proof("samples", claim, figures, window, check_top(scene.core, window))


def _starts(leaker: Leaker) -> dict[str, Figure]:
    """Where looks saw them, there may have been more, and each left less."""
    least, most = ("_at_least", "_at_most") if leaker.misses_starts else ("", "")
    return {
        f"starts{least}": leaker.lifecycle.starts,
        f"zombies_per_start{most}": round(leaker.per_start, 3),
    }


def _leak(scene: Scene, leaker: Leaker) -> Step:
    name, window = leaker.culprit.name, scene.seen.window
    lived = scene.seen.lives.wall_ns
    if leaker.lifecycle.kind == "process" and len(lived):
        window = Window(int(lived[0]), int(lived[-1]) + 1)  # execs of a whole night are not read
    starts = leaker.lifecycle.starts
    is_bound = leaker.is_upper or leaker.misses_starts
    many = f"{'at most ' if is_bound else ''}{leaker.per_start:.2f} zombies"
    each = "each start"
    if leaker.starts != starts:
        each = f"each of the {leaker.starts:,} starts between two counts"
    claim = f"{name} was started {said(leaker.lifecycle)}, and {many} came with {each}"
    span = shown.whole_span(window)
    figures: dict[str, Figure] = {
        **_starts(leaker),
        "starts_between_counts": leaker.starts,
        "zombies_gained": leaker.gained,
    }
    if np.isfinite(leaker.agreement):
        figures["rank_correlation"] = round(leaker.agreement, 3)
    proof = Proof("starts", claim, figures, window, f"exhume units {span}")
    return Step(claim, "root_cause", leaker.tests, (proof,))


def _left_by(scene: Scene, name: MemcgName) -> Step:
    window = scene.seen.window
    claim = (
        f"of {name.born:,} memory cgroups named {name.name} {name.left:,} were removed and not let "
        "go"
    )
    figures: dict[str, str | int | float] = {
        "born": name.born, "removed": name.removed, "released": name.released,
    }  # fmt: skip
    check = f"exhume zombies {shown.whole_span(window)}"
    proof = Proof("memory cgroups", claim, figures, window, check)
    return Step(claim, "root_cause", Tests("passed", "passed", "passed"), (proof,))


class _Walk(Struct, frozen=True):
    window: Window
    core_seconds: float
    """On the core: what others had of it meanwhile is not the zombies' doing."""


def _walks(holder: Holder) -> tuple[_Walk, ...]:
    """By samples where there are enough of them; else by the seconds it was there."""
    if len(holder.holds) >= four_tests.LEAST_EFFECTS:
        return tuple(_Walk(one.window, one.core_seconds) for one in holder.holds)
    return tuple(_Walk(cause, cause.seconds) for cause in holder.causes)


def _per_zombie(scene: Scene, holder: Holder) -> dict[str, Figure]:
    """On the core, and by the clock where others had their turns meanwhile."""
    walks = _walks(holder)
    on_core = _seconds_per_zombie(scene, [(one.window, one.core_seconds) for one in walks])
    passed = _seconds_per_zombie(scene, [(one.window, one.window.seconds) for one in walks])
    if not np.isfinite(on_core):
        return {}
    found: dict[str, Figure] = {"stall_seconds_per_zombie": round(on_core, 7)}
    if passed > _DIFFERS * on_core:
        found["wall_seconds_per_zombie"] = round(passed, 7)
    return found


def _seconds_per_zombie(scene: Scene, walks: Sequence[tuple[Window, float]]) -> float:
    counts = counts_of(scene.seen)
    return seconds_per_zombie(walks, counts.wall_ns, counts.values)
