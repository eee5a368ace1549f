"""How many zombies there were, as far as anybody counted."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.derive.zombies import known
from exhume.model.arrays import F64, I64
from exhume.model.finding import Figure
from exhume.model.observation import Observation


class Counts(Struct, frozen=True):
    wall_ns: I64
    values: F64
    is_upper: bool
    """Of all memory cgroups that the kernel keeps, because nobody counted the living ones among
    them: few of thousands live, but how many is not known."""

    def at(self, wall_ns: int) -> float:
        """Between two counts in proportion, as they grow steadily; NaN where there is none."""
        return float(np.interp(wall_ns, self.wall_ns, self.values)) if len(self.values) else np.nan

    def said(self, wall_ns: int, exactly: str = "") -> str:
        """`at most 17,868`, or the number behind the word for an exact one."""
        word = "at most" if self.is_upper else exactly
        return f"{word} {self.at(wall_ns):,.0f}".lstrip()

    def figure(self, wall_ns: int) -> dict[str, Figure]:
        level = self.at(wall_ns)
        if not np.isfinite(level):
            return {"zombies": -1}
        return {"zombies_at_most" if self.is_upper else "zombies": round(level)}


def counts_of(seen: Observation, least: int = 1) -> Counts:
    """Zombies where they were counted so often; else all that the kernel keeps."""
    if seen.zombies is not None and len(seen.zombies.counts) >= least:
        return Counts(seen.zombies.wall_ns, seen.zombies.counts.astype(np.float64), False)
    wall, values = known(seen.node_series("memcg.tracked"))
    return Counts(wall, values.astype(np.float64), True)
