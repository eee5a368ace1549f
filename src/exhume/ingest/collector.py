"""Python's search for cycles, turned down.

What an import holds has no cycles worth the name, but may be a million events: to look through them
again and again is a tenth of the work, a fifth while modules are loaded.
"""

from __future__ import annotations

import gc

_NEW_OBJECTS = 500_000


def look_seldom() -> None:
    """For as long as this process lives: it does nothing but import."""
    gc.set_threshold(_NEW_OBJECTS)
