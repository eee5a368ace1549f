"""What starts again and again, and storms of births."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exhume.derive.loops import LEAST_STARTS
from exhume.derive.starts import said
from exhume.detect import shown
from exhume.detect.storms import storms
from exhume.model.finding import Finding
from exhume.model.observation import Observation

FORK_STORM = 500.0
"""Births a second."""


def crash_loops(seen: Observation) -> Iterator[Finding]:
    """A bare process that nobody saw fail is only started again and again."""
    for one in seen.lifecycles:
        if one.mark not in ("crash loop", "loop"):
            continue
        figures: dict[str, str | int | float] = {
            "starts": one.starts,
            "starts_per_hour": round(one.starts_per_hour, 1),
            "mark": one.mark,
        }
        if one.zombies_per_start is not None:
            figures["zombies_per_start"] = round(one.zombies_per_start, 2)
        if one.success_percent_of_known_ends is not None:
            figures["success_percent"] = round(one.success_percent_of_known_ends, 1)
        claim = f"{one.kind} {one.name} was started {said(one)}"
        if one.kind == "process":
            by = f" by {one.detail}" if one.detail else ""
            claim += f", one after the other{by}; how it ends is not recorded"
        if one.restarts_so_far is not None:
            figures["restarts_so_far"] = one.restarts_so_far
        if one.restarts_so_far is not None and one.starts < LEAST_STARTS:
            claim = f"{one.kind} {one.name} was restarted {one.restarts_so_far:,} times so far"
        elif not one.starts:  # its supervisor says so
            image = f" ({one.detail})" if one.ids and one.detail else ""
            words = "it waits for its next start" if one.ids else one.detail or "it waits"
            claim = f"{one.kind} {one.name}{image} fails again and again: {words}"
        yield Finding(
            "crash-loop" if one.mark == "crash loop" else "restart-loop",
            claim,
            seen.window,
            subject=one.name,
            figures=figures,
            check=f"exhume units {shown.span(seen.window)}",
        )


def fork_storms(seen: Observation) -> Iterator[Finding]:
    for one in storms(seen.node_series("system.forks"), FORK_STORM):
        parent, share = _parent_of(seen, one.window.start_ns, one.window.end_ns)
        by = f", {100 * share:.0f} % of the programs by {parent}" if parent else ""
        yield Finding(
            "fork-storm",
            f"{one.mean:,.0f} births a second for {one.window.seconds:.0f} s{by}",
            one.window,
            subject=parent,
            figures={"births_per_second": round(one.mean, 1), "share": round(share, 3)},
            unusual=one.times_usual,
            check=shown.series("system.forks", one.window),
        )


def _parent_of(seen: Observation, start_ns: int, end_ns: int) -> tuple[str, float]:
    """Whose children most of the programs started then were."""
    lives = seen.lives
    here = lives.is_exec & (lives.wall_ns >= start_ns) & (lives.wall_ns < end_ns)
    known = here & (lives.parent >= 0)
    if not known.any():
        return "", 0.0
    counts = np.bincount(lives.parent[known], lives.count[known], len(lives.names))
    most = int(counts.argmax())
    return lives.names[most], float(counts[most] / lives.count[here].sum())
