"""Walks over dead memory cgroups that were recorded: what one zombie costs on this very node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from exhume.derive.zombies import outlook, seconds_per_zombie
from exhume.diagnose.kernel_paths import kernel_paths
from exhume.model.memcgs import ZombiesAnswer
from exhume.model.occupancy import Hold

_LEAST_WALKS = 2


def measured(answer: ZombiesAnswer, holds: Sequence[Hold]) -> ZombiesAnswer:
    """With an outlook by what walks took here, where there were any; as it was, where not."""
    path = next(one for one in kernel_paths() if one.id == "zombie-walk")
    walks = [
        (hold.window, hold.core_seconds)
        for hold in holds
        if hold.is_one_call and any(map(path.has, {hold.call, hold.deepest, *hold.functions}))
    ]
    each = seconds_per_zombie(walks, answer.wall_ns, answer.counts)
    if answer.outlook is None or len(walks) < _LEAST_WALKS or not np.isfinite(each):
        return answer
    growth = answer.growth.per_hour if answer.growth else None
    longest = max(seconds for _, seconds in walks)
    found = outlook(answer.outlook.kernel, answer.zombies, growth, each, len(walks), longest)
    return replace(answer, outlook=found)
