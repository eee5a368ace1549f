"""Who sends while a core drowns in packets, and how much it sends else."""

from __future__ import annotations

from collections.abc import Sequence

from exhume.detect.network import flood
from exhume.diagnose.kernel_paths import kernel_paths
from exhume.diagnose.scene import Stall, Usage
from exhume.model.observation import Observation
from exhume.model.window import Window
from exhume.store.queries.frame_users import frame_users
from exhume.store.recording import Recording

SECOND_NS = 1_000_000_000
LEAST_SOFTIRQ_SHARE = 0.3
_MOST_WINDOWS = 6
_EACH_NS = 5 * SECOND_NS
_QUIET_NS = 30 * SECOND_NS
_APART_NS = 2 * SECOND_NS


def senders(
    recording: Recording, seen: Observation, core: int, stalls: Sequence[Stall]
) -> tuple[Usage, ...]:
    """Nobody where that core did not drown."""
    flooded = [
        stall.window
        for stall in stalls
        if stall.close_up is not None and stall.close_up.during.softirq_share >= LEAST_SOFTIRQ_SHARE
    ]
    if not flooded:
        return ()
    longest = sorted(flooded, key=lambda one: -one.seconds)[:_MOST_WINDOWS]
    during = [Window(one.start_ns, min(one.end_ns, one.start_ns + _EACH_NS)) for one in longest]
    floods = [one.window for one in flood(seen) if one.core == core]
    quiet = quiet_beside(seen.window, [*floods, *(stall.window for stall in stalls)])
    sends = next(path for path in kernel_paths() if path.id == "send")
    then = frame_users(recording, sends.has, during)
    usual = {} if quiet is None else frame_users(recording, sends.has, [quiet])
    took = sum(one.seconds for one in during)
    return tuple(
        Usage(
            comm,
            then.get(comm, 0) / 1e9 / took,
            None if quiet is None else usual.get(comm, 0) / 1e9 / quiet.seconds,
        )
        for comm in sorted({*then, *usual})
    )


def quiet_beside(window: Window, troubles: Sequence[Window]) -> Window | None:
    """The last stretch before all of it, else the first after; None where there is neither."""
    first = min(one.start_ns for one in troubles) - _APART_NS
    last = max(one.end_ns for one in troubles) + _APART_NS
    before = Window(first - _QUIET_NS, first).clip(window)
    after = Window(last, last + _QUIET_NS).clip(window)
    long = (one for one in (before, after) if one is not None and one.seconds >= 5)
    return next(long, None)
