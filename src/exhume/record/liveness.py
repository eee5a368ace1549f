"""Which cores work but give no samples: their events are dead, and nobody will say so.

The kernel takes a core's events away when it goes off line (perf_event_exit_cpu) and does not give
them back. Between two ticks a core can be off and on again, and look as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from exhume.model.arrays import U32
from exhume.model.fields import CPU_MODES
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.perf.native import tally

SILENT_TICKS = 10
"""Shorter, and a core that merely has its interrupts off for seconds would be mistaken for one."""
BUSY_JIFFIES = 30
"""An idle core may well give no samples (tickless); one that works for 0.3 s gives some."""
_WORK = frozenset(f"cpu.{mode}" for mode in CPU_MODES if mode not in ("idle", "iowait", "steal"))


class Liveness:
    def __init__(self) -> None:
        self._before: Sequence[Reading] = ()
        self._silent_ticks: dict[str, int] = {}

    def silent(self, readings: Sequence[Reading], sampled: U32) -> tuple[int, ...]:
        """Of one tick: per-core times, and the cores of its samples. Tells of each core once."""
        before, self._before = self._before, readings
        heard = set(map(str, tally(sampled.view(np.int32))[0]))
        for core in heard:
            self._silent_ticks.pop(core, None)
        cores: Iterable[str] = next((r.instances for r in readings if r.field in _WORK), ())
        if heard.issuperset(cores):
            return ()
        worked, by_then = _work(readings), _work(before)
        for core, jiffies in worked.items():
            if core not in heard and jiffies - by_then.get(core, jiffies) >= BUSY_JIFFIES:
                self._silent_ticks[core] = self._silent_ticks.get(core, 0) + 1
        silent = [core for core, ticks in self._silent_ticks.items() if ticks >= SILENT_TICKS]
        for core in silent:
            del self._silent_ticks[core]
        return tuple(map(int, silent))


def _work(readings: Sequence[Reading]) -> dict[str, int]:
    total: dict[str, int] = {}
    for reading in readings:
        if reading.field in _WORK:
            for core, value in zip(reading.instances, reading.values.tolist(), strict=True):
                total[core] = total.get(core, 0) + (0 if value == MISSING else value)
    return total
