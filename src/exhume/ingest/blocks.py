"""Counters of several pieces as one table a field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from exhume.derive.sets import distinct
from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.model.fields import BY_ID
from exhume.model.reading import Reading
from exhume.model.series import MISSING, Block

SEAM_NS = 15_000_000_000
"""Counters are read as differences: the first one in a stretch needs the last one before it."""
REACH_NS = 3600 * 1_000_000_000
"""How far apart two readings of one input may be and still tell of the time between them: sar reads
every ten minutes, and some every half hour."""


def joined_blocks(
    parts: Sequence[tuple[Sequence[Block], int]], start_ns: int, end_ns: int
) -> tuple[Block, ...]:
    """Those in [start, end), each part moved by its offset; of two readings the first counts.

    Of counters also the last reading before `start_ns`, if it is not long before.
    """
    by_field: dict[str, list[Block]] = {}
    for blocks, offset_ns in parts:
        for block in blocks:
            at, values = block.tick_ns + offset_ns, block.values
            first = start_ns
            if _is_counter(block.field):
                first = start_ns - SEAM_NS
                at, values = _bridged(at, values, (start_ns, end_ns - 1))
            inside = (at >= first) & (at < end_ns)
            if inside.any():
                cut = Block(block.field, block.instances, at[inside], values[inside])
                by_field.setdefault(block.field, []).append(cut)
    joined = (_from_seam(_joined(blocks), start_ns) for blocks in by_field.values())
    return tuple(block for block in joined if len(block.tick_ns))


def tells_of(block: Block, start_ns: int, end_ns: int) -> bool:
    """Was it read in [start, end), or before and after, so that what it rose by is known?"""
    at = block.tick_ns
    begin, end = np.searchsorted(at, (start_ns, end_ns)).tolist()
    is_around = _is_counter(block.field) and 0 < begin == end < len(at)
    return begin < end or (is_around and at[end] - at[end - 1] <= REACH_NS)


def is_between(block: Block, edge_ns: int) -> bool:
    """Was it read before that time and after, so that nothing is missing there?"""
    after = int(np.searchsorted(block.tick_ns, edge_ns))
    if not 0 < after < len(block.tick_ns):
        return False
    return int(block.tick_ns[after] - block.tick_ns[after - 1]) <= REACH_NS


def _bridged(at: I64, values: I64, edges: Sequence[int]) -> tuple[I64, I64]:
    """With what a counter was at each edge between two readings that are far apart.

    As it would have been had it risen evenly: what an interval tells is a mean, and a segment has
    only its own readings. Nearer ones need none: there the last one before the edge is taken.
    """
    for edge in edges:
        after = int(np.searchsorted(at, edge))
        if not 0 < after < len(at) or at[after] == edge:
            continue
        apart = int(at[after] - at[after - 1])
        if not SEAM_NS < apart <= REACH_NS:
            continue
        low, high = values[after - 1], values[after]
        share = int(edge - at[after - 1]) / apart
        rise = np.round((high - low) * share).astype(np.int64)
        is_known = (low != MISSING) & (high != MISSING) & (high >= low)
        at = np.insert(at, after, edge)
        values = np.insert(values, after, np.where(is_known, low + rise, MISSING), axis=0)
    return at, values


def _is_counter(field: str) -> bool:
    return field in BY_ID and BY_ID[field].kind == "counter"


def _from_seam(block: Block, start_ns: int) -> Block:
    inside = int(np.searchsorted(block.tick_ns, start_ns))
    if inside == len(block.tick_ns):
        return Block(block.field, block.instances, block.tick_ns[:0], block.values[:0])
    first = max(0, inside - 1)
    return Block(block.field, block.instances, block.tick_ns[first:], block.values[first:])


def _joined(blocks: list[Block]) -> Block:
    first = blocks[0]
    if len(blocks) == 1 and bool((np.diff(first.tick_ns) > 0).all()):
        return first
    instances = tuple(dict.fromkeys(name for block in blocks for name in block.instances))
    place = {name: column for column, name in enumerate(instances)}
    ticks = distinct(np.concatenate([block.tick_ns for block in blocks]))
    values = np.full((len(ticks), len(instances)), MISSING, np.int64)
    for block in reversed(blocks):
        rows = np.searchsorted(ticks, block.tick_ns)
        columns = np.array([place[name] for name in block.instances], np.int64)
        old = values[np.ix_(rows, columns)]
        values[np.ix_(rows, columns)] = np.where(block.values != MISSING, block.values, old)
    return Block(first.field, instances, ticks, values)


class BlockTable:
    """Readings and events as they come, until they make a piece."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[int, Reading]]] = {}
        self._last: dict[str, tuple[int, Reading]] = {}
        self.events: list[Event] = []

    def __bool__(self) -> bool:
        return bool(self._rows or self.events)

    def add(self, tick_ns: int, readings: Iterable[Reading]) -> None:
        """In order of time; a second reading of the same tick does not count."""
        for reading in readings:
            rows = self._rows.get(reading.field)
            if rows is None:
                rows = self._rows[reading.field] = []
                last = self._last.get(reading.field)
                if last is not None and tick_ns - REACH_NS <= last[0] < tick_ns:
                    rows.append(last)
            if not rows or rows[-1][0] < tick_ns:
                rows.append((tick_ns, reading))

    def take(self) -> tuple[tuple[Block, ...], tuple[Event, ...]]:
        """What has come so far. What follows of a field will begin with its last reading: of a
        counter for what it rose by, of others to tell that it was read on both sides."""
        found = tuple(_block(field, rows) for field, rows in self._rows.items())
        self._last = {field: rows[-1] for field, rows in self._rows.items()}
        self._rows = {}
        events, self.events = tuple(self.events), []
        return found, events


def _block(field: str, rows: Sequence[tuple[int, Reading]]) -> Block:
    lists = dict.fromkeys(reading.instances for _, reading in rows)
    everyone = tuple(dict.fromkeys(name for names in lists for name in names))
    place = {name: column for column, name in enumerate(everyone)}
    columns = {names: np.array([place[name] for name in names], np.int64) for names in lists}
    values = np.full((len(rows), len(everyone)), MISSING, np.int64)
    for row, (_, reading) in enumerate(rows):
        values[row, columns[reading.instances]] = reading.values
    return Block(field, everyone, np.array([at for at, _ in rows], np.int64), values)
