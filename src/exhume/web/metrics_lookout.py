"""Does a recorded second look like harm? Cheap hints, from what a scrape reads anyway.

The rules are those of `diagnose.symptoms`, as far as one second at a time can tell. Who was held
inside one kernel call only samples know; a core that was full of kernel time for two seconds is the
hint of it.
"""

from __future__ import annotations

import numpy as np

from exhume.derive.rises import Rises
from exhume.diagnose.symptoms import harm_of, is_certain_wait
from exhume.model.arrays import I64
from exhume.model.reading import Reading
from exhume.store.tail import Second

FIELDS = frozenset(
    {"netthread.wait_ns", "netthread.slices", "process.wait_ns", "process.slices", "cpu.system"}
)
KINDS = frozenset({"kernel-log", "job-log"})
_FULL = 0.95
_FULL_NS = 1_900_000_000


class Lookout:
    """Fed with every second once, in order."""

    def __init__(self) -> None:
        self.last_wall_ns: int | None = None
        """When something last looked like harm."""
        self._boot = ""
        self._rises = Rises()
        self._before_ns: dict[str, int] = {}
        self._full_ns: dict[str, int] = {}
        """Core → for how long it has been full of kernel time."""

    def add(self, second: Second) -> None:
        if second.origin.boot_id != self._boot:
            self._boot = second.origin.boot_id
            self._rises.forget()
            self._before_ns.clear()
            self._full_ns.clear()
        # Each rule keeps books of its own, so all of them see every second.
        hints = (self._told(second), self._waited(second), self._filled(second))
        if any(hints):
            self.last_wall_ns = second.wall_ns

    def _told(self, second: Second) -> bool:
        return any(
            harm_of(str(one.fields.get("signature", "")), str(one.fields.get("class", "")))
            for one in second.events
            if one.kind in KINDS
        )

    def _waited(self, second: Second) -> bool:
        by_field = {one.field: one for one in second.readings if one.field in FIELDS}
        found = False
        for who in ("netthread", "process"):
            waits, slices = by_field.get(f"{who}.wait_ns"), by_field.get(f"{who}.slices")
            if waits is None or slices is None:
                continue
            length, waited = self._rise(waits, second)
            _, ran = self._rise(slices, second)
            turns = dict(zip(slices.instances, ran.tolist(), strict=True))
            found |= any(
                is_certain_wait(int(waited[place]), length, turns.get(waits.instances[place]))
                for place in np.flatnonzero(waited).tolist()
            )
        return found

    def _filled(self, second: Second) -> bool:
        reading = next((one for one in second.readings if one.field == "cpu.system"), None)
        if reading is None:
            return False
        length, rise = self._rise(reading, second)
        spent_ns = rise * (1_000_000_000 // max(1, second.origin.user_hz))
        before, self._full_ns = self._full_ns, {}
        for place in np.flatnonzero((spent_ns >= _FULL * length) & (length > 0)).tolist():
            core = reading.instances[place]
            self._full_ns[core] = before.get(core, 0) + length
        return any(full >= _FULL_NS for full in self._full_ns.values())

    def _rise(self, reading: Reading, second: Second) -> tuple[int, I64]:
        """Since the reading before: how long that is, and what each instance gained."""
        before = self._before_ns.get(reading.field, second.end_ns)
        self._before_ns[reading.field] = second.end_ns
        return second.end_ns - before, self._rises.of(reading, second.end_ns)
