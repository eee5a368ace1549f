"""A process that does nothing but import: less housekeeping by Python, and by the C library.

What an import holds has no cycles worth the name, but may be a million events: to look through them
again and again is a tenth of the work, a fifth while modules are loaded. And it works in chunks of
some MiB, each like the one before: memory that goes back to the kernel in between comes again as
pages to be zeroed, a fifth of the time of a large capture.
"""

from __future__ import annotations

import gc

from exhume.store.allocator import keep_memory

_NEW_OBJECTS = 500_000


def tune() -> None:
    """For as long as this process lives."""
    gc.set_threshold(_NEW_OBJECTS)
    keep_memory()
