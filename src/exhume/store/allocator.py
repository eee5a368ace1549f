"""Makes the C allocator give memory back: it would rather keep it for itself.

glibc raises its threshold for mapped blocks with each large block that is freed, so that later
large arrays come from the heap and leave holes there. Fixed thresholds keep that from happening,
and one arena is enough for threads that mostly wait.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_THRESHOLD_BYTES = 1 << 20


def tame_allocator(threshold_bytes: int = _THRESHOLD_BYTES) -> None:
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # glibc; musl gives back anyway
        libc.mallopt(_M_MMAP_THRESHOLD, threshold_bytes)
        libc.mallopt(_M_TRIM_THRESHOLD, threshold_bytes)
        libc.mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """What was freed, to the system, now."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
