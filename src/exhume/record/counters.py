"""What the recorder counts about itself, as readings like any other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field

from exhume.model.reading import Reading


class Counters(Struct):
    """Since it started; by core where it is a dict."""

    idle: dict[int, int] = field(default_factory=dict)
    lost_samples: dict[int, int] = field(default_factory=dict)
    lost_sideband: dict[int, int] = field(default_factory=dict)
    ticks: int = 0
    worst_lateness_ns: int = 0

    @staticmethod
    def add(to: dict[int, int], what: Mapping[int, int]) -> None:
        for core, amount in what.items():
            to[core] = to.get(core, 0) + amount

    def readings(self, cores: tuple[int, ...]) -> list[Reading]:
        instances = tuple(map(str, cores))
        return [
            Reading(name, instances, np.array([counts.get(c, 0) for c in cores], np.int64))
            for name, counts in (
                ("sampler.idle", self.idle),
                ("sampler.lost", self.lost_samples),
                ("sampler.lost_sideband", self.lost_sideband),
            )
        ]
