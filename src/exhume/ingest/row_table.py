"""Samples of one input, more than fit into memory: in files, and read back by stretches of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct

from exhume.derive.sets import distinct
from exhume.model.arrays import I32, I64, U16, Bool

SLOT_NS = 600 * 1_000_000_000
"""Rows are kept apart by ten minutes of their own clock: then few are read for ten of wall time."""
ROW_BYTES = 18


class Rows(Struct, frozen=True):
    """Samples: when, in nanoseconds of the piece's clock, and where they stand in its tables."""

    time: I64
    node: I32
    thread: I32
    core: U16

    def __len__(self) -> int:
        return len(self.time)

    def chosen(self, rows: Bool) -> Rows:
        return Rows(self.time[rows], self.node[rows], self.thread[rows], self.core[rows])

    def columns(self) -> tuple[I64, I32, I32, U16]:
        """As a file has them: the widest first, so that each is where numpy likes it."""
        return self.time, self.node, self.thread, self.core


class RowBlock(Struct, frozen=True, array_like=True):
    """Rows that were written at once, column by column."""

    count: int
    first_ns: int
    last_ns: int

    @staticmethod
    def of(rows: Rows) -> RowBlock:
        return RowBlock(len(rows), int(rows.time.min()), int(rows.time.max()))


class RowFile(Struct, frozen=True):
    """Rows that stay on disk. Not mapped: what was read once would count as ours from then on."""

    path: Path
    blocks: tuple[RowBlock, ...]
    """In the order they lie in the file."""
    renumbered: I32 | None = None
    """Where its nodes have other numbers than the tree's: of each of those, the tree's."""

    def __len__(self) -> int:
        return sum(block.count for block in self.blocks)

    def between(self, start_ns: int, end_ns: int) -> Iterator[Rows]:
        at = 0
        for block in self.blocks:
            if block.first_ns < end_ns and block.last_ns >= start_ns:
                yield self._read(at, block.count)
            at += block.count

    def _read(self, begin: int, count: int) -> Rows:
        raw = np.fromfile(self.path, np.uint8, count * ROW_BYTES, offset=begin * ROW_BYTES)
        time, ids, core = np.split(raw, (8 * count, 16 * count))
        node, thread = ids.view(np.int32).reshape(2, count)
        if self.renumbered is not None:
            node = self.renumbered.take(node)
        return Rows(time.view(np.int64), node, thread, core.view(np.uint16))


class RowTable(Struct, frozen=True):
    """Samples in any order."""

    slots: Mapping[int, Rows | RowFile]
    """By number of the ten minutes they lie in."""

    @staticmethod
    def of(rows: Rows) -> RowTable:
        slot = rows.time // SLOT_NS
        return RowTable({number: rows.chosen(slot == number) for number in distinct(slot).tolist()})

    def __len__(self) -> int:
        return sum(map(len, self.slots.values()))

    @property
    def in_memory(self) -> int:
        """How many are not in files."""
        return sum(len(rows) for rows in self.slots.values() if isinstance(rows, Rows))

    def between(self, start_ns: int, end_ns: int) -> Iterator[Rows]:
        """Those in [start, end), some at a time."""
        for rows in self._near(start_ns, end_ns):
            for part in [rows] if isinstance(rows, Rows) else rows.between(start_ns, end_ns):
                inside = (part.time >= start_ns) & (part.time < end_ns)
                yield part if inside.all() else part.chosen(inside)

    def counted(self, start_ns: int, end_ns: int, step_ns: int) -> I64:
        """About how many there are in each step of [start, end), without reading any."""
        counts = np.zeros(-(-(end_ns - start_ns) // step_ns), np.int64)
        for rows in self._near(start_ns, end_ns):
            if isinstance(rows, Rows):
                inside = (rows.time >= start_ns) & (rows.time < end_ns)
                at = (rows.time[inside] - start_ns) // step_ns
                counts += np.bincount(at, minlength=len(counts))
                continue
            for block in rows.blocks:
                if block.first_ns < end_ns and block.last_ns >= start_ns:
                    first = max(0, block.first_ns - start_ns) // step_ns
                    last = min(len(counts) - 1, (block.last_ns - start_ns) // step_ns)
                    each, rest = divmod(block.count, last - first + 1)
                    counts[first : last + 1] += each
                    counts[first] += rest
        return counts

    def _near(self, start_ns: int, end_ns: int) -> Iterator[Rows | RowFile]:
        for slot, rows in self.slots.items():
            if slot * SLOT_NS < end_ns and (slot + 1) * SLOT_NS > start_ns:
                yield rows
