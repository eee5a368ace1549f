"""Counters and gauges over time: one field, its instances (cores, devices, …), one row per tick."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I64

MISSING = np.iinfo(np.int64).min
"""In `Block.values`: this instance had no reading at this tick. Not zero."""


class Block(Struct, frozen=True):
    field: str
    """Id in the catalogue, `model.fields`."""
    instances: tuple[str, ...]
    """What the field was read of: core numbers, devices; `("",)` for the whole node."""
    tick_ns: I64
    """Shape (ticks,)."""
    values: I64
    """Shape (ticks, instances): raw readings as the kernel gave them."""
