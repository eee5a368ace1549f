"""Zombies from two counts that were taken by hand: cgroups the kernel keeps, less directories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exhume.derive.zombies import TOGETHER_NS
from exhume.model.series import MISSING, Block

_TRACKED, _LIVE, _ZOMBIES = "memcg.tracked", "memcg.live", "memcg.zombies"


def with_zombies(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Where nobody has said how many there are, and both counts were taken together."""
    found = {block.field: block for block in blocks}
    if _TRACKED not in found or _LIVE not in found or _ZOMBIES in found:
        return tuple(blocks)
    at, live = _readings(found[_LIVE])
    ticks, tracked = _readings(found[_TRACKED])
    if not len(at) or not len(ticks):
        return tuple(blocks)
    after = np.clip(np.searchsorted(ticks, at), 0, len(ticks) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(ticks[before] - at) < np.abs(ticks[after] - at), before, after)
    together = np.abs(ticks[nearest] - at) <= TOGETHER_NS
    if not together.any():
        return tuple(blocks)
    # Below zero only where one was made between the two counts.
    zombies = np.maximum(0, tracked[nearest] - live)[together]
    return (*blocks, Block(_ZOMBIES, ("",), at[together], zombies[:, np.newaxis]))


def _readings(
    block: Block,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Times and values of the whole node."""
    values = block.values[:, block.instances.index("")] if "" in block.instances else None
    if values is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    known = values != MISSING
    return block.tick_ns[known], values[known]
