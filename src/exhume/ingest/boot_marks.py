"""Which captures are of one boot: those that found the same processes at the same addresses.

perf writes down, when it starts, where the programs that run already are in memory. Where that is
was drawn by lot when they were started, so two captures that have a few of these in common were
made while the same processes lived. The kernel draws its own place at boot (KASLR).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exhume.derive.sets import distinct
from exhume.model.arrays import U64
from exhume.perf.records import Mappings

Marks = tuple[int, ...]
NO_MARKS: Marks = ()
_KEPT = 64
"""The lowest of all: if two captures have a tenth of their programs in common, they share some."""
_NOT_DRAWN = np.uint64(1 << 32)
"""Below are programs that can only be loaded to one place (no PIE)."""
_KERNEL_NOT_MOVED = 0xFFFF_FFFF_8100_0000
"""x86-64 without KASLR: there at each boot."""
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


def of_programs(mappings: Mappings) -> Marks:
    """Of those that were there when the capture began: what is said of them has the time 0."""
    old = (mappings.time == 0) & (mappings.start >= _NOT_DRAWN)
    if not old.any():
        return NO_MARKS
    with np.errstate(over="ignore"):
        mixed: U64 = (mappings.start[old] + mappings.pid[old].astype(np.uint64) * _MIX) * _MIX
    mixed ^= mixed >> np.uint64(29)
    return tuple(distinct(mixed * _MIX)[:_KEPT].tolist())


def of_kernel(address: int) -> Marks:
    return NO_MARKS if address == _KERNEL_NOT_MOVED else (address,)


def lowest(some: Marks, more: Marks) -> Marks:
    """Of the programs of one capture, which may be told of in several chunks."""
    return tuple(sorted({*some, *more})[:_KEPT]) if more else some


def is_one_boot(some: Sequence[int], others: Sequence[int]) -> bool:
    return not set(some).isdisjoint(others)


def are_of_one_machine(some: Sequence[int], others: Sequence[int]) -> bool:
    """Kernels have 512 places, so two machines may have drawn the same: programs must agree."""
    return len(set(some) & set(others)) > 1
