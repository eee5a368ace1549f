"""Which separator stands for which: tests of one split where the other is held fixed. Pure.

A zone that separates because a unit runs in it alone says nothing once the unit is known, while
the unit still says something within the zone. Where neither adds to the other they can't be told
apart, and what runs goes before where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.fleet import statistics
from exhume.fleet.attributes import bit_counts
from exhume.model.arrays import U8

ADDS_NOTHING = 0.05
"""A conditional p above this."""
ALIKE = 0.9
"""Splits that agree on so many nodes, and don't add to each other, are as good as one."""


class Ranked(Struct, frozen=True):
    """What separates, as far as its rank needs it."""

    row: int
    is_upper: bool
    """The ill have it."""
    log_p: float
    tier: int
    tries: int
    """Thresholds it was chosen from; a chosen one fits a little better than it should."""
    is_named: bool

    @property
    def telling(self) -> tuple[int, bool, float]:
        return self.tier, self.tries > 1, self.log_p


class Evidence(Struct, frozen=True):
    has: U8
    known: U8
    ill: U8

    def given(self, one: Ranked, other: int) -> float | None:
        """P of this split's association where the other is the same; None: it never differs."""
        row = one.row
        both = self.known[row] & self.known[other]
        has = self.has[row] if one.is_upper else self.known[row] & ~self.has[row]
        strata = np.stack([both & self.has[other], both & ~self.has[other]])
        p = statistics.stratified(
            bit_counts(strata & has & self.ill),
            bit_counts(strata & has),
            bit_counts(strata & self.ill),
            bit_counts(strata),
        )
        return None if p is None else min(1.0, p * one.tries)

    def agreement(self, one: int, two: int) -> float:
        both = self.known[one] & self.known[two]
        common = int(np.bitwise_count(both).sum())
        differ = int(np.bitwise_count((self.has[one] ^ self.has[two]) & both).sum())
        return max(differ, common - differ) / common if common else 0.0


def arrange(found: Sequence[Ranked], evidence: Evidence) -> tuple[list[int], dict[int, int]]:
    """The order to show them in, and who is explained by whom. `found` is ordered by p."""
    count = len(found)
    adds = {
        (one, two): evidence.given(found[one], found[two].row)
        for one in range(count)
        for two in range(count)
        if one != two
    }

    def nothing(one: int, two: int) -> bool:
        p = adds[one, two]
        return p is None or p > ADDS_NOTHING

    explained: dict[int, int] = {}
    for one in range(count):
        for two in range(count):
            if one != two and nothing(one, two) and not nothing(two, one):
                explained[one] = two
                break
    # Whoever explains must stand by itself: follow the chain to its end.
    for one in list(explained):
        seen = {one}
        while explained[one] in explained and explained[one] not in seen:
            seen.add(explained[one])
            explained[one] = explained[explained[one]]
        if explained[one] in seen:
            del explained[one]
    free = [one for one in range(count) if one not in explained]
    clusters: list[list[int]] = []
    for one in free:
        home = next(
            (
                cluster
                for cluster in clusters
                if nothing(one, cluster[0])
                and nothing(cluster[0], one)
                and evidence.agreement(found[one].row, found[cluster[0]].row) >= ALIKE
            ),
            None,
        )
        if home is None:
            clusters.append([one])
        else:
            home.append(one)
    order: list[int] = []
    for cluster in clusters:
        order += sorted(
            cluster, key=lambda one: (found[one].tier, found[one].tries > 1, found[one].log_p)
        )
    order.sort(
        key=lambda one: not found[one].is_named
    )  # stable: what the diagnosis names comes first
    return order + sorted(explained, key=lambda one: found[one].log_p), explained
