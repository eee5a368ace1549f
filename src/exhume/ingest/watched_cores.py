"""Which cores a capture watched: what it has no sample of was idle, or was not looked at."""

from __future__ import annotations

from collections.abc import Set

from exhume.ingest.record_options import cores_asked, is_of_all, record_options

MOST_CORES = 4096
"""Twice what the largest machines have. More are damage, and are not listed in each segment."""


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
    options = record_options(command)
    if is_of_all(options):
        # Cores of a command that is not this capture's are not believed.
        asked = cores_asked(options) if "C" in options else range(numbered or 0)
        if len(asked) > MOST_CORES:
            return ()
        found |= set(asked) if found <= set(asked) else set()
    return tuple(sorted(found)) if len(found) <= MOST_CORES else ()
