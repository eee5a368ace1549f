"""Which core was the worst of a map of core × time. Pure."""

from __future__ import annotations

import numpy as np

from exhume.model.answers import CoreMap
from exhume.model.arrays import F32, I32
from exhume.model.modes import MAP_MODES

_AS_BAD_PERCENT = 0.5


def worst_cores(found: CoreMap, percent: F32) -> tuple[F32, I32]:
    """By column: the highest percentage, and whose it is; NaN and -1 where nothing is known.

    Of several that are full it is one in the kernel: a program can be made to give way, it can't.
    """
    if not len(found.cores):
        nothing = np.full(percent.shape[1], np.nan, np.float32)
        return nothing, np.full(percent.shape[1], -1, np.int32)
    filled = np.where(np.isnan(percent), np.float32(-1), percent)
    is_kernel = found.worst_mode > MAP_MODES.index("user")
    row = (np.rint(filled) + 0.25 * is_kernel + filled / 1000).argmax(axis=0)
    worst = filled.max(axis=0)
    core = np.where(worst < 0, -1, np.array(found.cores, np.int32)[row]).astype(np.int32)
    return np.where(worst < 0, np.float32(np.nan), worst), core


def worst_seen(worst: F32, core: I32) -> int | None:
    """Which column says how bad it was: many cores may be full for a second, so of all columns as
    bad as the worst one those of the core that was so most often, and of these the first."""
    if not np.isfinite(worst).any():
        return None
    bad = np.flatnonzero(np.nan_to_num(worst, nan=-1.0) >= np.nanmax(worst) - _AS_BAD_PERCENT)
    _, whose, often = np.unique(core[bad], return_inverse=True, return_counts=True)
    return int(bad[np.argmax(often[whose])])
