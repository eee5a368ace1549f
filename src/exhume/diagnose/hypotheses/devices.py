"""Hardware that says so, disks that don't answer, and locks that everybody wants."""

from __future__ import annotations

from collections.abc import Iterator

from exhume.derive.rates import rates
from exhume.detect import shown
from exhume.detect.stalls import blocked, pressure
from exhume.diagnose.cause import mean_of, party, weigh
from exhume.diagnose.four_tests import widened
from exhume.diagnose.holding import check_events, check_top, holders
from exhume.diagnose.kernel_paths import match
from exhume.diagnose.scene import Proof, Scene, Step, Suspicion
from exhume.diagnose.symptom_checks import check_of
from exhume.model.case import Actions, Party, Tests
from exhume.model.window import Window

_LEAST_SHARE = 0.3
_BEFORE_NS, _AFTER_NS = 60_000_000_000, 10_000_000_000
_BROKEN = {"hw": "hardware", "gpu": "hardware", "netdev-device": "hardware", "disk": "io-stall"}


def told_by_kernel(scene: Scene) -> Iterator[Suspicion]:
    """A card, a disk, memory or a GPU that the kernel complains about, at the symptom or before."""
    seen: set[tuple[str, str]] = set()
    for event in scene.seen.events:
        kind = _BROKEN.get(str(event.fields.get("class", "")))
        window = Window(event.wall_ns, event.wall_ns + 1)
        near = Window(event.wall_ns - 5_000_000_000, event.wall_ns + _BEFORE_NS)
        if event.kind != "kernel-log" or kind is None or (kind, event.subject) in seen:
            continue
        if not any(near.overlaps(one.window) for one in scene.like):
            continue
        seen.add((kind, event.subject))
        same = [
            Window(other.wall_ns, other.wall_ns + _AFTER_NS)
            for other in scene.seen.events
            if other.fields.get("class") == event.fields.get("class")
        ]
        claim = f"the kernel says: {event.text}"
        proof = Proof(
            "kernel log",
            claim,
            {"signature": str(event.fields.get("signature", "")), "count": event.count},
            window,
            f"exhume events {shown.span_from(event.wall_ns, 5)}",
        )
        own = scene.symptom.text == event.text
        tests = weigh(scene, same, "passed" if own else "untested")
        yield Suspicion(
            kind=kind,
            culprit=Party(comm=event.subject),
            summary=f"{event.subject}: {event.text}",
            steps=(Step(claim, "root_cause", tests, (proof, *_also(scene, event.text))),),
            depth=2,
            victim=scene.symptom.victim,
            actions=Actions(
                now=("drain the node",),
                for_good=("have the device tested and replaced",),
                undo=("put the node back to work",),
                verify=("exhume events --kind kernel-log --last 1h",),
            ),
        )


def _also(scene: Scene, text: str) -> tuple[Proof, ...]:
    """A second signal: the symptom itself, where somebody else tells of it."""
    if scene.symptom.text == text:
        return ()
    return (
        Proof(
            scene.symptom.source,
            scene.symptom.text or scene.symptom.kind,
            {"seconds": round(scene.symptom.window.seconds, 2)},
            scene.symptom.window,
            check_of(scene.symptom, scene.seen),
        ),
    )


def io_stall(scene: Scene) -> Iterator[Suspicion]:
    """Everybody waits for a disk while the victim does."""
    found = [
        one
        for one in (*pressure(scene.seen), *blocked(scene.seen))
        if one.kind == "io-stall"
        and any(one.window.overlaps(widened(like.window)) for like in scene.like)
    ]
    if not found:
        return
    series = scene.seen.node_series("pressure.io.full_us")
    amount = mean_of(rates(series).per_second) if series is not None else None
    tests = weigh(scene, [one.window for one in found], "untested", amount)
    proofs = tuple(Proof(f"counters {i}", one.claim, one.figures, one.window, one.check)
                   for i, one in enumerate(found[:3]))  # fmt: skip
    yield Suspicion(
        kind="io-stall",
        culprit=Party(),
        summary=f"everybody waited for a disk: {found[0].claim}",
        steps=(Step(found[0].claim, "root_cause", tests, proofs),),
        depth=1,
        victim=scene.symptom.victim,
        actions=Actions(
            now=("see which disk: iostat -x 1, exhume events --kind kernel-log",),
            verify=("exhume series pressure.io.full_us --last 10m",),
        ),
        missing=("which disk, and who reads or writes it: iostat -x 1, pidstat -d 1",),
    )


def lock_contention(scene: Scene) -> Iterator[Suspicion]:
    """The core was held by somebody who spins for a lock."""
    for holder in holders(scene):
        found = match(holder.occupant.frames, "lock")
        if found is None or found.share < _LEAST_SHARE:
            continue
        window = holder.stalls[0].window
        is_told = holder.occupant.is_told
        claim = (
            f"{holder.occupant.name} was waiting for a lock when the kernel looked "
            f"({found.function}); who holds it is open"
            if is_told
            else f"{holder.occupant.name} waits for a lock in {100 * found.share:.0f} % of its "
            f"samples ({found.function})"
        )
        figures: dict[str, str | int | float] = {
            "function": found.function,
            "share": round(found.share, 3),
        }
        payer = party(scene.seen, holder.occupant.comm, scene.core, holder.occupant.pid)
        # Of many samples its own threads wait for each other; one trace shows somebody who waits.
        culprit = Party(core=scene.core) if is_told else payer
        tests = (
            Tests(place=scene.place)
            if is_told
            else weigh(scene, holder.causes, scene.place, shows=scene.seen.timed)
        )
        proof = (
            Proof("kernel log", claim, figures, window, check_events(widened(window)))
            if is_told
            else Proof("samples", claim, figures, window, check_top(scene.core, window))
        )
        yield Suspicion(
            kind="lock-contention",
            culprit=culprit,
            summary=claim,
            steps=(
                Step(
                    claim,
                    "mechanism" if is_told else "root_cause",
                    tests,
                    (proof,),
                ),
            ),
            depth=0 if is_told else 1,
            payer=payer,
            victim=scene.symptom.victim,
            at_most="low" if is_told else "high",
            missing=("who holds the lock: perf lock contention -a, for a minute",),
        )
