"""Is it gone? Symptoms before and after a fix, as counts of rare events."""

from __future__ import annotations

from math import comb
from typing import Literal

from exhume.model.case import SinceFix, Symptom
from exhume.model.observation import Observation

_SURE = 0.05


def since_fix(seen: Observation, like: tuple[Symptom, ...], fix_ns: int) -> SinceFix:
    """`like`: the same harm to the same victim, over the whole window."""
    before_seconds = max(0.0, (fix_ns - seen.window.start_ns) / 1e9)
    after_seconds = max(0.0, (seen.window.end_ns - fix_ns) / 1e9)
    before = sum(1 for one in like if one.wall_ns < fix_ns)
    after = len(like) - before
    chance = by_chance(before, after, before_seconds, after_seconds)
    wait = None
    if after == 0 and chance > _SURE:
        wait = _wait_seconds(before, before_seconds) - after_seconds
    status: Literal["gone", "better", "not-gone", "too-early", "unknown"]
    if not like:
        status, text = "unknown", "no harm is known before it either: nothing to compare with"
    elif before == 0:
        status, text = "unknown", "there was no such symptom before the fix to compare with"
    elif after == 0 and chance <= _SURE:
        status = "gone"
        text = f"none since; by chance alone that would happen in {100 * chance:.1f} % of cases"
    elif after == 0:
        status = "too-early"
        text = f"none since, but that may be chance ({100 * chance:.0f} %)"
        if wait is not None and wait > 0:
            text += f"; wait {wait / 60:.0f} more minutes"
    elif chance <= _SURE:
        status, text = "better", "they come less often, but they still come"
    else:
        status, text = "not-gone", "they still come as before"
    return SinceFix(
        fix_ns, status, text, before, after, before_seconds, after_seconds, chance, wait
    )


def by_chance(before: int, after: int, before_seconds: float, after_seconds: float) -> float:
    """How likely at most so many of all fall after the fix if it changed nothing."""
    total, length = before + after, before_seconds + after_seconds
    if not total or not length:
        return 1.0
    share = after_seconds / length
    return min(
        1.0,
        sum(comb(total, k) * share**k * (1 - share) ** (total - k) for k in range(after + 1)),
    )


def _wait_seconds(before: int, before_seconds: float) -> float:
    """How long none must come until that is no chance any more."""
    # (before / (before + after)) ** count <= 5 %
    ratio = _SURE ** (1 / before) if before else 1.0
    return before_seconds * (1 / ratio - 1)
