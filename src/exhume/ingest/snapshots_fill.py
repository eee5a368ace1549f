"""Times of cores that came as percentages fill the holes of those that came as counters.

Counters that are sums of percentages begin anywhere, so each stretch of them is lifted to where
the exact ones stand. Where nothing ties the two together, a tick without values sets them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exhume.ingest.written import USER_HZ
from exhume.model.arrays import F64, I64, Bool
from exhume.model.fields import CPU_MODES
from exhume.model.series import MISSING, Block

_FIELDS = tuple(f"cpu.{mode}" for mode in CPU_MODES)
_REFERENCE = "cpu.idle"
_HOLE = 1.5
"""Readings this many steps of the filler apart leave a hole."""
_TIED = 3
"""An instant between two readings of the filler no further apart than this is tied to them."""
_SECOND_NS = 1_000_000_000


def is_core_time(block: Block) -> bool:
    return block.field in _FIELDS


def filled(exact: Sequence[Block], filler: Sequence[Block]) -> tuple[Block, ...]:
    """What the filler has besides times of cores is added where nobody else has it."""
    ours, theirs = {b.field: b for b in exact}, {b.field: b for b in filler}
    others = [block for field, block in theirs.items() if field not in ours]
    if _REFERENCE not in ours or _REFERENCE not in theirs:
        return (*exact, *others)
    rest = [block for block in (*exact, *others) if block.field not in _FIELDS]
    return (*_Filling(ours, theirs).blocks(), *rest)


class _Filling:
    def __init__(self, ours: Mapping[str, Block], theirs: Mapping[str, Block]) -> None:
        self._ours, self._theirs = ours, theirs
        self._exact = ours[_REFERENCE].tick_ns
        filler = theirs[_REFERENCE].tick_ns
        steps = np.diff(filler)
        self._step = int(np.median(steps)) if len(steps) else _SECOND_NS
        self._chosen = np.flatnonzero(_in_holes(self._exact, filler, self._step))
        self._filler = filler
        self._names = tuple(
            dict.fromkeys((*ours[_REFERENCE].instances, *theirs[_REFERENCE].instances))
        )

    def blocks(self) -> list[Block]:
        if not len(self._chosen):
            return [self._ours[field] for field in _FIELDS if field in self._ours]
        islands = self._islands()
        times = np.concatenate([self._exact, self._filler[self._chosen]])
        apart = self._apart(times, islands)
        ticks = np.concatenate([times, apart])
        order = np.argsort(ticks, kind="stable")
        nothing = np.full((len(apart), len(self._names)), MISSING, np.int64)
        found = []
        for field in _FIELDS:
            if field in self._ours or field in self._theirs:
                own, added = self._lifted(field, islands)
                values = np.concatenate([own, added, nothing])[order]
                found.append(Block(field, self._names, ticks[order], values))
        return found

    def _islands(self) -> Bool:
        """Which of the chosen readings nothing ties to an exact one: they are too far from it, or
        the exact ones count from later on, as after a reboot."""
        found: Bool = (self._tied(_REFERENCE) == MISSING).all(axis=1)
        # Within a reading of the filler nobody knows when it was: so much below 0 is no more.
        lowest = -2 * self._step * USER_HZ // _SECOND_NS
        for field in self._theirs.keys() & set(_FIELDS):
            tied = self._tied(field)
            found |= ((tied < lowest) & (tied != MISSING)).any(axis=1)
        return found

    def _apart(self, times: I64, islands: Bool) -> I64:
        """Ticks between readings that have nothing to do with each other."""
        is_island = np.concatenate([np.zeros(len(self._exact), np.bool_), islands])
        order = np.argsort(times, kind="stable")
        at, kind = times[order], is_island[order]
        edges = np.flatnonzero(kind[1:] != kind[:-1])
        middle: I64 = (at[edges] + at[edges + 1]) // 2
        return middle

    def _lifted(self, field: str, islands: Bool) -> tuple[I64, I64]:
        own = _table(self._ours.get(field), self._exact, self._names)
        added = self._tied(field)
        added[added != MISSING] = np.maximum(added[added != MISSING], 0)
        theirs = _table(self._theirs.get(field), self._filler, self._names)[self._chosen]
        added[islands] = theirs[islands]
        return own, added

    def _tied(self, field: str) -> I64:
        """The chosen readings of a field on the scale of the exact ones."""
        own = _known(_table(self._ours.get(field), self._exact, self._names))
        after = np.searchsorted(self._exact, self._filler[self._chosen])
        low, high = _row(own, after - 1), _row(own, after)
        if field in self._theirs:
            sums = _known(_table(self._theirs[field], self._filler, self._names))
            here = sums[self._chosen]
            between = _between(sums, self._filler, self._exact, _TIED * self._step)
            forward = low + (here - _row(between, after - 1))
            backward = high - (_row(between, after) - here)
            found = np.where(np.isfinite(forward), forward, backward)
        else:
            found = np.where(np.isfinite(low), low, high)
        with np.errstate(invalid="ignore"):
            found = np.where(low <= high, np.clip(found, low, high), found)
        return np.where(np.isfinite(found), np.rint(np.nan_to_num(found)), MISSING).astype(np.int64)


def _in_holes(exact: I64, filler: I64, step: int) -> Bool:
    after = np.searchsorted(exact, filler)
    edges = np.concatenate([[exact[0] - (1 << 60)], exact, [exact[-1] + (1 << 60)]])
    left, right = edges[after], edges[after + 1]
    in_hole: Bool = (
        (right - left > _HOLE * step) & (filler - left > step / 2) & (right - filler > step / 2)
    )
    return in_hole


def _table(block: Block | None, ticks: I64, names: Sequence[str]) -> I64:
    found = np.full((len(ticks), len(names)), MISSING, np.int64)
    if block is not None:
        rows = np.searchsorted(ticks, block.tick_ns)
        rows[rows == len(ticks)] = 0
        here = np.flatnonzero(ticks[rows] == block.tick_ns)
        place = {name: column for column, name in enumerate(names)}
        known = [c for c, name in enumerate(block.instances) if name in place]
        chosen = np.array(known, np.int64)
        columns = np.array([place[block.instances[c]] for c in known], np.int64)
        found[np.ix_(rows[here], columns)] = block.values[np.ix_(here, chosen)]
    return found


def _known(values: I64) -> F64:
    known: F64 = np.where(values == MISSING, np.nan, values.astype(np.float64))
    return known


def _row(values: F64, rows: I64) -> F64:
    """NaN beyond either end."""
    inside = (rows >= 0) & (rows < len(values))
    found: F64 = values[np.clip(rows, 0, len(values) - 1)].copy()
    found[~inside] = np.nan
    return found


def _between(values: F64, ticks: I64, at: I64, longest_ns: int) -> F64:
    """The values at other times, along straight lines; NaN where they are too far from readings."""
    after = np.searchsorted(ticks, at, "left")
    left, right = _row(values, after - 1), _row(values, after)
    start = ticks[np.clip(after - 1, 0, len(ticks) - 1)]
    end = ticks[np.clip(after, 0, len(ticks) - 1)]
    length = np.maximum(end - start, 1)
    part = ((at - start) / length)[:, np.newaxis]
    found = np.where((length <= longest_ns)[:, np.newaxis], left + (right - left) * part, np.nan)
    exactly = (after < len(ticks)) & (end == at)
    found[exactly] = right[exactly]
    return found
