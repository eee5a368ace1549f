"""Whether anything was there to tell of harm: silence of those who can't speak says nothing."""

from __future__ import annotations

from exhume.diagnose.symptoms import HELD_NS, KNOWN_BEFORE_NS
from exhume.model.observation import Observation

LOGS = ("kernel-log", "job-log")
_MOSTLY = 0.5


def can_tell_of_harm(seen: Observation, *, has_log: bool) -> bool:
    """Of the four kinds of harm, could one have shown? `has_log`: one was read that is silent."""
    return has_log or tells_log(seen) or _tell_waits(seen) or _tell_samples(seen)


def tells_log(seen: Observation) -> bool:
    return any(event.kind in LOGS for event in seen.events)


def is_unnamed(seen: Observation) -> bool:
    """Kernel functions have no names, or hardly any."""
    return seen.unnamed_kernel_ratio is not None and seen.unnamed_kernel_ratio > _MOSTLY


def mute_samples(seen: Observation) -> str:
    """Why samples that have names tell nothing of harm, and what to record; empty where they do."""
    if not seen.sampled or is_unnamed(seen) or _tell_samples(seen):
        return ""
    if not seen.timed:
        return (
            "the samples are of an event that is no measure of time on a core: who was there, and "
            "held in one kernel call, can't be told; capture cycles or cpu-clock (perf record -F "
            "97 -g -a)"
        )
    if seen.unnamed_kernel_ratio is None:
        return (
            "no sample is of the kernel: who was held in one kernel call can't be told; capture "
            "as root (perf record -a -g)"
        )
    return (
        "the samples are of too short a time: who was held in one kernel call shows only where "
        "what it did in the half minute before is known; capture two minutes (-- sleep 120)"
    )


def _tell_waits(seen: Observation) -> bool:
    """Who was ready, and not run."""
    return any(
        seen.series.get(f"{who}.wait_ns") and seen.series.get(f"{who}.slices")
        for who in ("netthread", "process")
    )


def _tell_samples(seen: Observation) -> bool:
    """Who was held inside one kernel call, by its name; of whom it is known what came before."""
    if seen.unnamed_kernel_ratio is None or is_unnamed(seen):
        return False
    return any(
        one.end_ns - max(one.start_ns, seen.window.start_ns + KNOWN_BEFORE_NS) >= HELD_NS
        for one in seen.timed
    )
