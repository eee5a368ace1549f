"""What the kernel's own count of a memory cgroup's pages is good for."""

from __future__ import annotations

import mmap
import os

PAGE = mmap.PAGESIZE
_BATCH = 64  # MEMCG_CHARGE_BATCH: 32 pages, 64 since 6.1; a core keeps so many to itself


def unflushed_bytes() -> int:
    """By how much a count in memory.stat may be off: what each core has not handed in yet."""
    return _BATCH * PAGE * (os.cpu_count() or 1)
