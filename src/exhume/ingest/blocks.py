"""Counters of several pieces as one table a field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exhume.model.series import MISSING, Block


def joined_blocks(
    parts: Sequence[tuple[Sequence[Block], int]], start_ns: int, end_ns: int
) -> tuple[Block, ...]:
    """Those in [start, end), each part moved by its offset; of two readings the first counts."""
    by_field: dict[str, list[Block]] = {}
    for blocks, offset_ns in parts:
        for block in blocks:
            at = block.tick_ns + offset_ns
            inside = (at >= start_ns) & (at < end_ns)
            if inside.any():
                cut = Block(block.field, block.instances, at[inside], block.values[inside])
                by_field.setdefault(block.field, []).append(cut)
    return tuple(_joined(blocks) for blocks in by_field.values())


def _joined(blocks: list[Block]) -> Block:
    first = blocks[0]
    if len(blocks) == 1 and bool((np.diff(first.tick_ns) > 0).all()):
        return first
    instances = tuple(dict.fromkeys(name for block in blocks for name in block.instances))
    place = {name: column for column, name in enumerate(instances)}
    ticks = np.unique(np.concatenate([block.tick_ns for block in blocks]))
    values = np.full((len(ticks), len(instances)), MISSING, np.int64)
    for block in reversed(blocks):
        rows = np.searchsorted(ticks, block.tick_ns)
        columns = np.array([place[name] for name in block.instances], np.int64)
        old = values[np.ix_(rows, columns)]
        values[np.ix_(rows, columns)] = np.where(block.values != MISSING, block.values, old)
    return Block(first.field, instances, ticks, values)
