"""From splits to classes: the same split is one hypothesis, with one test each way. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.fleet import statistics
from exhume.fleet.attributes import Splits, bit_counts
from exhume.model.arrays import I64, U8, Bool
from exhume.model.fingerprint import TIERS

LOG_LIMIT = math.log(0.05 * (1 + 1e-9))
LOG_WORTH_JOINING = math.log(0.25)
DIFFERENT_AMONG = 300
ALIKE = 0.9
"""Splits that agree on so many nodes are counted as one finding."""
JOIN_AMONG = 200
"""Of the best, those with unread nodes are looked at for the class they belong to."""


class Candidate(Struct):
    """A class in the making."""

    members: list[int]
    """Indices of splits; the first is the one that was tested."""
    log_p: float
    is_upper: bool
    """The ill have it, rather than lack it."""
    q: float = 1.0
    row: int = 0
    named: int = 0
    """Cases whose diagnosis names a member."""
    tier: int = 0
    """Of its most telling member, as an index of TIERS."""
    tries: int = 1
    """How many thresholds the tested split was chosen from."""
    is_testable: bool = True

    @property
    def is_level(self) -> bool:
        return TIERS[self.tier] == "load"


class Table(Struct, frozen=True):
    """Bits and counts of every split."""

    has: U8
    known: U8
    ill: U8
    drawn: I64
    marked: I64
    known_ill: I64
    known_all: I64

    @staticmethod
    def of(splits: Splits, is_ill: Bool) -> Table:
        width = (splits.nodes + 7) // 8
        has = np.array(splits.has, np.uint8).reshape(-1, width)
        known = np.array(splits.known, np.uint8).reshape(-1, width)
        ill = np.packbits(is_ill)
        return Table(
            has, known, ill,
            bit_counts(has & ill), bit_counts(has), bit_counts(known & ill), bit_counts(known),
        )  # fmt: skip


def collapsed(splits: Splits, table: Table) -> list[Candidate]:
    """One candidate for each different split; having and lacking are the same split."""
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    usable = (table.known_ill > 0) & (table.known_ill < table.known_all)
    usable &= (table.marked > 0) & (table.marked < table.known_all)
    lacking = table.known & ~table.has
    chosen_cuts = []
    for row in np.flatnonzero(usable).tolist():
        one, other = table.has[row].tobytes(), lacking[row].tobytes()
        key = (min(one, other), table.known[row].tobytes())
        if splits.splits[row].log_p is None:
            groups.setdefault(key, []).append(row)
        else:
            chosen_cuts.append((key, row))
    # A threshold was chosen after a look at the ill; where the same split stood there before, it
    # is a member of that and needs no test of its own.
    for key, row in chosen_cuts:
        groups.setdefault(key, []).append(row)
    candidates = [Candidate(rows, 0.0, True, row=rows[0]) for rows in groups.values()]
    rows = np.array([one.row for one in candidates], np.int64)
    upper, lower = statistics.fisher(
        table.drawn[rows], table.marked[rows], table.known_ill[rows], table.known_all[rows]
    )
    for place, one in enumerate(candidates):
        corrected = splits.splits[one.row].log_p
        up, down = corrected if corrected is not None else (upper[place], lower[place])
        one.tries = splits.splits[one.row].tries
        one.log_p, one.is_upper = (float(up), True) if up <= down else (float(down), False)
    return candidates


def testable(candidates: Sequence[Candidate], table: Table) -> int:
    """How many count as tests: those that could have come out below the limit by their margins
    alone (Tarone). An attribute of one node in a thousand never could."""
    if not candidates:
        return 0
    rows = np.array([one.row for one in candidates], np.int64)
    least = statistics.least_attainable(
        table.marked[rows], table.known_ill[rows], table.known_all[rows]
    )
    for one, could in zip(candidates, least <= LOG_LIMIT, strict=True):
        one.is_testable = bool(could)
    return sum(one.is_testable for one in candidates)


def correct(candidates: Sequence[Candidate], table: Table) -> None:
    """Benjamini and Hochberg, in three families. What a diagnosis named was not picked out of the
    crowd by its p-value. And levels that go with the illness, true as they are, must not make it
    easier for a chance find among the causes."""
    families: dict[tuple[bool, bool], list[Candidate]] = {}
    for one in sorted(candidates, key=lambda one: one.log_p):
        if one.is_testable:
            families.setdefault((one.named > 0, one.is_level), []).append(one)
    for (is_named, _), family in families.items():
        logs = np.array([one.log_p for one in family])
        tests = len(family) if is_named else 2 * len(family)
        found = statistics.benjamini_hochberg(logs, tests, _different(family, table))
        for one, q in zip(family, found, strict=True):
            one.q = float(q)


def _different(ordered: Sequence[Candidate], table: Table) -> I64:
    """How many different splits there are up to each of them.

    An image's hundred packages, each with another node that drifted, are a hundred splits and one
    finding: counted as a hundred, one lucky image would lower the bar for all of them.
    """
    ranks = np.ones(len(ordered), np.int64)
    leaders: list[int] = []
    for place, one in enumerate(ordered):
        if place < DIFFERENT_AMONG and one.log_p <= LOG_LIMIT:
            rows = np.array(leaders, np.int64)
            both = table.known[rows] & table.known[one.row]
            common = bit_counts(both)
            differ = bit_counts((table.has[rows] ^ table.has[one.row]) & both)
            alike = np.maximum(differ, common - differ) >= ALIKE * common
            if not alike.any():
                leaders.append(one.row)
        ranks[place] = max(1, len(leaders))
    return ranks


def perfect_by_chance(candidates: Sequence[Candidate], table: Table) -> float:
    if not candidates:
        return 0.0
    rows = np.array([one.row for one in candidates], np.int64)
    marked, ill, every = table.marked[rows], table.known_ill[rows], table.known_all[rows]
    could = (marked == ill) | (marked == every - ill)
    chance = np.exp(statistics.least_attainable(marked, ill, every))
    # Where both groups are of one size either side may be the ill one.
    return float(chance[could].sum() + chance[could & (2 * ill == every)].sum())


def joined(best: list[Candidate], table: Table) -> list[Candidate]:
    """Classes that agree wherever both are known become one: the same split, in parts unread."""
    whole = table.known_all[[one.row for one in best]].max(initial=0)
    fullest = sorted(best[:JOIN_AMONG], key=lambda one: (-table.known_all[one.row], one.log_p))
    homes: list[Candidate] = []
    gone: set[int] = set()
    for one in fullest:
        home = None
        if table.known_all[one.row] < whole and one.log_p <= LOG_WORTH_JOINING:
            # A level's q is not a cause's: those two never become one.
            home = _home(one, [h for h in homes if h.is_level == one.is_level], table)
        if home is None:
            homes.append(one)
        else:
            home.members += one.members
            home.named = max(home.named, one.named)
            home.tier = min(home.tier, one.tier)
            home.q = min(home.q, one.q) if one.named else home.q
            gone.add(id(one))
    return [one for one in best if id(one) not in gone]


def _home(one: Candidate, homes: list[Candidate], table: Table) -> Candidate | None:
    """The first that never disagrees with it, among those known where it is."""
    if not homes:
        return None
    rows = np.array([home.row for home in homes], np.int64)
    both = table.known[rows] & table.known[one.row]
    common = bit_counts(both)
    differ = bit_counts((table.has[rows] ^ table.has[one.row]) & both)
    fits = (differ == 0) | (differ == common)
    fits &= 2 * common >= table.known_all[rows]
    fits &= common >= 0.9 * table.known_all[one.row]
    return homes[int(np.argmax(fits))] if fits.any() else None
