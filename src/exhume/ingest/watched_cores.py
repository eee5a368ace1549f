"""Which cores a capture watched: what it has no sample of was idle, or was not looked at."""

from __future__ import annotations

import re
from collections.abc import Set

from exhume.ingest.overlaps import options_of

MOST_CORES = 4096
"""Twice what the largest machines have. More are damage, and are not listed in each segment."""
_ALL = re.compile(r"-[A-Zdgnqsv]*a\w*|--all-cpus")
_SOME = re.compile(r"-C.*|--cpu(=.*)?")


def watched_cores(
    seen: Set[int], command: str, numbered: int | None, *, is_whole: bool
) -> tuple[int, ...]:
    """Empty where that is not known.

    `seen`: those of its samples, idle ones too. `numbered`: how many the machine has, where all of
    them are on line. A core that idles has no sample at all where cycles are counted: then only
    the command tells that it was watched.
    """
    if not is_whole:  # of a process: where it was not, others may have been
        return ()
    found = set(seen)
    options = list(options_of(command))
    is_of_all = any(map(_ALL.fullmatch, options)) and not any(map(_SOME.fullmatch, options))
    if is_of_all and numbered is not None and max(found, default=0) < numbered:
        found.update(range(min(numbered, MOST_CORES + 1)))
    return tuple(sorted(found)) if len(found) <= MOST_CORES else ()
