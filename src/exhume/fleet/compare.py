"""What separates ill nodes from well ones: classes of attributes, tested, explained, ranked. Pure.

Attributes that divide the nodes in the same way are one hypothesis (a zone, its image and the two
hundred packages of that image), so they are one class with one test. Which of them is the cause no
statistics can say; that a unit runs is a mechanism and a zone is a place, so the unit leads.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from exhume.fleet import statistics
from exhume.fleet.attributes import Splits, splits_of
from exhume.fleet.classes import (
    LOG_LIMIT,
    Candidate,
    Table,
    collapsed,
    correct,
    joined,
    perfect_by_chance,
    testable,
)
from exhume.fleet.cohort import Column, Fleet
from exhume.fleet.comparison import MAX_MEMBERS, Attribute, Comparison, SplitClass
from exhume.fleet.proxies import Evidence, Ranked, arrange
from exhume.fleet.suspects import named_columns
from exhume.model.arrays import Bool
from exhume.model.fingerprint import AREAS, TIERS

Q_LIMIT = 0.05
SHOWN_CLASSES = 20
CANDIDATES = 10
LOOKED_AT = 30
"""So many of the best are tested against each other."""
_AREA_ORDER = {area.name: place for place, area in enumerate(AREAS)}


def compare(
    fleet: Fleet,
    ill: Bool,
    well: Bool,
    *,
    leave_out: Collection[str] = (),
    unit: Literal["node", "window"] = "node",
    notes: Sequence[str] = (),
    most_members: int = MAX_MEMBERS,
) -> Comparison:
    """`leave_out`: keys of columns that defined who is ill. `most_members`: named of a class."""
    chosen = np.flatnonzero(ill | well)
    is_ill = ill[chosen]
    ill_count = int(is_ill.sum())
    well_count = len(chosen) - ill_count
    columns = tuple(column for column in fleet.columns if column.key not in leave_out)
    if not ill_count or not well_count:
        return _nothing(fleet, ill_count, well_count, unit, notes)
    splits = splits_of(columns, chosen, is_ill)
    named = named_columns(columns, fleet, ill)
    view = _View(splits, Table.of(splits, is_ill), columns, named)
    candidates = collapsed(splits, view.table)
    tested = testable(candidates, view.table)
    for one in candidates:
        one.named = max(named.get(splits.splits[row].column, 0) for row in one.members)
        one.tier = min(TIERS.index(view.column(row).tier) for row in one.members)
    correct(candidates, view.table)
    best = joined(sorted(candidates, key=lambda one: one.log_p), view.table)[: 4 * LOOKED_AT]
    classes = _ranked(best, view, most_members)
    separates = any(one.separates and not one.alongside for one in classes)
    smallest = _log_of_perfect(ill_count, len(chosen))
    # Could a perfect separator have stood out among so many splits at all?
    could = smallest + math.log(max(1, 2 * tested)) <= LOG_LIMIT
    return Comparison(
        verdict="separates" if separates else "nothing" if could else "unknown",
        unit=unit,
        ill=ill_count,
        well=well_count,
        left_out=len(fleet.nodes) - len(chosen),
        attributes=splits.attributes,
        classes_tested=tested,
        smallest_p=math.exp(max(-690.0, smallest)),
        perfect_by_chance=perfect_by_chance(candidates, view.table),
        classes=tuple(classes[:SHOWN_CLASSES]),
        notes=(*fleet.notes, *notes),
    )


class _View(Struct, frozen=True):
    """All that a candidate's rows refer to."""

    splits: Splits
    table: Table
    columns: tuple[Column, ...]
    named: dict[int, int]

    def column(self, row: int) -> Column:
        return self.columns[self.splits.splits[row].column]

    def members(self, one: Candidate) -> list[Attribute]:
        """The most telling first."""
        named = {row for row in one.members if self.splits.splits[row].column in self.named}
        found = [(row not in named, self._attribute(row, one)) for row in one.members]
        found.sort(key=lambda pair: (pair[0], *_telling(pair[1])))
        return [attribute for _, attribute in found]

    def _attribute(self, row: int, one: Candidate) -> Attribute:
        column, table = self.column(row), self.table
        both = table.known[row] & table.known[one.row]
        differ = np.bitwise_count((table.has[row] ^ table.has[one.row]) & both).sum()
        return Attribute(
            area=column.area,
            name=column.name,
            test=self.splits.splits[row].test,
            tier=column.tier,
            on_ill=bool(differ == 0) == one.is_upper,
            known_nodes=int(table.known_all[row]),
        )


