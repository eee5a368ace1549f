"""Who took the cores while all of them were full, by name, and how much they take else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from exhume.diagnose.hypotheses.overload import is_full
from exhume.diagnose.scene import Crowding, Stall
from exhume.inquiry.senders import quiet_beside
from exhume.model.observation import Observation
from exhume.model.window import Window
from exhume.store.queries.lives import process_times
from exhume.store.recording import Recording

_MOST_WINDOWS = 6
_MOST_NAMES = 20


def crowds(
    recording: Recording, seen: Observation, stalls: Sequence[Stall]
) -> tuple[Crowding, ...]:
    """Nobody where they were not full."""
    load = seen.load
    if load is None or not seen.timed:
        return ()
    full = [stall.window for stall in stalls if is_full(load, stall.window)]
    during = sorted(full, key=lambda one: -one.seconds)[:_MOST_WINDOWS]
    took, processes = _taken(recording, during)
    whole = sum(took.values())
    if not whole:
        return ()
    quiet = quiet_beside(seen.window, [stall.window for stall in stalls])
    usual = Counter[str]() if quiet is None else _taken(recording, [quiet])[0]
    cores = len(load.cores)
    most = sorted(took, key=lambda name: (-took[name], name))[:_MOST_NAMES]
    return tuple(
        Crowding(
            name,
            took[name] / whole,
            None if quiet is None else usual[name] / 1e9 / quiet.seconds / cores,
            processes[name],
        )
        for name in most
    )


def _taken(recording: Recording, windows: Iterable[Window]) -> tuple[Counter[str], Counter[str]]:
    """Core time by name, and of how many processes at most in one of the windows."""
    took: Counter[str] = Counter()
    processes: Counter[str] = Counter()
    for window in windows:
        found = process_times(recording, window)
        for one in found:
            took[one.comm] += one.core_ns
        processes |= Counter(comm for comm, _ in {(one.comm, one.pid) for one in found})
    return took, processes
