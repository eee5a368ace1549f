"""Columns to splits: every way in which a field divides the nodes into those with and without.

A split is two rows of bits, who has it and of whom it is known, so that ten thousand nodes times
ten thousand splits stay small and are counted by the word. Pure.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct, field

from exhume.fleet.cohort import UNKNOWN, Column
from exhume.fleet.statistics import best_cuts
from exhume.model.arrays import F64, I32, I64, U8, Bool
from exhume.model.fingerprint import AREA, Kind, Value

USED_KINDS: tuple[Kind, ...] = ("config", "state", "load")
MAX_VALUES = 40
"""Of one field, the most frequent: ids, of which each node has its own, can't separate groups."""
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_VERSION = re.compile(r"v?\d[\w.+:~^-]*")
_PART = re.compile(r"\d+|[a-zA-Z]+|~")


class Split(Struct, frozen=True):
    column: int
    test: str
    log_p: tuple[float, float] | None = None
    """That the ill have it, and lack it; only where a threshold was chosen, corrected for that."""
    tries: int = 1
    """How many thresholds there were to choose from."""


class Splits(Struct):
    """All splits of the nodes that take part."""

    nodes: int
    splits: list[Split] = field(default_factory=list)
    has: list[U8] = field(default_factory=list)
    known: list[U8] = field(default_factory=list)
    attributes: int = 0

    def add(self, split: Split, has: Bool, known: U8) -> None:
        self.splits.append(split)
        self.has.append(np.packbits(has))
        self.known.append(known)


def splits_of(columns: tuple[Column, ...], chosen: I64, is_ill: Bool) -> Splits:
    """`chosen`: the nodes that take part; `is_ill` of each of them."""
    found = Splits(len(chosen))
    ordered: list[_Ordered] = []
    for index, column in enumerate(columns):
        if column.kind not in USED_KINDS:
            continue
        codes = column.codes[chosen]
        known = codes != UNKNOWN
        counts = np.bincount(codes[known], minlength=len(column.values))
        present = np.flatnonzero(counts)
        if len(present) < 2:
            continue
        found.attributes += 1
        _categories(found, index, column, codes, known, counts, present)
        if (one := _ordered(index, column, codes, is_ill, present)) is not None:
            ordered.append(one)
    _thresholds(found, ordered)
    return found


def ordered_values(column: Column, present: I64) -> dict[int, object] | None:
    """A key of order for each code: numbers or versions; None where they have no order."""
    values = {int(code): column.values[code] for code in present}
    there = {code: value for code, value in values.items() if value is not None}
    if len(there) < 3:
        return None
    numbers = {code: _number(value) for code, value in there.items()}
    if None not in numbers.values():
        return dict(numbers)
    area = AREA.get(column.area)
    if area is not None and area.is_version:
        texts = {code: value for code, value in there.items() if isinstance(value, str)}
        if len(texts) == len(there) and all(_VERSION.fullmatch(text) for text in texts.values()):
            return {code: version_key(text) for code, text in texts.items()}
    return None


def version_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """1:2.10.1 after 1:2.9; 2.0~rc1 before 2.0."""
    epoch, colon, rest = text.partition(":")
    if not (colon and epoch.isdigit()):
        epoch, rest = "0", text
    parts = [(3, int(epoch[:18]), "")]
    for part in _PART.findall(rest):
        if part.isdigit():
            parts.append((3, int(part[:18]), ""))
        else:
            parts.append((0, 0, "") if part == "~" else (2, 0, part))
    return (*parts, (1, 0, ""))


def shown(value: Value | None) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _categories(
    found: Splits, index: int, column: Column, codes: I32, known: Bool, counts: I64, present: I64
) -> None:
    packed = np.packbits(known)
    absent = [int(code) for code in present if column.values[code] is None]
    there = [int(code) for code in present if column.values[code] is not None]
    if absent:
        found.add(Split(index, "is there"), known & (codes != absent[0]), packed)
        if len(there) == 1 and column.values[there[0]] not in ("runs", True):
            return  # `= 1.2` and `is there` are one
    if len(there) > 2 * MAX_VALUES and ordered_values(column, present) is not None:
        return  # nearly each node has its own number: thresholds are for those
    if any(isinstance(column.values[code], tuple) for code in there):
        _members(found, index, column, codes, there, packed)
    frequent = sorted(there, key=lambda code: (-counts[code], code))[:MAX_VALUES]
    # Of two values one says it: the one that runs, else the second.
    if not absent and len(there) == 2:
        running = [code for code in there if column.values[code] in ("runs", True)]
        frequent = running[:1] or [max(there, key=lambda code: shown(column.values[code]))]
    for code in frequent:
        found.add(Split(index, f"= {shown(column.values[code])}"), codes == code, packed)


def _members(
    found: Splits, index: int, column: Column, codes: I32, there: list[int], packed: U8
) -> None:
    sets = {code: set(v) for code in there if isinstance(v := column.values[code], tuple)}
    every = sorted(set.union(*sets.values()))[:MAX_VALUES]
    for member in every:
        holding = [code for code, members in sets.items() if member in members]
        if len(holding) < len(sets):
            found.add(Split(index, f"has {member}"), np.isin(codes, holding), packed)


class _Ordered(Struct, frozen=True):
    column: int
    shown: tuple[str, ...]
    """The values in their order."""
    rank: I64
    """Of each node; UNKNOWN where it is."""
    is_ill: F64
    """Of those nodes that have a rank."""


def _ordered(index: int, column: Column, codes: I32, is_ill: Bool, present: I64) -> _Ordered | None:
    keys = ordered_values(column, present)
    if keys is None:
        return None
    order: dict[object, int] = {}
    texts: list[str] = []
    rank_of = np.full(len(column.values) + 1, UNKNOWN, np.int64)  # UNKNOWN is its last place
    for code in sorted(keys, key=lambda code: keys[code]):  # type: ignore[arg-type, return-value]
        if keys[code] not in order:
            order[keys[code]] = len(texts)
            texts.append(shown(column.values[code]))
        rank_of[code] = order[keys[code]]
    rank = rank_of[codes]
    ill = is_ill[rank != UNKNOWN].astype(np.float64)
    return _Ordered(index, tuple(texts), rank, ill) if 0 < ill.sum() < len(ill) else None


def _thresholds(found: Splits, ordered: list[_Ordered]) -> None:
    cuts = best_cuts([(one.rank[one.rank != UNKNOWN], one.is_ill) for one in ordered])
    for one, (cut, log_up, log_down) in zip(ordered, cuts, strict=True):
        test = f"≥ {one.shown[cut + 1]}"
        split = Split(one.column, test, (log_up, log_down), len(one.shown) - 1)
        known = one.rank != UNKNOWN
        found.add(split, known & (one.rank > cut), np.packbits(known))


def _number(value: Value | None) -> float | None:
    if isinstance(value, bool) or value is None or isinstance(value, tuple):
        return None
    if isinstance(value, int | float):
        return float(value)
    return float(value) if _NUMBER.fullmatch(value) else None


def bit_counts(rows: U8) -> I64:
    """How many bits of each row are set."""
    counts: I64 = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return counts
