"""How much of what captures and heads may hold without end is kept apart, so that memory suffices.

Each is far above what machines have: code without names may have a frame for each address, and a
damaged or hostile file whatever its size allows.
"""

from __future__ import annotations

MORE_NAMES = "[more names than are kept]"
MOST_NAMES = 1 << 17
"""Of threads and of functions: those that come later are `MORE_NAMES`."""
MOST_NODES = 1 << 20
"""Of a tree of stacks: those that come later are told by their innermost function alone, and when
there are as many of these by none."""
MOST_PLACES = (1 << 18) - (1 << 10)
"""Of code, before those that were named are forgotten, and named again where they are met again.

Not quite a power of two: the last stack that is looked at may bring some more, and for one more
than that the table would double."""
MOST_THREADS = 1 << 18
"""That have samples: those that come later are one."""
MOST_ALIVE = 1 << 18
"""Threads and processes of which something is known at a time: the oldest go."""
MOST_MAPPINGS = 1 << 19
"""Of all that are alive: the oldest go."""
MOST_BIRTHS = 1 << 17
"""Births and deaths of processes; where there are many in a second like ones are one already."""
