"""How the C library's allocator treats what is freed: it goes back at once, or is kept.

glibc raises its threshold for mapped blocks with each large block that is freed, so that later
large arrays come from the heap and leave holes there. Fixed thresholds keep that from happening.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_THRESHOLD_BYTES = 1 << 20
_KEPT_BYTES = 1 << 28
_LARGEST_KEPT_BYTES = 32 << 20
"""More is refused: HEAP_MAX_SIZE / 2 of older glibc."""


def tame_allocator(threshold_bytes: int = _THRESHOLD_BYTES) -> None:
    """Memory is given back; one arena is enough for threads that mostly wait."""
    _set({_M_MMAP_THRESHOLD: threshold_bytes, _M_TRIM_THRESHOLD: threshold_bytes, _M_ARENA_MAX: 1})


def keep_memory() -> None:
    """Memory is kept for the next of the kind."""
    _set({_M_MMAP_THRESHOLD: _LARGEST_KEPT_BYTES, _M_TRIM_THRESHOLD: _KEPT_BYTES})


def give_back() -> None:
    """What was freed, to the system, now."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def _set(options: dict[int, int]) -> None:
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # glibc; musl gives back anyway
        for option, value in options.items():
            libc.mallopt(option, value)
