"""What harms nobody yet: findings that may, if nothing is done."""

from __future__ import annotations

from collections.abc import Sequence

from exhume.derive.zombies import outlook_words
from exhume.model.case import Risk
from exhume.model.finding import Finding
from exhume.model.observation import Observation
from exhume.model.window import Window

# Findings that are a risk by themselves; all others are what busy machines look like.
_RISKY = (
    "crash-loop", "restart-loop", "zombie-cgroups", "memory-cgroups-growth", "interrupt-imbalance",
    "kernel-memory-growth", "starved-network-thread", "deferred-softirqs", "packets-dropped",
    "network-limit", "cpu-steal", "swap-storm", "realtime-hog",
)  # fmt: skip
_MOST_OF_A_KIND = 5


def split(
    found: Sequence[Finding], harm: Sequence[Window]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Those besides the harm, and those while it was done: they are part of that case, and no risk
    beside it."""
    during = [any(one.window.overlaps(window) for window in harm) for one in found]
    return (
        tuple(one for one, then in zip(found, during, strict=True) if not then),
        tuple(one for one, then in zip(found, during, strict=True) if then),
    )


def risks_of(seen: Observation, found: Sequence[Finding]) -> tuple[Risk, ...]:
    """Those of one kind about one thing once, the kinds that matter most first."""
    chosen: dict[tuple[str, str, int | None], Finding] = {}
    for one in found:
        if one.kind in _RISKY:
            key = one.kind, one.subject, one.core
            before = chosen.get(key)
            if before is None or one.window.seconds > before.window.seconds:
                chosen[key] = one
    ordered = sorted(chosen.values(), key=lambda one: (_RISKY.index(one.kind), one.subject))
    counts: dict[str, int] = {}
    kept = []
    for one in ordered:
        counts[one.kind] = counts.get(one.kind, 0) + 1
        if counts[one.kind] <= _MOST_OF_A_KIND:
            kept.append(_risk(seen, one))
    return tuple(kept)


def _risk(seen: Observation, one: Finding) -> Risk:
    claim = one.claim
    if one.kind == "zombie-cgroups":
        ahead = seen.zombies.outlook if seen.zombies is not None else None
        claim = "; ".join(filter(None, (claim, "" if ahead is None else outlook_words(ahead))))
    return Risk(one.kind, claim, one.subject, dict(one.figures), one.check)
