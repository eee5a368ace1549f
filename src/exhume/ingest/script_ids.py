"""Text of perf script without ids (`-F comm,cpu,time,event,ip,sym`): who ran is told by name alone.

Threads of one name are one process then, whose number is made up: negative, as no real one is, and
the same for a name in each text.
"""

from __future__ import annotations

import zlib

NO_IDS = (
    "it has no ids of processes and threads: all threads of one name are shown as one process; "
    "`perf script -F comm,pid,tid,cpu,time,event,ip,sym,dso` writes them"
)
NO_NAMES = (
    "it has neither names nor ids of processes and threads: all are shown as one; "
    "`perf script -F comm,pid,tid,cpu,time,event,ip,sym,dso` writes them"
)
NOBODY = -1
"""Where not even names are told."""
_IDLE_TASK = "swapper"
"""So perf calls what runs on an idle core, whose id is 0."""


def of_name(name: str) -> int:
    if name == _IDLE_TASK:
        return 0
    if not name:
        return NOBODY
    return NOBODY - 1 - zlib.crc32(name.encode("utf-8", "replace")) % (1 << 30)
