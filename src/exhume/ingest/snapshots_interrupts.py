"""Copies of /proc/interrupts → the counts, and the core that each interrupt goes to.

A live recorder asks /proc/irq for that. Of copies it shows by the column that grows.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.derive.rates import WRAP
from exhume.model.arrays import I64
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.sources import interrupts
from exhume.sources.interrupts import Interrupts

_NEARLY_ALL = 0.95
_LEAST_CAME = 10
"""Fewer tell nothing of where the next one goes."""
_SEVERAL = -1


class InterruptLooks(Struct):
    """Look after look."""

    _before: Interrupts | None = None

    def look(self, text: bytes) -> tuple[Reading, ...]:
        found = interrupts.parse(text)
        goes_to = _cores(found, self._before)
        self._before = found
        readings = interrupts.readings(found)
        rows = [row for row, line in enumerate(found.lines) if line.irq.isdigit()]
        if (goes_to[rows] == MISSING).all():
            return readings
        names = tuple(found.layout.names[row] for row in rows)
        return (*readings, Reading("irq.core", names, goes_to[rows]))


def _cores(found: Interrupts, before: Interrupts | None) -> I64:
    """Of each line; MISSING where that can't be told."""
    came = found.counts
    # Since the boot it may have been moved: that it was on several then says nothing of now.
    several = np.full(len(came), MISSING, np.int64)
    if before is not None and (before.cores, before.layout.names) == (
        found.cores,
        found.layout.names,
    ):
        gained = found.counts - before.counts
        gained = np.where(gained < -(WRAP // 2), gained + WRAP, gained)
        is_later = gained.min(axis=1) >= 0  # of the same boot
        came = np.where(is_later[:, None], gained, came)
        several[is_later] = _SEVERAL
    total, most = came.sum(axis=1), came.argmax(axis=1)
    cores = np.array(found.cores, np.int64)[most]
    is_one = came[np.arange(len(came)), most] >= _NEARLY_ALL * total
    goes_to: I64 = np.where(is_one, cores, several)
    goes_to[total < _LEAST_CAME] = MISSING
    return goes_to
