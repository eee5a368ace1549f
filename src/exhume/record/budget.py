"""The recorder's own cost, and what it does about it."""

from __future__ import annotations

import os
import resource

from msgspec import Struct

from exhume.host import Host

CALM_ROUNDS = 6
SLOWEST_HZ = 11.0
PAGE_BYTES = os.sysconf("SC_PAGESIZE")


class Cost(Struct, frozen=True):
    cpu_ns: int
    """Of the recorder and of its children that ended."""
    rss_bytes: int | None


def own_cost(host: Host) -> Cost:
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return Cost(int(spent * 1e9), _rss_bytes(host))


def _rss_bytes(host: Host) -> int | None:
    try:
        return int((host.read_proc("self/statm") or "").split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None


def default_budget_percent(cores: int) -> float:
    """Of one core: 1 % on a small machine, 0.03 % of the machine on a large one."""
    return max(1.0, 0.03125 * cores)


class Governor:
    """Lowers the sampling rate when the recorder costs too much, and raises it when all is calm.

    Start-up work (reading symbol tables) and the closing of a segment are bursts, so a round is
    long (the caller's choice, a minute), and one expensive round is not yet a reason.
    """

    def __init__(self, wanted_hz: float, budget_percent: float) -> None:
        self.wanted_hz = wanted_hz
        self.rate_hz = wanted_hz
        self.budget_percent = budget_percent
        self._over = 0
        self._calm = 0

    def decide(self, cpu_percent_of_one_core: float) -> float | None:
        """The new rate, or None where it stays."""
        if cpu_percent_of_one_core > self.budget_percent:
            self._over, self._calm = self._over + 1, 0
        else:
            self._over, self._calm = 0, self._calm + 1
        slower, faster = self.rate_hz / 2, min(self.rate_hz * 2, self.wanted_hz)
        if self._over >= 2 and slower >= SLOWEST_HZ:
            return self._change(slower)
        # Going back up only where twice the cost would still fit.
        if (
            self._calm >= CALM_ROUNDS
            and faster > self.rate_hz
            and cpu_percent_of_one_core * 2 < self.budget_percent
        ):
            return self._change(faster)
        return None

    def _change(self, rate_hz: float) -> float:
        self.rate_hz = rate_hz
        self._over = self._calm = 0
        return rate_hz
