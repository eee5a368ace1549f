"""On which core did the victim wait? From what names it, or from what was held when it waited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.diagnose.four_tests import widened
from exhume.diagnose.measured import is_covered, metered
from exhume.diagnose.process_times import cores_of
from exhume.model.case import Outcome, Symptom
from exhume.model.observation import CoreLoad, Observation
from exhume.model.window import Window

_CLEARLY = 0.6
"""Of the harm: it begins within a second that was partly free, and a log cuts fractions of one off:
of five seconds two may show nothing."""
_DEVICE_WORDS = 3
"""Of a kernel line: driver, device, interface."""
_FULL_PERCENT = 90.0


class Place(Struct, frozen=True):
    core: int | None
    known: Outcome
    """`passed` where something independent of the suspects names the core."""
    claim: str


NOWHERE = Place(None, "untested", "on which core the victim waited is not known")


def place_of(seen: Observation, group: Sequence[Symptom], others: Sequence[Symptom]) -> Place:
    named = Counter(one.victim.core for one in group if one.victim.core is not None)
    if named:
        core = named.most_common(1)[0][0]
        return Place(core, "passed", f"{group[0].source} names CPU {core}")
    if (by_queue := _queue_core(seen, group[0])) is not None:
        return by_queue
    victim = group[0].victim.comm or ""
    ran_on = seen.process_cores.get(victim) or cores_of(seen, victim)
    if len(ran_on) == 1:
        return Place(ran_on[0], "passed", f"{victim} was only ever seen on CPU {ran_on[0]}")
    told = Counter(
        other.victim.core
        for other in others
        if other.victim.core is not None
        and (not ran_on or other.victim.core in ran_on)
        and any(other.window.overlaps(widened(one.window)) for one in group)
    )
    if told:
        core = told.most_common(1)[0][0]
        # Of whoever was held the samples tell where it was, and of no victim where that waited.
        by_others = any(one.victim.core == core and one.kind != "held-thread" for one in others)
        return Place(
            core,
            "passed" if by_others else "untested",
            f"other symptoms at the same time name CPU {core}",
        )
    held = _held_core(seen, group, ran_on)
    if held is not None:
        return Place(held, "untested", f"CPU {held} was held whenever the victim waited")
    met_on = seen.seldom_cores.get(victim, ()) if not ran_on else ()
    if len(met_on) == 1:
        return Place(met_on[0], "untested", f"the few samples of {victim} are of CPU {met_on[0]}")
    return NOWHERE


def _queue_core(seen: Observation, symptom: Symptom) -> Place | None:
    """`eth0 queue 5` → the core that its interrupt goes to.

    Interrupts of mlx5, gve and virtio carry the device alone; the kernel's line has it beside the
    interface: `mlx5_core 0000:3b:00.0 ens1f0np0: TX timeout on queue: 11`.
    """
    name = symptom.victim.comm or ""
    interface, _, queue = name.rpartition(" queue ")
    if not queue.isdigit():
        return None
    named = {interface, "", *(word.rstrip(":") for word in symptom.text.split()[:_DEVICE_WORDS])}
    own = [
        line
        for line in seen.lines
        if line.core is not None
        and line.queue == int(queue)
        and line.device.removeprefix("pci:") in named
    ]
    # It is transmit queues that stand still; on some cards those that receive have their own lines.
    for line in sorted(own, key=lambda one: "tx" not in one.direction):
        return Place(
            line.core, "passed", f"the interrupt of {name} ({line.name}) goes to CPU {line.core}"
        )
    return None


def _held_core(seen: Observation, group: Sequence[Symptom], ran_on: Sequence[int]) -> int | None:
    """The core that one thread held for most of the harm, or that was full all the while."""
    sampled = [one for one in group if is_covered(one.window, seen.timed)]
    harm = sum(one.window.end_ns - one.window.start_ns for one in sampled)
    held: Counter[int] = Counter()
    for one in sampled:
        for hold in seen.holds:
            both = hold.window.clip(widened(one.window))
            if both is not None and hold.is_alone and (not ran_on or hold.core in ran_on):
                held[hold.core] += both.end_ns - both.start_ns
    if held:
        core, time = held.most_common(1)[0]
        if time >= _CLEARLY * harm:
            return core
    return _full_core(seen, group, ran_on)


def _full_core(seen: Observation, group: Sequence[Symptom], ran_on: Sequence[int]) -> int | None:
    if seen.load is None:
        return None
    full: Counter[int] = Counter()
    known = [one for one in group if is_covered(one.window, metered(seen.load))]
    for one in known:
        for core, share in _full_shares(seen.load, one.window).items():
            if share >= _CLEARLY and (not ran_on or core in ran_on):
                full[core] += 1
    ranked = full.most_common(2)
    if not ranked or ranked[0][1] < _CLEARLY * len(known):
        return None
    alone = len(ranked) == 1 or ranked[1][1] < 0.5 * ranked[0][1]
    return ranked[0][0] if alone else None


def _full_shares(load: CoreLoad, harm: Window) -> dict[int, float]:
    """By core, how much of that time it was full."""
    part = load.within(harm)
    length = np.minimum(part.end_ns, harm.end_ns) - np.maximum(part.start_ns, harm.start_ns)
    if not len(length):
        return {}
    with np.errstate(invalid="ignore"):
        full = part.busy() >= _FULL_PERCENT
    shares = length @ full / max(1, int(length.sum()))
    return dict(zip(part.cores, shares.tolist(), strict=True))
