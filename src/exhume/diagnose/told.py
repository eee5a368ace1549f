"""What the kernel's own line about a stuck core tells, where samples are missing or nameless."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from exhume.derive.kernel_entry import inside
from exhume.model.answers import EventAnswer
from exhume.model.occupancy import Hold, Occupancy, Occupant
from exhume.model.window import Window

SECOND_NS = 1_000_000_000
_KERNEL_THREAD = {"kthread", "ret_from_fork", "ret_from_fork_asm", "kernel_thread_helper"}
"""What the trace of one begins with: it is in the kernel all its life, not in a call."""
_STUCK = ("softlockup", "hardlockup", "rcu.self", "rcu.core")


def told_holds(events: Sequence[EventAnswer], sampled: Sequence[Hold]) -> tuple[Hold, ...]:
    """Those that no sample shows."""
    found = []
    for event, window in _stuck(events):
        known = any(hold.core == event.core and hold.window.overlaps(window) for hold in sampled)
        trace = _frames(event)
        frames = inside(trace)
        if event.core is not None and not known:
            found.append(
                Hold(
                    core=event.core,
                    window=window,
                    comm=str(event.fields.get("comm", "")),
                    pid=event.pid if event.pid is not None else -1,
                    tid=event.pid if event.pid is not None else -1,
                    cgroup="",
                    is_one_call=True,
                    call="" if _KERNEL_THREAD & set(trace) else "".join(frames[-1:]),
                    deepest=frames[0] if frames else "",
                    is_told=True,
                )
            )
    return tuple(found)


def told_occupant(events: Sequence[EventAnswer], core: int, window: Window) -> Occupant | None:
    """Of one trace: a function in it counts as always there."""
    for event, stuck in _stuck(events):
        if event.core == core and stuck.overlaps(window):
            return Occupant(
                comm=str(event.fields.get("comm", "")),
                pid=event.pid if event.pid is not None else -1,
                cgroup="",
                unit="",
                container="",
                pod="",
                samples=1,
                core_ns=stuck.end_ns - stuck.start_ns,
                share_of_window=1.0,
                user_share=0.0,
                softirq_share=0.0,
                longest_run=stuck,
                frames=dict.fromkeys(_frames(event), 1.0),
                is_told=True,
            )
    return None


def with_told(found: Occupancy, told: Occupant | None) -> Occupancy:
    """Whom the kernel's line names, where nobody was sampled; else only what it did.

    Samples say better who was there and for how long, but without the kernel's names they don't say
    in which function: its trace of the same thread does.
    """
    if told is None:
        return found
    if not found.samples:
        return replace(found, occupants=(told,))
    named = (
        replace(one, frames=one.frames | told.frames, unnamed_share=0.0, is_told=True)
        if one.is_unnamed and told.frames and (told.comm == one.comm or told.pid == one.pid)
        else one
        for one in found.occupants
    )
    return replace(found, occupants=tuple(named))


def _stuck(events: Sequence[EventAnswer]) -> Iterator[tuple[EventAnswer, Window]]:
    for event in events:
        if event.kind == "kernel-log" and event.fields.get("signature") in _STUCK:
            length = event.fields.get("stalled_seconds")
            seconds = float(length) if isinstance(length, int | float) else 1.0
            start = event.wall_ns - round(seconds * SECOND_NS)
            yield event, Window(start, event.wall_ns + 1)


def _frames(event: EventAnswer) -> list[str]:
    """From the leaf outwards."""
    return [name for name in str(event.fields.get("frames", "")).split(";") if name]
