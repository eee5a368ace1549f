"""Readings, a second at a time → blocks, one a field.

Which fields a second has, and of which instances, seldom changes: seconds that are alike are held
as the rows of one table, 8 bytes a reading.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache

import numpy as np
from msgspec import Struct, field

from exhume.model.arrays import I64
from exhume.model.series import MISSING, Block
from exhume.store.ticks import RowLayout


class _Alike(Struct):
    """Seconds whose readings are of the same fields and instances."""

    width: int
    numbers: array[int] = field(default_factory=lambda: array("q"))
    """Of the seconds, as they came."""
    tick_ns: array[int] = field(default_factory=lambda: array("q"))
    cells: array[int] = field(default_factory=lambda: array("q"))

    def rows(self) -> I64:
        return np.frombuffer(self.cells, np.int64).reshape(-1, self.width)


class _Part(Struct, frozen=True):
    """Where a field is: in which seconds, and from which column on."""

    alike: _Alike
    column: int
    instances: tuple[str, ...]

    def values(self) -> I64:
        return self.alike.rows()[:, self.column : self.column + len(self.instances)]


class BlockBuilder:
    """Instances come and go (a core off line, a device unplugged), and so do fields."""

    def __init__(self) -> None:
        self._alike: dict[RowLayout, _Alike] = {}
        self._count = 0

    def add(self, tick_ns: int, layout: RowLayout, row: I64) -> None:
        if not len(row):
            return
        alike = self._alike.get(layout)
        if alike is None:
            alike = self._alike[layout] = _Alike(len(row))
        alike.numbers.append(self._count)
        alike.tick_ns.append(tick_ns)
        alike.cells.frombytes(row.tobytes())
        self._count += 1

    def finish(self) -> tuple[Block, ...]:
        parts: dict[str, list[_Part]] = {}
        for layout, alike in self._alike.items():
            at = 0
            for name, instances in layout:
                parts.setdefault(name, []).append(_Part(alike, at, instances))
                at += len(instances)

        @cache
        def ticks(*ids: int) -> tuple[I64, I64]:
            """Of seconds of several kinds: their order, and their times in it."""
            some = [by_id[one] for one in ids]
            order = np.argsort(_joined([one.numbers for one in some]))
            times = _joined([one.tick_ns for one in some])
            return order, times[order]

        by_id = {id(alike): alike for alike in self._alike.values()}
        return tuple(
            _block(name, own, *ticks(*(id(part.alike) for part in own)))
            for name, own in parts.items()
        )


def _joined(parts: Sequence[array[int]]) -> I64:
    return np.concatenate([np.frombuffer(part, np.int64) for part in parts])


def _block(name: str, parts: Sequence[_Part], order: I64, tick_ns: I64) -> Block:
    everyone = tuple(dict.fromkeys(one for part in parts for one in part.instances))
    if len(parts) == 1 and everyone == parts[0].instances:
        return Block(name, everyone, tick_ns, parts[0].values())
    place = {one: column for column, one in enumerate(everyone)}
    values = np.full((len(order), len(everyone)), MISSING, np.int64)
    at = 0
    for part in parts:
        some = part.values()
        values[at : at + len(some), [place[one] for one in part.instances]] = some
        at += len(some)
    return Block(name, everyone, tick_ns, values[order])