def _ranked(best: list[Candidate], view: _View, most_members: int) -> list[SplitClass]:
    """What separates and is not a mere level, by strength and what explains what; then the rest."""
    found = [one for one in best if one.q <= Q_LIMIT][:LOOKED_AT]
    causes = [one for one in found if not one.is_level]
    evidence = Evidence(view.table.has, view.table.known, view.table.ill)
    order, explained = arrange(
        [
            Ranked(one.row, one.is_upper, one.log_p, one.tier, one.tries, bool(one.named))
            for one in causes
        ],
        evidence,
    )
    chosen = {id(one) for one in found}
    rest = sorted(
        (one for one in best if id(one) not in chosen),
        key=lambda one: (one.q > Q_LIMIT, one.is_level, round(one.log_p, 9), one.tier),
    )
    levels = [one for one in found if one.is_level]
    # Without a cause that separates, the candidates for one are still more telling than a level.
    before = 0 if causes else CANDIDATES
    ranked = [causes[place] for place in order]
    ranked += [*rest[:before], *levels, *rest[before:]]
    members = {id(one): view.members(one) for one in ranked}
    why = {
        id(causes[place]): name_of(members[id(causes[by])][0]) for place, by in explained.items()
    }
    return [
        _class(one, view.table, members[id(one)], most_members, why.get(id(one), ""))
        for one in ranked
    ]


def name_of(one: Attribute) -> str:
    return f"{one.area}/{one.name} {one.test}"


def _telling(one: Attribute) -> tuple[object, ...]:
    return (
        TIERS.index(one.tier),
        not one.on_ill,
        one.test != "= runs",
        _AREA_ORDER.get(one.area, len(_AREA_ORDER)),
        -one.known_nodes,
        one.name,
        one.test,
    )


def _class(
    one: Candidate, table: Table, members: list[Attribute], most_members: int, explained_by: str
) -> SplitClass:
    row = one.row
    drawn, marked = int(table.drawn[row]), int(table.marked[row])
    ill, every = int(table.known_ill[row]), int(table.known_all[row])
    # Counted on the lead's side of the split.
    if members[0].on_ill != one.is_upper:
        drawn, marked = ill - drawn, every - marked
    log_odds, error = statistics.log_odds(drawn, marked, ill, every)
    separates = one.q <= Q_LIMIT
    return SplitClass(
        lead=members[0],
        members=tuple(members[:most_members]),
        member_count=len(members),
        ill_with=drawn,
        ill_known=ill,
        well_with=marked - drawn,
        well_known=every - ill,
        p=math.exp(one.log_p) if one.log_p > -690 else 0.0,
        log10_p=one.log_p / math.log(10),
        q=one.q,
        odds_ratio=math.exp(log_odds),
        odds_ratio_low=math.exp(log_odds - 1.96 * error),
        odds_ratio_high=math.exp(log_odds + 1.96 * error),
        separates=separates,
        is_perfect=(drawn, marked) in ((ill, ill), (0, every - ill)),
        named_by_cases=one.named,
        is_answer=separates and one.named > 0 and members[0].on_ill and not explained_by,
        explained_by=explained_by,
        alongside=one.is_level,
    )


def _log_of_perfect(ill: int, nodes: int) -> float:
    one = [np.array([count], np.int64) for count in (ill, ill, ill, nodes)]
    return float(statistics.log_pmf(*one)[0])


def _nothing(
    fleet: Fleet, ill: int, well: int, unit: Literal["node", "window"], notes: Sequence[str]
) -> Comparison:
    return Comparison(
        verdict="unknown",
        unit=unit,
        ill=ill,
        well=well,
        left_out=len(fleet.nodes) - ill - well,
        attributes=0,
        classes_tested=0,
        smallest_p=1.0,
        perfect_by_chance=0.0,
        classes=(),
        notes=(*fleet.notes, *notes),
    )
