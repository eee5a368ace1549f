"""`exhume record`, with the walk over the cgroups every 2 s instead of once a minute.

    python -m lab.recorder record OPTIONS...

A fault that takes a week in life takes a minute in the lab; nothing else differs.
"""

from __future__ import annotations

import sys

from exhume.cli.main import entry
from exhume.record import sources
from exhume.record.lanes import Source
from exhume.sources import memcg_count

SECOND_NS = 1_000_000_000
EVERY_NS = {"memcg": 2 * SECOND_NS, "memcg-holders": 5 * SECOND_NS}


def main() -> None:
    slow = sources.slow

    def hurried(context: sources.Context) -> list[Source]:
        found = slow(context)
        for source in found:
            source.every_ns = EVERY_NS.get(source.name, source.every_ns)
        return found

    sources.slow = hurried
    memcg_count.WALK_EVERY_NS = EVERY_NS["memcg"]
    memcg_count.MAX_DUTY_RATIO = 0.5
    sys.argv[0] = "exhume"
    entry()


if __name__ == "__main__":
    main()
