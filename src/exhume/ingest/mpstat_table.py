"""Rows of percentages as they come → pieces of counters: one reading a line's time.

A line tells of the time since the one before. So counters begin with 0 at the first line's start,
and begin anew where time was left out; a reading without values sets the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from exhume.ingest.mpstat_jiffies import jiffies, spread
from exhume.ingest.row_table import SLOT_NS
from exhume.model.arrays import F64, I64, Bool
from exhume.model.series import MISSING, Block

NS = 1_000_000_000
USER_HZ = 100
# The columns of mpstat, by name, in the order that tables have here.
COLUMNS = (
    "%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice", "%idle",
)  # fmt: skip
ALIASES = {"%user": "%usr", "%system": "%sys"}
_FIELDS = (
    "cpu.user", "cpu.nice", "cpu.system", "cpu.iowait", "cpu.irq", "cpu.softirq", "cpu.steal",
    "cpu.guest", "cpu.guest_nice", "cpu.idle",
)  # fmt: skip
_USER, _NICE, _GUEST, _GNICE = 0, 1, 7, 8
MAX_CORE = 1 << 16


class Lines(Struct, frozen=True):
    """Lines of one table form, in order of time."""

    start_s: I64
    """Of each instant: when what it tells of began. Shape (instants,)."""
    end_s: I64
    instant: I64
    """Which instant each row is of, ascending. Shape (rows,)."""
    core: I64
    percent: I64
    """Shape (rows, len(COLUMNS)), in steps of one over `unit`; -1 where there is no such column."""
    unit: int


class Counters(Struct):
    """Collects lines; hands out blocks of ten minutes of their own clock."""

    cores: dict[int, int] = field(default_factory=dict)
    """By number, the column of each."""
    known: list[bool] = field(default_factory=lambda: [False] * len(COLUMNS))
    _total: I64 = field(default_factory=lambda: np.zeros((0, len(COLUMNS)), np.int64))
    _owed: F64 = field(default_factory=lambda: np.zeros((0, len(COLUMNS))))
    _ticks: list[int] = field(default_factory=list)
    _rows: list[I64] = field(default_factory=list)
    """Of each tick: shape (cores, columns), MISSING where a core was off."""
    _seen: list[Bool] = field(default_factory=list)
    gaps: int = 0
    _went_back: bool = False

    def add(self, lines: Lines) -> Iterator[tuple[Block, ...]]:
        for number in np.unique(lines.core).tolist():
            self.cores.setdefault(number, len(self.cores))
        width = len(self.cores)
        more = width - len(self._total)
        if more:
            self._total = np.pad(self._total, ((0, more), (0, 0)))
            self._owed = np.pad(self._owed, ((0, more), (0, 0)))
        column = np.zeros(max(self.cores, default=0) + 1, np.int64)
        column[list(self.cores)] = list(self.cores.values())
        most = lines.percent.max(axis=0, initial=-1).tolist()
        self.known = [known or top >= 0 for known, top in zip(self.known, most, strict=True)]
        spent = self._spent(lines, column[lines.core])
        spent[:, _USER] += spent[:, _GUEST]  # as in /proc/stat
        spent[:, _NICE] += spent[:, _GNICE]
        edges = np.searchsorted(lines.instant, np.arange(len(lines.end_s) + 1))
        for number, (start, end) in enumerate(
            zip(lines.start_s.tolist(), lines.end_s.tolist(), strict=True)
        ):
            if self._ticks and end * NS // SLOT_NS != self._ticks[-1] // SLOT_NS:
                yield from self.take()
            if self._ticks and start * NS < self._ticks[-1]:
                yield from self._go_back()
            rows = slice(edges[number], edges[number + 1])
            self._add_instant(start * NS, end * NS, column[lines.core[rows]], spent[rows])

    def _spent(self, lines: Lines, columns: I64) -> I64:
        percent = np.maximum(lines.percent, 0)
        expected = (lines.end_s - lines.start_s)[lines.instant] * USER_HZ
        found, left = jiffies(percent, expected, lines.unit)
        if left.any():
            rows = percent[left], expected[left], lines.unit, columns[left]
            found[left] = spread(*rows, self._owed)
        return found

    def _add_instant(self, start_ns: int, end_ns: int, columns: I64, spent: I64) -> None:
        if not self._ticks or start_ns > self._ticks[-1]:
            if self._ticks:
                self.gaps += 1
                self._set_apart()
            self._note(start_ns, columns)
        elif len(self._seen) > 1:
            # Back from off line: what it did since the last tick is told, so it counts from there.
            here = np.zeros(len(self._total), np.bool_)
            here[columns] = True
            for seen in self._seen[-2:]:
                here[: len(seen)] &= ~seen
            back = np.flatnonzero(here)
            if len(back):
                self._rows[-1] = _wider(self._rows[-1], len(here))
                self._rows[-1][back] = self._total[back]
        self._total[columns] += spent  # a core has one line
        self._note(end_ns, columns)

    def _set_apart(self) -> None:
        self._note(self._ticks[-1] + 1, np.zeros(0, np.int64))
        self._total[:] = 0

    def _go_back(self) -> Iterator[tuple[Block, ...]]:
        """What follows was before: another run."""
        self._went_back = True
        self.gaps += 1
        yield from self.finish()
        self._ticks, self._rows, self._seen = [], [], []

    def _note(self, tick_ns: int, columns: I64) -> None:
        row = np.full(self._total.shape, MISSING, np.int64)
        row[columns] = self._total[columns]
        seen = np.zeros(len(self._total), np.bool_)
        seen[columns] = True
        self._ticks.append(tick_ns)
        self._rows.append(row)
        self._seen.append(seen)

    def finish(self) -> Iterator[tuple[Block, ...]]:
        if self._went_back and self._ticks:
            self._set_apart()  # from what comes after it in time
        yield from self.take()

    def take(self) -> Iterator[tuple[Block, ...]]:
        """What came so far, with the last reading kept for what follows."""
        if len(self._ticks) < 2:
            return
        width = len(self.cores)
        table = np.stack([_wider(row, width) for row in self._rows])
        names = tuple(map(str, self.cores))
        ticks = np.array(self._ticks, np.int64)
        yield tuple(
            Block(field, names, ticks, np.ascontiguousarray(table[:, :, index]))
            for index, field in enumerate(_FIELDS)
            if self.known[index]
        )
        self._ticks, self._rows, self._seen = self._ticks[-1:], self._rows[-1:], self._seen[-2:]


def _wider(row: I64, width: int) -> I64:
    if len(row) == width:
        return row
    return np.pad(row, ((0, width - len(row)), (0, 0)), constant_values=MISSING)
